// Segments of a timeline lane, from the events of a task.

import { since } from "../format.js";

/** @typedef {"queue" | "model" | "tool" | "children" | "person" | "rate" | "stalled" | "lost"} Kind */
/** @typedef {{ kind: Kind, from: number, to: number, label: string, call: string | null, open: boolean }} Segment */
/** @typedef {{ segments: Segment[], ticks: number[], start: number, end: number, ended: boolean }} Lane */

/** Words of a kind, in the order of the legend. @type {Record<Kind, string>} */
export const KINDS = { model: "model", tool: "tool", children: "subtasks", person: "waits for a person", rate: "rate limit", stalled: "stalled", queue: "queue", lost: "no process" };
const DELEGATES = /^(subagent|agent|run_subagent)/i;

/**
 * Sweeps the events once; between two of them a lane does one thing.
 * @param {Task} task @param {EventLine[]} events @param {number} now
 * @returns {Lane}
 */
export function laneOf(task, events, now) {
  /** @type {Segment[]} */
  const segments = [];
  /** @type {number[]} */
  const ticks = [];
  const state = { started: false, model: "", tools: /** @type {Map<string, EventLine>} */ (new Map()), person: "", verify: "", waits: "", ended: false, lost: false };
  let at = since(task.created_at);
  let pause = { until: 0, kind: /** @type {Kind} */ ("rate"), label: "" };
  const draw = (/** @type {number} */ to, open = false) => {
    if (to <= at) return;
    if (pause.until > at) {
      const end = Math.min(to, pause.until);
      push(segments, { kind: pause.kind, from: at, to: end, label: pause.label, call: null, open: open && end === to });
      at = end;
      if (to <= at) return;
    }
    const doing = present(state);
    if (doing) push(segments, { ...doing, from: at, to, open });
    at = to;
  };
  for (const e of events) {
    const time = since(e.at);
    if (e.type === "resumed" && segments.length > 0) state.lost = true;
    draw(time);
    state.lost = false;
    step(state, e);
    if (e.type === "model_retry") {
      ticks.push(time);
      pause = { until: time + (e.wait_ms ?? 0), kind: e.kind === "rate_limited" || e.status === 429 ? "rate" : "stalled", label: e.why ?? "retry" };
    }
  }
  const end = task.ended_at ? since(task.ended_at) : now;
  if (task.status === "interrupted") state.lost = true;
  if (!state.ended || task.status === "interrupted") draw(end, !task.ended_at);
  return { segments, ticks, start: since(task.created_at), end: Math.max(at, segments.at(-1)?.to ?? at), ended: task.ended_at !== null };
}

/** @param {Segment[]} segments @param {Segment} next */
function push(segments, next) {
  const last = segments.at(-1);
  if (last && last.kind === next.kind && last.label === next.label && last.to >= next.from) Object.assign(last, { to: next.to, open: next.open });
  else segments.push(next);
}

/** @param {{ started: boolean, model: string, tools: Map<string, EventLine>, person: string, verify: string, waits: string, ended: boolean, lost: boolean }} state */
function step(state, e = /** @type {EventLine} */ ({})) {
  state.waits = "";
  switch (e.type) {
    case "started": state.started = true; break;
    case "resumed": Object.assign(state, { started: true, model: "", person: "", verify: "", ended: false }); state.tools.clear(); break;
    case "turn": state.model = `turn ${e.turn}`; break;
    case "replied": case "model_failed": state.model = ""; break;
    case "tool_started": state.tools.set(e.call, e); break;
    case "tool_finished": case "tool_refused": state.tools.delete(e.call); break;
    case "approval_requested": state.person = `${e.tool} ${e.summary ?? ""}`.trim(); break;
    case "approval_resolved": state.person = ""; break;
    case "question": state.person = e.question ?? "question"; break;
    case "question_closed": state.person = ""; break;
    case "verifying": state.verify = e.command ?? "verify"; break;
    case "verified": state.verify = ""; break;
    case "waiting": state.waits = e.why ?? "waits"; break;
    case "finished": Object.assign(state, { ended: true, model: "", person: "", verify: "" }); state.tools.clear(); break;
    default: break;
  }
}

/** @param {Parameters<typeof step>[0]} state @returns {{ kind: Kind, label: string, call: string | null } | null} */
function present(state) {
  if (state.ended) return null;
  if (state.lost) return { kind: "lost", label: "no process drives it", call: null };
  if (!state.started) return { kind: "queue", label: "waits to start", call: null };
  if (state.person) return { kind: "person", label: state.person, call: null };
  if (state.model) return { kind: "model", label: state.model, call: null };
  if (state.tools.size > 0) {
    const calls = [...state.tools.values()];
    const work = calls.find((call) => !DELEGATES.test(call.tool));
    const shown = work ?? calls[0];
    return { kind: work ? "tool" : "children", label: `${shown.tool} ${shown.summary ?? ""}`.trim(), call: shown.call };
  }
  if (state.verify) return { kind: "tool", label: `verify ${state.verify}`, call: null };
  if (state.waits) return { kind: "queue", label: state.waits, call: null };
  return null;
}

/**
 * Sums the drawn segments by kind.
 * @param {Lane[]} lanes @returns {{ kind: Kind, ms: number }[]}
 */
export function whereTimeWent(lanes) {
  /** @type {Map<Kind, number>} */
  const sums = new Map();
  for (const lane of lanes) for (const s of lane.segments) if (s.kind !== "children") sums.set(s.kind, (sums.get(s.kind) ?? 0) + s.to - s.from);
  return [...sums].map(([kind, ms]) => ({ kind, ms })).sort((a, b) => b.ms - a.ms);
}

/**
 * Places segments in a view; those thinner than two pixels merge into a band with a count.
 * @param {Segment[]} segments @param {number} from @param {number} to @param {number} width in pixels
 * @returns {{ segment: Segment, left: number, width: number, count: number }[]}
 */
export function place(segments, from, to, width) {
  const scale = width / Math.max(1, to - from);
  const out = /** @type {{ segment: Segment, left: number, width: number, count: number }[]} */ ([]);
  for (const segment of segments) {
    if (segment.to < from || segment.from > to) continue;
    const left = (Math.max(segment.from, from) - from) * scale;
    const size = (Math.min(segment.to, to) - Math.max(segment.from, from)) * scale;
    const last = out.at(-1);
    if (size < 2 && last && last.width + last.left > left - 1 && (last.count > 1 || last.width <= 2)) {
      last.width = Math.max(2, left + size - last.left);
      last.count++;
    } else out.push({ segment, left, width: Math.max(2, size), count: 1 });
  }
  return out;
}
