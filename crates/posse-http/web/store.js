// What the page knows: tasks, open approvals, the connection. Lists are read once, then a stream keeps them current.

import { ApiError, api, follow, isExport, query, readAll } from "./api.js";
import { firstLine } from "./format.js";
import { hasEnded } from "./state.js";
import { batch, signal } from "./lib.js";

/** Most tasks that have not ended, and most ended ones, held by the page. */
const LIVE_MAX = 5000;
const ENDED_PAGE = 100;
/** Pause between two reads of changed tasks, and tasks read one by one; more are read as lists. */
const FLUSH_MS = 400;
const SINGLE_READS = 6;
const LIST_MS = 1500;
/** Results read at once. */
const RESULT_READS = 4;
/** A stream without a byte, comments included, counts as lost. */
const SILENCE_MS = 35_000;

/** @type {import("./vendor/signals.mjs").Signal<Principal | null | undefined>} */
export const me = signal(/** @type {any} */ (undefined));
/** @type {Map<string, Task>} */
export const tasks = new Map();
/** Grows with every change of `tasks`. */
export const revision = signal(0);
/** @type {import("./vendor/signals.mjs").Signal<Map<string, Approval>>} */
export const approvals = signal(new Map());
/** @type {import("./vendor/signals.mjs").Signal<{ state: "starting" | "live" | "offline", at: number, replayed: number }>} */
export const link = signal({ state: "starting", at: Date.now(), replayed: 0 });
/** @type {import("./vendor/signals.mjs").Signal<Problem | null>} */
export const loadError = signal(/** @type {Problem | null} */ (null));
export const loaded = signal(false);
export const moreEnded = signal(/** @type {string | null} */ (null));
/** Time of the newest fact, in milliseconds. */
export const lastFact = signal(Date.now());
/** The clock of values that tick. It stands still while the connection is lost. */
export const now = signal(Date.now());

/** @param {Scope} scope */
export const can = (scope) => !isExport() && (me.value?.scopes.includes(scope) ?? false);

/** @type {Map<string, Set<(line: EventLine) => void>>} */
const listeners = new Map();

/**
 * Calls back for each line about a task; `*` is every task.
 * @param {string} task @param {(line: EventLine) => void} callback
 */
export function onLine(task, callback) {
  const set = listeners.get(task) ?? new Set();
  listeners.set(task, set.add(callback));
  return () => { set.delete(callback); };
}

/** @param {Task[]} items */
export function put(items) {
  let changed = false;
  for (const item of items) {
    const known = tasks.get(item.task_id);
    if (known && known.updated_at === item.updated_at && JSON.stringify(known) === JSON.stringify(item)) continue;
    tasks.set(item.task_id, item);
    changed = true;
  }
  if (changed) revision.value++;
}

/** Reads the ancestors of a task that the page does not hold yet. @param {string} id @returns {Promise<Task>} */
export async function rootOf(id) {
  let task = tasks.get(id) ?? (await read(id));
  for (let depth = 0; task.parent && depth < 64 && !(isExport() && !tasks.has(task.parent)); depth++) task = tasks.get(task.parent) ?? (await read(task.parent));
  return task;
}

/** @param {string} id @returns {Promise<Task>} */
async function read(id) {
  const detail = await api(`/tasks/${id}`);
  put([detail.task]);
  return detail.task;
}

/** Reads a whole tree. @param {string} root */
export async function readTree(root) {
  const { items } = await readAll(`/tasks/${root}/tree`, {}, LIVE_MAX);
  put(items);
}

export async function readApprovals() {
  const { items } = await readAll("/approvals", { status: "open" }, 500);
  approvals.value = new Map(items.map((item) => [item.approval, item]));
}

async function readLive() {
  const asked = [...tasks.values()].filter((task) => !hasEnded(task)).map((task) => task.task_id);
  const pages = await Promise.all(["needs_input", "working"].map((group) => readAll("/tasks", { group }, LIVE_MAX)));
  const items = pages.flatMap((page) => page.items);
  put(items);
  const live = new Set(items.map((item) => item.task_id));
  for (const id of asked) if (!live.has(id)) dirty.add(id);
}

export async function readEnded() {
  const page = await api(`/tasks${query({ group: "completed", limit: ENDED_PAGE, cursor: moreEnded.value })}`);
  moreEnded.value = page.next_cursor;
  put(page.items);
}

async function readLists() {
  await Promise.all([readLive(), readEnded(), readApprovals()]);
  loaded.value = true;
  loadError.value = null;
}

/** Ids of tasks that changed since they were read. @type {Set<string>} */
const dirty = new Set();
let flushing = false, approvalsDirty = false, listedAt = 0;

/** Results of ended tasks, read when their rows are seen. @type {Map<string, Pick<Task, "headline" | "verified" | "in_doubt">>} */
export const results = new Map();
/** Grows with every change of `results`. */
export const resultsRevision = signal(0);
/** @type {string[]} */
const wanted = [];
let readingResults = 0;

/** Reads the result of an ended task soon. @param {Task} task */
export function wantResult(task) {
  if (results.has(task.task_id) || isExport()) return;
  results.set(task.task_id, {});
  wanted.push(task.task_id);
  setTimeout(readResults, FLUSH_MS);
}

async function readResults() {
  while (readingResults < RESULT_READS && wanted.length > 0) {
    const id = /** @type {string} */ (wanted.pop());
    readingResults++;
    void api(`/tasks/${id}`).then((/** @type {Detail} */ detail) => {
      results.set(id, resultOf(detail.outcome));
      resultsRevision.value++;
    }).catch(() => { results.delete(id); }).finally(() => {
      readingResults--;
      void readResults();
    });
  }
}

/** @param {Outcome | null} outcome @returns {Pick<Task, "headline" | "verified" | "in_doubt">} */
function resultOf(outcome) {
  if (!outcome) return {};
  const text = firstLine(outcome.text).replace(/^[#>*\s-]+/, "").replace(/\*\*|`/g, "");
  const total = outcome.evidence.length;
  return {
    headline: (outcome.status === "completed" ? text : outcome.detail || text) || null,
    verified: total > 0 ? { passed: outcome.evidence.filter((check) => check.passed).length, total } : null,
    in_doubt: outcome.in_doubt.length,
  };
}

/** @param {string} id */
export function touch(id) {
  for (let task = /** @type {string | null} */ (id), depth = 0; task && depth < 64; depth++) {
    dirty.add(task);
    task = tasks.get(task)?.parent ?? null;
  }
  schedule();
}

function schedule() {
  if (flushing) return;
  flushing = true;
  setTimeout(flush, FLUSH_MS);
}

async function flush() {
  try {
    if (approvalsDirty) {
      approvalsDirty = false;
      await readApprovals();
    }
    if (dirty.size > SINGLE_READS && Date.now() - listedAt > LIST_MS) {
      listedAt = Date.now();
      dirty.clear();
      await readLive();
    }
    const ids = [...dirty].slice(0, SINGLE_READS);
    for (const id of ids) dirty.delete(id);
    const details = await Promise.all(ids.map((id) => api(`/tasks/${id}`).catch((e) => {
      if (e instanceof ApiError && e.problem.status === 404) return null;
      dirty.add(id);
      throw e;
    })));
    put(details.filter((detail) => detail !== null).map((detail) => detail.task));
  } catch {
    // The connection's own loop reports what is wrong; the ids stay dirty.
  }
  flushing = false;
  if (dirty.size > 0 || approvalsDirty) schedule();
}

/** Shows at once what an event says; the read that follows has the rest. @param {EventLine} line */
function apply(line) {
  const task = tasks.get(line.task_id);
  if (task && !hasEnded(task)) {
    const next = applied(task, line);
    if (next !== task) {
      tasks.set(task.task_id, next);
      revision.value++;
    }
  }
  if (line.type === "resumed") results.delete(line.task_id);
  if (line.type.startsWith("approval") || line.type === "finished") {
    approvalsDirty = true;
  }
  touch(line.task_id);
  for (const callback of [...(listeners.get(line.task_id) ?? []), ...(listeners.get("*") ?? [])]) callback(line);
}

/** @param {Task} task @param {EventLine} line @returns {Task} */
function applied(task, line) {
  /** @param {string} kind @param {Partial<Activity>} [rest] */
  const doing = (kind, rest) => ({ ...task, activity: { kind, since: line.at, tool: null, summary: null, until: null, ...rest } });
  switch (line.type) {
    case "turn": return { ...doing("model"), turns_max: line.turns_max ?? task.turns_max };
    case "replied": return { ...doing("working"), turns: line.turn ?? task.turns, model: line.model ?? task.model };
    case "tool_started": return doing("tool", { tool: line.tool, summary: line.summary ?? null });
    case "tool_finished": return doing("working");
    case "verifying": return doing("verify", { summary: line.command ?? null });
    case "model_retry": return doing(line.kind === "rate_limited" ? "rate_limit" : "retry", { summary: line.why ?? null, until: new Date(Date.parse(line.at) + (line.wait_ms ?? 0)).toISOString() });
    case "interrupted": return { ...doing("interrupted"), status: "interrupted", driver: null };
    case "question": return { ...task, group: "needs_input", question: { task_id: task.task_id, id: line.id, question: line.question, options: line.options ?? [] } };
    case "question_closed": return { ...task, question: null, group: task.approval ? "needs_input" : "working" };
    default: return task;
  }
}

/** @type {string | null} */
let lastId = null;
/** @type {AbortController | null} */
let streaming = null;
let wake = () => {};

/** Connects again at once. */
export const retry = () => wake();

/** Reads everything and follows the stream, again and again. */
export async function connect() {
  let pause = 500;
  for (;;) {
    const started = Date.now();
    try {
      if (!loaded.value) await readLists();
      await stream();
    } catch (e) {
      if (e instanceof ApiError && e.problem.status === 401) {
        me.value = null;
        return;
      }
      if (!loaded.value && e instanceof ApiError) loadError.value = e.problem;
    }
    if (link.value.state !== "offline") link.value = { state: "offline", at: Date.now(), replayed: 0 };
    pause = Date.now() - started > 10_000 ? 500 : Math.min(pause * 2, 5000);
    await new Promise((resolve) => {
      wake = () => resolve(undefined);
      setTimeout(resolve, pause);
    });
  }
}

async function stream() {
  const controller = new AbortController();
  streaming = controller;
  const wasOffline = link.value.state === "offline";
  let heard = Date.now(), opened = 0, replayed = 0;
  const guard = setInterval(() => { if (Date.now() - heard > SILENCE_MS) controller.abort(); }, 1000);
  try {
    await follow("/stream", {
      after: lastId,
      signal: controller.signal,
      onByte: () => { heard = Date.now(); lastFact.value = heard; },
      onOpen: () => {
        heard = opened = Date.now();
        link.value = { state: "live", at: opened, replayed: 0 };
        if (wasOffline) void readLive().then(readApprovals).catch(() => controller.abort());
      },
      onEvent: (kind, data, id) => {
        if (kind === "reset") {
          lastId = null;
          tasks.clear();
          moreEnded.value = null;
          void readLists().catch(() => controller.abort());
          return;
        }
        if (kind !== "message") return;
        if (id) {
          lastId = id;
          if (wasOffline && Date.now() - opened < 2000) link.value = { ...link.value, replayed: ++replayed };
        }
        batch(() => apply(JSON.parse(data)));
      },
    });
  } finally {
    clearInterval(guard);
  }
}

export function disconnect() {
  streaming?.abort();
}

export function startClock() {
  setInterval(() => { if (link.value.state !== "offline") now.value = Date.now(); }, 1000);
}
