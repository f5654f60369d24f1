// Timeline of a tree: one lane for each task; zoom; where did the time go.

import { Choice, Empty, Icon, Loaded, Skeleton, StateChip, StateIcon } from "../components.js";
import { api, query } from "../api.js";
import { KINDS, laneOf, place, whereTimeWent } from "./lanes.js";
import { TreePicker } from "./trees.js";
import { TreeViews, childrenOf, crumbsOf, nodesOf, useRoot } from "./tasks.js";
import { VirtualList } from "../virtual.js";
import { clock, duration, elapsed, percent, plural, shortId, visible } from "../format.js";
import { href, route } from "../route.js";
import { hasEnded, stateOf } from "../state.js";
import { Top } from "../shell.js";
import { now, onLine, revision } from "../store.js";
import { cx, html, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "../lib.js";

/** Lanes whose events are read. */
const LANES_MAX = 200;
/** Requests at once. */
const AT_ONCE = 4;

/** Reads the events of the tasks of a tree, and appends those that arrive. @param {string} root @param {string[]} ids */
function useTreeEvents(root, ids) {
  const held = useRef({ root: "", events: /** @type {Map<string, EventLine[]>} */ (new Map()), queue: /** @type {string[]} */ ([]), running: 0 });
  const [version, redraw] = useReducer((/** @type {number} */ n, _) => n + 1, 0);
  if (held.current.root !== root) held.current = { root, events: new Map(), queue: [], running: 0 };
  const h = held.current;
  const pump = async () => {
    while (h === held.current && h.running < AT_ONCE && h.queue.length > 0) {
      const id = /** @type {string} */ (h.queue.shift());
      h.running++;
      void readEvents(id).then((events) => { h.events.set(id, events); redraw(0); }).catch(() => {}).finally(() => { h.running--; void pump(); });
    }
  };
  useEffect(() => {
    for (const id of ids.slice(0, LANES_MAX)) if (!h.events.has(id)) { h.events.set(id, []); h.queue.push(id); }
    void pump();
  }, [root, ids.length]);
  useEffect(() => onLine("*", (line) => {
    const events = h.events.get(line.task_id);
    if (!events || line.seq === undefined || line.seq <= (events.at(-1)?.seq ?? -1)) return;
    events.push(line);
    redraw(0);
  }), [root]);
  return { events: h.events, version };
}

/** @param {string} id @returns {Promise<EventLine[]>} */
async function readEvents(id) {
  /** @type {EventLine[]} */
  const events = [];
  let next = 0;
  for (let page = 0; page < 20; page++) {
    const read = await api(`/tasks/${id}/events${query({ since: next, limit: 1000 })}`);
    events.push(...read.events);
    next = read.next;
    if (read.at_end) break;
  }
  return events;
}

export function Timeline() {
  const { id } = route.value;
  const { root, error } = useRoot(id);
  return html`<${Top} title=${root ? root.title : "Timeline"} crumbs=${root ? crumbsOf(root, root) : []} back=${id ? "#/timeline" : undefined} />
    <main id="main" class="fill" tabindex="-1">${root ? html`<${TreeTimeline} key=${root.task_id} root=${root} />` : error ? html`<div class="body"><${Loaded} of=${{ data: null, error, reload: () => {} }} children=${() => null} /></div>`
    : id ? html`<div class="body"><${Skeleton} /></div>` : html`<${TreePicker} page="timeline" says="Choose a tree to see what each task did when: model, tools, waits and retries, and where the time went." />`}</main>`;
}

/** @param {{ root: Task }} props */
function TreeTimeline({ root }) {
  const nodes = useMemo(() => nodesOf([root], childrenOf(), new Set()), [revision.value, root]);
  const { events, version } = useTreeEvents(root.task_id, nodes.map((node) => node.task.task_id));
  const live = !hasEnded(root);
  const time = live ? now.value : 0;
  const lanes = useMemo(() => new Map(nodes.map(({ task }) => [task.task_id, laneOf(task, events.get(task.task_id) ?? [], now.peek())])), [version, nodes, Math.floor(time / 2000)]);
  const start = Date.parse(root.created_at);
  const end = Math.max(...[...lanes.values()].map((lane) => lane.end), start + 1000);
  const [zoom, setZoom] = useState({ span: 0, to: 0 });
  const [chosen, choose] = useState(/** @type {{ id: string, segment: import("./lanes.js").Segment } | null} */ (null));
  const [shape, setShape] = useState("lanes");
  const whole = (end - start) * 1.01;
  const span = zoom.span === 0 ? whole : Math.min(zoom.span, whole);
  const to = zoom.to === 0 ? start + whole : zoom.to;
  const from = Math.max(start, to - span);
  const scale = (/** @type {number} */ by) => setZoom({ span: Math.max(2000, Math.min(whole, span * by)), to: zoom.to === 0 && by < 1 ? 0 : Math.min(start + whole, (from + to) / 2 + (span * by) / 2) });
  const view = { from, to: from + span };
  return html`<div class="tool"><${TreeViews} id=${root.task_id} page="timeline" /><div class="lgd wide" aria-hidden="true">${Object.entries(KINDS).slice(0, 7).map(([kind, word]) => html`<span key=${kind}><i class=${`sg-${kind}`}></i>${word}</span>`)}<span><i class="tick"></i>retry</span></div><span class="sp"></span>
      <${Choice} label="Show as" value=${shape} options=${[["lanes", "Lanes"], ["table", "Table"]]} onChange=${setShape} />
      <div class="seg" role="group" aria-label="Zoom" data-keys><button data-key-for="-" aria-label="Zoom out" onClick=${() => scale(2)}>−</button><button data-key-for="0" onClick=${() => setZoom({ span: 0, to: 0 })}>Fit</button><button data-key-for="+" aria-label="Zoom in" onClick=${() => scale(0.5)}>+</button></div>
      ${zoom.to !== 0 && live ? html`<button class="btn" onClick=${() => setZoom({ span: zoom.span, to: 0 })}>Follow</button>` : null}</div>
    ${shape === "table" ? html`<${SegmentTable} nodes=${nodes} lanes=${lanes} />`
    : html`<${Map_} lanes=${[...lanes.values()]} start=${start} whole=${whole} view=${view} pan=${(/** @type {number} */ center) => setZoom({ span, to: Math.min(start + whole, Math.max(start + span, center + span / 2)) })} />
      <div class="tl"><${Axis} view=${view} /><div class="tlb">${nodes.length === 0 ? html`<${Empty} title="No lane" />` : html`<${VirtualList} items=${nodes} keyOf=${(/** @type {any} */ node) => node.task.task_id} estimate=${() => 49} role="list" label="Lanes"
        render=${(/** @type {any} */ node) => html`<${LaneRow} node=${node} lane=${lanes.get(node.task.task_id)} view=${view} chosen=${chosen} choose=${choose} />`} />`}</div></div>`}
    <div class="bt"><${TimeTable} lanes=${[...lanes.values()]} wall=${end - start} /><${SegmentCard} chosen=${chosen} /></div>`;
}

/** @param {{ view: { from: number, to: number } }} props */
function Axis({ view }) {
  const marks = ticksOf(view.from, view.to, innerWidth < 700 ? 3 : 7);
  return html`<div class="lane ax" aria-hidden="true"><span>Task</span><div class="trk">${marks.map((at) => html`<span key=${at} style=${{ left: `${((at - view.from) / (view.to - view.from)) * 100}%` }}>${clock(new Date(at).toISOString()).slice(0, view.to - view.from > 120_000 ? 5 : 8)}</span>`)}</div><span class="num">Elapsed</span></div>`;
}

/** Round instants of a view. @param {number} from @param {number} to @param {number} most */
function ticksOf(from, to, most) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400].map((s) => s * 1000);
  const step = steps.find((s) => (to - from) / s <= most) ?? 86_400_000 * Math.ceil((to - from) / most / 86_400_000);
  const out = [];
  for (let at = Math.ceil(from / step) * step; at < to - (to - from) * 0.03; at += step) out.push(at);
  return out;
}

/** The whole span with the part in view. @param {{ lanes: import("./lanes.js").Lane[], start: number, whole: number, view: { from: number, to: number }, pan: (center: number) => void }} props */
function Map_({ lanes, start, whole, view, pan }) {
  const bars = useMemo(() => {
    const sums = new Array(80).fill(0);
    for (const lane of lanes) for (const s of lane.segments) {
      if (s.kind !== "model" && s.kind !== "tool") continue;
      const a = Math.max(0, Math.floor(((s.from - start) / whole) * 80)), b = Math.min(79, Math.floor(((s.to - start) / whole) * 80));
      for (let i = a; i <= b; i++) sums[i]++;
    }
    const most = Math.max(1, ...sums);
    return sums.map((n) => n / most);
  }, [lanes]);
  const onClick = (/** @type {MouseEvent} */ e) => {
    const box = /** @type {HTMLElement} */ (e.currentTarget).getBoundingClientRect();
    pan(start + ((e.clientX - box.left) / box.width) * whole);
  };
  return html`<div class="mm wide" aria-hidden="true" onClick=${onClick}>${bars.map((n, i) => html`<i key=${i} style=${{ left: `${i * 1.25}%`, height: `${n * 22}px` }}></i>`)}
    <span class="win" style=${{ left: `${((view.from - start) / whole) * 100}%`, width: `${Math.min(100, ((view.to - view.from) / whole) * 100)}%` }}></span></div>`;
}

/** @param {{ node: any, lane: import("./lanes.js").Lane | undefined, view: { from: number, to: number }, chosen: any, choose: (value: any) => void }} props */
function LaneRow({ node, lane, view, chosen, choose }) {
  const track = useRef(/** @type {HTMLElement | null} */ (null));
  const [width, setWidth] = useState(800);
  useLayoutEffect(() => { const w = track.current?.clientWidth; if (w && w !== width) setWidth(w); });
  const { task, level } = node;
  const placed = lane ? place(lane.segments, view.from, view.to, width) : [];
  const x = (/** @type {number} */ at) => `${((at - view.from) / (view.to - view.from)) * 100}%`;
  return html`<div class="lane" role="listitem" data-row data-level=${Math.min(level - 1, 4)}><a class="who" href=${href("tasks", task.task_id)}><${StateIcon} state=${stateOf(task)} /><b class="ell">${task.agent}</b> <span class="mono">${task.parent ? shortId(task.task_id) : ""}</span></a>
    <div class="trk" ref=${track}>${placed.map(({ segment, left, width: w, count }) => html`<button key=${segment.from} tabindex="-1" class=${cx("sg", `sg-${segment.kind}`, chosen?.segment.from === segment.from && chosen?.id === task.task_id && "sel")} style=${{ left: `${left}px`, width: `${Math.max(2, w - 1)}px` }}
        title=${count > 1 ? plural(count, "short segment") : `${KINDS[segment.kind]}: ${segment.label}, ${duration(segment.to - segment.from)}`} aria-label=${`${KINDS[segment.kind]}, ${clock(new Date(segment.from).toISOString())}, ${duration(segment.to - segment.from)}`} onClick=${() => choose({ id: task.task_id, task, segment })}></button>`)}
      ${lane?.ticks.filter((at) => at >= view.from && at <= view.to).map((at) => html`<i key=${`t${at}`} class="tick" title="retry" style=${{ left: x(at) }}></i>`)}
      ${lane?.ended && lane.end >= view.from && lane.end <= view.to ? html`<span class="endm" style=${{ left: x(lane.end) }}><${StateIcon} state=${stateOf(task)} /></span>` : null}</div>
    <span class="num t2">${elapsed((lane?.end ?? 0) - (lane?.start ?? 0))}</span></div>`;
}

/** The same facts as a table. @param {{ nodes: any[], lanes: Map<string, import("./lanes.js").Lane> }} props */
function SegmentTable({ nodes, lanes }) {
  const rows = useMemo(() => nodes.flatMap(({ task }) => (lanes.get(task.task_id)?.segments ?? []).map((segment, i) => ({ key: `${task.task_id}:${i}`, task, segment }))), [nodes, lanes]);
  return html`<div class="body"><${VirtualList} items=${rows} keyOf=${(/** @type {any} */ row) => row.key} estimate=${() => 29} role="table" label="Segments" render=${(/** @type {{ task: Task, segment: import("./lanes.js").Segment }} */ { task, segment }) => html`<div class="sgt" role="row"><span role="cell" class="ell">${task.agent} <span class="mono t3">${shortId(task.task_id)}</span></span><span role="cell" class="kind"><i class=${`sg-${segment.kind}`}></i>${KINDS[/** @type {import("./lanes.js").Kind} */ (segment.kind)]}</span>
    <span role="cell" class="num t2">${clock(new Date(segment.from).toISOString())}</span><span role="cell" class="num">${duration(segment.to - segment.from)}</span><span role="cell" class="ell t2">${visible(segment.label)}</span></div>`} /></div>`;
}

/** @param {{ lanes: import("./lanes.js").Lane[], wall: number }} props */
function TimeTable({ lanes, wall }) {
  const sums = whereTimeWent(lanes);
  const total = sums.reduce((n, s) => n + s.ms, 0);
  const most = Math.max(1, ...sums.map((s) => s.ms));
  return html`<section aria-label="Where did the time go"><h2>Where did the time go <span>${duration(total)} of task time in ${duration(wall)}, without waiting for subtasks</span></h2>
    ${sums.map(({ kind, ms }) => html`<div class="wt" key=${kind}><span>${KINDS[kind]}</span><i class=${`bx sg-${kind}`} style=${{ width: `${(ms / most) * 100}%` }}></i><span class="num t2">${duration(ms)}</span><span class="num">${percent(ms / Math.max(1, total))}</span></div>`)}</section>`;
}

/** @param {{ chosen: any }} props */
function SegmentCard({ chosen }) {
  if (!chosen) return html`<aside class="card sgc none wide" aria-label="Segment"><p class="t3">Choose a segment to see what it was.</p></aside>`;
  const { task, segment } = chosen;
  return html`<aside class="card sgc" aria-label="Segment"><div class="row"><b>${task.agent}</b><span class="mono t3">${shortId(task.task_id)}</span><span class="sp"></span><${StateChip} state=${stateOf(task)} /></div><pre class="wrap">${visible(segment.label)}</pre>
    <dl class="kv"><dt>What</dt><dd>${KINDS[/** @type {import("./lanes.js").Kind} */ (segment.kind)]}</dd><dt>From</dt><dd>${clock(new Date(segment.from).toISOString())}</dd><dt>${segment.open ? "So far" : "Took"}</dt><dd>${duration(segment.to - segment.from)}</dd></dl>
    <div class="row"><a class="btn" href=${href("tasks", task.task_id)}>Open task</a>${segment.call ? html`<a class="btn q" href=${href("tasks", task.task_id, "transcript", { call: segment.call })}>Open step <${Icon} name="right" /></a>` : null}</div></aside>`;
}
