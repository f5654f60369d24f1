// The states of a task: word, icon, family, and the reason beside them.

import { duration, plural, since } from "./format.js";

/** @typedef {"working"|"model"|"tool"|"person"|"queued"|"rate"|"stalled"|"completed"|"partial"|"failed"|"cancelled"|"interrupted"|"doubt"|"unknown"} StateName */

/** @type {Record<StateName, string>} */
export const WORDS = {
  working: "working", model: "waiting for model", tool: "waiting for tool", person: "needs you", queued: "queued",
  rate: "rate-limited", stalled: "stalled", completed: "completed", partial: "partial", failed: "failed",
  cancelled: "cancelled", interrupted: "interrupted", doubt: "in doubt", unknown: "unknown",
};

/** @type {Record<string, StateName>} */
const OF_ACTIVITY = {
  working: "working", model: "model", tool: "tool", verify: "tool", approval: "person", question: "person",
  queued: "queued", lease: "queued", rate_limit: "rate", retry: "stalled", interrupted: "interrupted",
};
const ENDED = ["completed", "partial", "failed", "cancelled"];

/** @param {{ status: string }} task */
export const hasEnded = (task) => ENDED.includes(task.status);

/**
 * Derives the state that is shown. A status that this page does not know is unknown, never completed.
 * @param {Pick<Task, "status" | "activity" | "approval" | "question">} task
 * @returns {StateName}
 */
export function stateOf(task) {
  if (ENDED.includes(task.status)) return /** @type {StateName} */ (task.status);
  if (task.status === "interrupted") return "interrupted";
  if (task.status === "queued" && !task.approval && !task.question) return "queued";
  if (task.status !== "running" && task.status !== "queued") return "unknown";
  if (task.approval || task.question) return "person";
  return task.activity ? (OF_ACTIVITY[task.activity.kind] ?? "unknown") : "working";
}

/** Severity order: a closed node shows its worst descendant. @type {StateName[]} */
export const WORST = ["doubt", "person", "failed", "stalled", "interrupted", "unknown", "rate", "queued", "partial", "model", "tool", "working", "cancelled", "completed"];

/**
 * Says what the task does, or why it waits and until when.
 * @param {Task} task @param {number} now
 */
export function reasonOf(task, now) {
  if (hasEnded(task)) return task.headline || task.title;
  if (task.question) return task.question.question;
  const a = task.activity;
  if (!a) return task.status === "interrupted" ? "its process is gone; resumes from the journal" : task.title;
  const name = [a.tool, a.summary].filter(Boolean).join(" ");
  const left = a.until ? Math.max(0, since(a.until) - now) : null;
  const again = left === null ? "" : left > 0 ? ` · next try in ${duration(left)}` : " · tries again now";
  switch (a.kind) {
    case "queued": return a.summary || "waits for a slot";
    case "lease": return `waits for a lease${a.summary ? `: ${a.summary}` : ""}`;
    case "model": return `request sent ${duration(Math.max(0, now - since(a.since)))} ago`;
    case "rate_limit": return `${a.summary || "the provider asked for a pause"}${again}`;
    case "retry": return `${a.summary || "the model call failed"}${again}`;
    case "verify": return `verifies: ${a.summary ?? ""}`;
    case "approval": return `asks to run ${name}`;
    case "interrupted": return a.summary || "its process is gone; resumes from the journal";
    default: return name || task.title;
  }
}

/**
 * Counts states in words, the worst first.
 * @param {Iterable<StateName>} states
 * @returns {{ state: StateName, count: number }[]}
 */
export function tally(states) {
  /** @type {Map<StateName, number>} */
  const counts = new Map();
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return WORST.filter((state) => counts.has(state)).map((state) => ({ state, count: counts.get(state) ?? 0 }));
}

/** @param {Task} task */
export const deadlineOf = (task) => (task.activity?.kind === "approval" ? task.activity.until : null);

/** @param {Task} task */
export const descendantsWord = (task) => (task.tree.tasks > 1 ? plural(task.tree.tasks - 1, "subtask") : "");
