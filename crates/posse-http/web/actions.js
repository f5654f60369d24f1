// Actions of a person, each with a receipt.

import { ApiError, api, newKey, post } from "./api.js";
import { duration, plural, shortId, target } from "./format.js";
import { approvals, onLine, readApprovals, tasks, touch } from "./store.js";
import { signal } from "./lib.js";

/** @type {import("./vendor/signals.mjs").Signal<Receipt[]>} */
export const toasts = signal(/** @type {Receipt[]} */ ([]));
/** @type {import("./vendor/signals.mjs").Signal<{ title: string, text: string, verb: string, danger?: boolean, input?: string, run: (note: string) => void } | null>} */
export const dialog = signal(/** @type {any} */ (null));
/** Text of the polite live region. */
export const spoken = signal("");
/** Approvals whose answer is on its way. */
export const pending = signal(/** @type {Set<string>} */ (new Set()));

let nextReceipt = 1;

/** @param {Omit<Receipt, "id">} receipt @returns {number} */
export function toast(receipt) {
  const id = nextReceipt++;
  toasts.value = [...toasts.value.slice(-2), { id, ...receipt }];
  spoken.value = `${receipt.text}. ${receipt.far}`;
  return id;
}

/** @param {number} id @param {Partial<Receipt>} change */
export function updateToast(id, change) {
  toasts.value = toasts.value.map((t) => (t.id === id ? { ...t, ...change } : t));
  if (change.far) spoken.value = `${change.text ?? ""} ${change.far}`;
}

/** @param {number} id */
export const dropToast = (id) => { toasts.value = toasts.value.filter((t) => t.id !== id); };

/** @param {string} what @param {unknown} e */
function refused(what, e) {
  const problem = e instanceof ApiError ? e.problem : null;
  const hint = problem?.hint ? ` · ${problem.hint}` : "";
  toast({ sign: "failed", text: what, far: `${problem?.detail ?? String(e)}${hint}${problem ? ` · ${problem.code}` : ""}` });
}

/** @param {string} id */
const who = (id) => `${tasks.get(id)?.agent ?? "task"} ${shortId(id)}`;

/**
 * Answers exactly the call that is shown.
 * @param {Approval} approval @param {"approve" | "deny"} verdict @param {AnswerScope} [scope] @param {string} [reason]
 */
export async function decide(approval, verdict, scope = "once", reason) {
  if (pending.value.has(approval.approval)) return;
  pending.value = new Set([...pending.value, approval.approval]);
  const what = `${approval.tool} ${target(approval.arguments)}`.slice(0, 80);
  try {
    await post(`/approvals/${approval.approval}`, { verdict, hash: approval.hash, scope, ...(reason ? { reason } : {}) });
    const next = new Map(approvals.value);
    next.delete(approval.approval);
    approvals.value = next;
    const word = verdict === "approve" ? `Approved ${scope === "once" ? "once" : `for the ${scope}`}` : "Denied";
    toast({ sign: verdict === "approve" ? "completed" : "cancelled", text: `${word}: ${what}`, far: `recorded for ${who(approval.task_id)} · receipt ${approval.approval}` });
  } catch (e) {
    refused(`Not answered: ${what}`, e);
    void readApprovals().catch(() => {});
  }
  pending.value = new Set([...pending.value].filter((id) => id !== approval.approval));
  touch(approval.task_id);
}

/** @param {Approval} approval */
export function denyWithNote(approval) {
  dialog.value = { title: "Deny with a note", text: "The model reads the note.", verb: "Deny", input: "", run: (note) => void decide(approval, "deny", "once", note) };
}

/** @param {Question} question @param {string} answer */
export async function answer(question, answer) {
  try {
    const receipt = await post(`/tasks/${question.task_id}/answer`, { answer }, newKey());
    const sent = receipt.answered !== false;
    toast({ sign: sent ? "completed" : "failed", text: sent ? `Answered ${who(question.task_id)}: ${answer}`.slice(0, 90) : `${who(question.task_id)} no longer waits`, far: sent ? "it goes on with this answer" : "the question was closed before" });
  } catch (e) {
    refused(`Not answered: ${who(question.task_id)}`, e);
  }
  touch(question.task_id);
}

/** @param {Question} question */
export function reply(question) {
  dialog.value = { title: `Reply to ${who(question.task_id)}`, text: question.question, verb: "Send", input: "", run: (note) => { if (note.trim()) void answer(question, note); } };
}

/** @param {string} task @param {string} text */
export async function steer(task, text) {
  try {
    const sent = await post(`/tasks/${task}/messages`, { text }, newKey());
    const id = toast({ sign: "send", text: `Steer ${sent.receipt} for ${who(task)}`, far: farOf(sent) });
    if (sent.receipt !== "queued") return;
    const stop = onLine(task, (line) => {
      if (line.type !== "steer" || line.key !== sent.key || line.receipt === "queued") return;
      stop();
      updateToast(id, { sign: line.receipt === "delivered" ? "completed" : "failed", text: `Steer ${line.receipt}: ${who(task)}`, far: farOf({ receipt: line.receipt, turn: line.turn }) });
    });
  } catch (e) {
    refused(`Not sent to ${who(task)}`, e);
  }
}

/** @param {{ receipt: string, turn?: number | null, undriven?: boolean, key?: string }} sent */
export function farOf(sent) {
  if (sent.receipt === "delivered") return `delivered${sent.turn ? ` at turn ${sent.turn}` : ""}`;
  if (sent.receipt === "missed") return "it ended first; the message is kept in the journal";
  return sent.undriven ? "queued; no process drives the task now" : "queued, arrives before its next turn";
}

/** Names what stops, then asks. @param {Task} task @param {number} below running descendants */
export function cancel(task, below) {
  const children = below > 0 ? ` and ${plural(below, "subtask")}` : "";
  const verb = `Cancel ${task.agent} ${shortId(task.task_id)}${children}`;
  dialog.value = {
    title: `${verb}?`, text: "What it has so far is kept. A call that runs is stopped.", verb, danger: true,
    run: () => void act(task.task_id, `${verb}`, "cancel", {}, (r) => ({ cancelled: "cancelled", had_ended: "it had ended before", too_late: "it ended meanwhile", requested: "requested; its process ends it" })[/** @type {string} */ (r.receipt)] ?? r.receipt),
  };
}

/** @param {Task} task @param {Record<string, unknown>} [limits] */
export const resume = (task, limits = {}) =>
  act(task.task_id, `Resume ${who(task.task_id)}`, "resume", limits, (r) => (r.claimed ? "a process has taken it over" : "a process of its own starts"));

/** @param {string} task */
export const applyChanges = (task) =>
  act(task, `Apply the worktree of ${who(task)}`, "apply", {}, (r) => (r.applied_before ? "was applied before; nothing written now" : `${plural(r.written.length + r.merged.length, "file")} written to ${r.applied_to}`));

/** @param {string} task @param {() => void} done */
export function discardChanges(task, done) {
  dialog.value = {
    title: `Discard the worktree of ${who(task)}?`, text: "Its changes were not applied and cannot be brought back.", verb: "Discard the changes", danger: true,
    run: () => void act(task, `Discard the worktree of ${who(task)}`, "discard", {}, (r) => (r.had_applied ? "the applied changes stay" : "worktree removed")).then(done),
  };
}

/**
 * @param {string} task @param {string} what @param {string} verb @param {unknown} body @param {(receipt: any) => string} far
 */
async function act(task, what, verb, body, far) {
  const started = Date.now();
  try {
    const receipt = await post(`/tasks/${task}/${verb}`, body);
    toast({ sign: "completed", text: what, far: `${far(receipt)} · ${duration(Date.now() - started, true)}` });
  } catch (e) {
    refused(what, e);
  }
  touch(task);
}

/** @param {string} task @param {boolean} force */
export async function releaseLease(task, force) {
  try {
    await post(`/leases/${task}/release`, { force });
    toast({ sign: "completed", text: `Released the lease of ${who(task)}`, far: "waiting tasks go on" });
  } catch (e) {
    refused(`Not released: ${who(task)}`, e);
  }
}

/**
 * @param {string} session @param {string} key @param {string} value @param {number} expected
 */
export async function writeContext(session, key, value, expected) {
  try {
    const receipt = await api(`/sessions/${session}/context/${encodeURIComponent(key)}`, { method: "PUT", body: { value, expected_version: expected } });
    toast({ sign: "completed", text: `Wrote ${key}`, far: `version ${receipt.version}` });
    return true;
  } catch (e) {
    refused(`Not written: ${key}`, e);
    return false;
  }
}
