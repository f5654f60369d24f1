// Overview of all projects: what needs input, what works, what completed.

import { AskRow, allAsks } from "../asks.js";
import { Age, ContextMeter, Cost, Empty, Failure, Model, Skeleton, StateIcon, Turns, Who, useResource } from "../components.js";
import { DASH, base, cost, count, shortId, since } from "../format.js";
import { href, route } from "../route.js";
import { hasEnded, reasonOf, stateOf, tally, WORDS } from "../state.js";
import { Top } from "../shell.js";
import { VirtualList } from "../virtual.js";
import { approvals, loadError, loaded, moreEnded, now, readEnded, results, resultsRevision, retry, revision, tasks, wantResult } from "../store.js";
import { cx, html, useEffect, useMemo, useRef, useState } from "../lib.js";

/** More siblings of one agent than this share a row. */
const SIBLINGS_MAX = 6;
/** Marks in the cells of a swarm. @type {Record<string, string>} */
const MARKS = { person: "?", stalled: "!", doubt: "◇", failed: "×", interrupted: "ϟ", unknown: "?" };

/** @typedef {{ key: string, kind: "task", task: Task, level: number } | { key: string, kind: "swarm", list: Task[], level: number } | { key: string, kind: "head", word: string, n: number, more?: boolean } | { key: string, kind: "empty", group: string } | { key: string, kind: "more" }} Line */

/**
 * Orders live tasks by start, each below the one that delegated it.
 * @param {Task[]} list @param {Set<string>} open keys of swarms that are open
 * @returns {Line[]}
 */
export function forest(list, open) {
  /** @type {Map<string, Task[]>} */
  const below = new Map();
  const ids = new Set(list.map((task) => task.task_id));
  /** @type {Task[]} */
  const roots = [];
  for (const task of [...list].sort((a, b) => a.created_at.localeCompare(b.created_at) || a.task_id.localeCompare(b.task_id))) {
    if (task.parent && ids.has(task.parent)) below.set(task.parent, [...(below.get(task.parent) ?? []), task]);
    else roots.push(task);
  }
  /** @type {Line[]} */
  const out = [];
  const walk = (/** @type {Task[]} */ siblings, /** @type {number} */ level) => {
    const swarms = level === 0 ? new Map() : Map.groupBy(siblings, (task) => task.agent);
    const done = new Set();
    for (const task of siblings) {
      const swarm = swarms.get(task.agent) ?? [];
      if (swarm.length > SIBLINGS_MAX) {
        const key = `swarm:${task.parent}:${task.agent}`;
        if (!done.has(key)) out.push({ key, kind: "swarm", list: withEnded(swarm), level });
        done.add(key);
        if (!open.has(key)) continue;
      }
      out.push({ key: task.task_id, kind: "task", task, level });
      walk(below.get(task.task_id) ?? [], level + 1);
    }
  };
  walk(roots, 0);
  return out;
}

/** Adds siblings that have ended: cells keep their place. @param {Task[]} live */
const withEnded = (live) => [...tasks.values()].filter((task) => task.parent === live[0].parent && task.agent === live[0].agent).sort((a, b) => a.task_id.localeCompare(b.task_id, "en", { numeric: true }));

export function Overview() {
  void revision.value;
  const project = route.value.params.get("project");
  const [words, setWords] = useState("");
  const [open, setOpen] = useState(/** @type {Set<string>} */ (new Set()));
  const all = [...tasks.values()].filter((task) => (!project || task.workspace === project) && matches(task, words));
  const asks = allAsks().filter((ask) => (!project || ask.task.workspace === project) && matches(ask.task, words));
  const lines = useMemo(() => linesOf(all, open), [revision.value, approvals.value, project, words, open, moreEnded.value]);
  const toggle = (/** @type {string} */ key) => setOpen((old) => { const next = new Set(old); if (!next.delete(key)) next.add(key); return next; });

  return html`<${Top} title=${project ? base(project) : "Overview"} crumbs=${project ? [["Overview", "#/overview"]] : []} />
    <main id="main" class="body" tabindex="-1">
      ${loadError.value && !loaded.value ? html`<${Failure} problem=${loadError.value} retry=${retry} />`
      : !loaded.value ? html`<${Skeleton} rows=${8} />`
      : html`<${Figures} all=${all} asks=${asks.length} project=${project} words=${words} setWords=${setWords} />
        <section aria-labelledby="g-needs"><h2 id="g-needs" class="gh">Needs input <span class="cnt">${asks.length || ""}</span></h2>
          ${asks.length === 0 ? html`<p class="calm">Nothing needs you. Approvals, questions and calls in doubt appear here, with their deadline.</p>`
          : html`<ul class="asks">${asks.slice(0, 50).map((ask, i) => html`<${AskRow} key=${ask.id} ask=${ask} first=${i === 0} />`)}</ul>`}
          ${asks.length > 50 && html`<p class="calm"><a class="link" href="#/approvals">${asks.length - 50} more in Approvals</a></p>`}</section>
        <${Rows} lines=${lines} toggle=${toggle} />`}
    </main>`;
}

/** @param {Task} task @param {string} words */
const matches = (task, words) => words === "" || words.toLowerCase().split(/\s+/).every((word) => `${task.agent} ${task.title} ${task.task_id} ${task.workspace}`.toLowerCase().includes(word));

/** @param {Task[]} all @param {Set<string>} open @returns {Line[]} */
function linesOf(all, open) {
  const ended = all.filter((task) => task.group === "completed").sort((a, b) => (b.ended_at ?? b.updated_at).localeCompare(a.ended_at ?? a.updated_at));
  // What needs input stands above; it stays here only if others work below it.
  const parents = new Set(all.filter((task) => task.group !== "completed").map((task) => task.parent));
  const live = all.filter((task) => task.group === "working" || (task.group === "needs_input" && parents.has(task.task_id)));
  /** @type {Line[]} */
  const lines = [{ key: "h-working", kind: "head", word: "Working", n: live.filter((task) => task.group === "working").length }];
  const trees = forest(live, open);
  lines.push(...trees);
  if (trees.length === 0) lines.push({ key: "e-working", kind: "empty", group: "working" });
  lines.push({ key: "h-completed", kind: "head", word: "Completed", n: ended.length, more: moreEnded.value !== null });
  lines.push(...ended.map((task) => /** @type {Line} */ ({ key: task.task_id, kind: "task", task, level: 0 })));
  if (ended.length === 0) lines.push({ key: "e-completed", kind: "empty", group: "completed" });
  if (moreEnded.value !== null) lines.push({ key: "more", kind: "more" });
  return lines;
}

/** @param {{ all: Task[], asks: number, project: string | null, words: string, setWords: (words: string) => void }} props */
function Figures({ all, asks, project, words, setWords }) {
  const today = useRef(startOfDay()).current;
  const usage = useResource(`/usage?by=day&since=${encodeURIComponent(today)}`, { watch: "*", kinds: /^(replied|finished)$/ });
  const states = new Map(tally(all.filter((task) => task.group !== "completed").map(stateOf)).map((t) => [t.state, t.count]));
  const working = all.filter((task) => task.group === "working").length;
  const ended = all.filter((task) => task.group === "completed").length;
  const figure = (/** @type {any} */ value, /** @type {string} */ word, extra = "") => html`<div class=${extra}><b>${value}</b><span>${word}</span></div>`;
  const total = usage.data?.total.spending;
  return html`<div class="stat">${figure(asks, asks === 1 ? "needs input" : "need input", asks > 0 ? "hot" : "")}${figure(count(working), "working")}
    ${figure(count(states.get("rate") ?? 0), "held by a rate limit", "hide")}${figure(count(states.get("stalled") ?? 0), "stalled", "hide")}${figure(`${count(ended)}${moreEnded.value !== null ? "+" : ""}`, "completed")}
    ${figure(total ? cost(total.cost_usd) : DASH, "spent today")}
    <label class="find"><span class="vh">Search tasks</span><input class="field" data-search type="search" placeholder="Filter by agent, task or project" value=${words} onInput=${(/** @type {any} */ e) => setWords(e.target.value)} /></label></div>`;
}

function startOfDay() {
  const date = new Date();
  date.setHours(0, 0, 0, 0);
  return date.toISOString();
}

/** @param {{ lines: Line[], toggle: (key: string) => void }} props */
function Rows({ lines, toggle }) {
  const render = (/** @type {Line} */ line) => {
    if (line.kind === "task") return html`<${TaskRow} task=${line.task} level=${line.level} />`;
    if (line.kind === "swarm") return html`<${SwarmRow} list=${line.list} level=${line.level} toggle=${() => toggle(line.key)} />`;
    if (line.kind === "head") return html`<${Head} line=${line} />`;
    if (line.kind === "more") return html`<div class="tr" role="row"><span role="cell"><button class="btn q" onClick=${() => void readEnded()}>Show older tasks</button></span></div>`;
    return html`<div role="row"><div role="cell">${line.group === "working"
      ? html`<${Empty} title="No task runs" text="Tasks of every project on this machine appear here while they run: of posse run, of an editor over MCP, of a worker. Start one:" command="posse run 'Find the three slowest tests and say why'" />`
      : html`<p class="calm">Ended tasks are listed here with their result and what checked it.</p>`}</div></div>`;
  };
  return html`<${VirtualList} items=${lines} keyOf=${(/** @type {Line} */ line) => line.key} estimate=${estimate} render=${render} role="table" label="Tasks" attributes=${{ "aria-rowcount": lines.length }} class="rows" />`;
}

/** @param {Line} line */
const estimate = (line) => (line.kind === "swarm" ? 57 : line.kind === "task" ? (innerWidth < 700 ? 66 : 33) : line.kind === "head" ? 44 : 60);

/** @param {{ line: Extract<Line, { kind: "head" }> }} props */
const Head = ({ line }) => html`<div class="g cols" role="row"><span role="columnheader" class="first"><h2 class="gh">${line.word} <span class="cnt">${count(line.n)}${line.more ? "+" : ""}</span></h2></span>
  <span role="columnheader" class="c-model-col">Model</span><span role="columnheader" class="c-ctx">Context</span><span role="columnheader" class="num c-turn">Turn</span><span role="columnheader" class="num c-age">Elapsed</span><span role="columnheader" class="num">Cost</span><span role="columnheader" class="c-menu"><span class="vh">Open</span></span></div>`;

/** @param {{ task: Task, level: number }} props */
function TaskRow({ task, level }) {
  const state = stateOf(task);
  return html`<div class=${cx("g tr", level > 0 && "kid")} role="row" data-row data-level=${Math.min(level, 3)} data-state=${state}>
    <span role="cell"><${StateIcon} state=${state} /></span>
    <span role="cell" class="name"><a class="cover" href=${href("tasks", task.task_id)}><${Who} task=${task} /></a></span>
    <span role="cell" class="act ell" title=${task.title}><${Reason} task=${task} /></span>
    <span role="cell" class="c-model-col"><${Model} task=${task} /></span><span role="cell" class="c-ctx">${task.group !== "completed" && html`<${ContextMeter} task=${task} />`}</span>
    <span role="cell" class="num c-turn"><${Turns} task=${task} /></span><span role="cell" class="num c-age"><${Age} task=${task} /></span><span role="cell" class="num cost"><${Cost} task=${task} /></span><span role="cell" class="c-menu t3" aria-hidden="true">›</span></div>`;
}

/** The reason on the row; of an ended task, its result. @param {{ task: Task }} props */
export function Reason({ task: summary }) {
  void resultsRevision.value;
  const state = stateOf(summary);
  const task = { ...summary, ...(summary.headline ? null : results.get(summary.task_id)) };
  useEffect(() => { if (hasEnded(summary) && !summary.headline) wantResult(summary); }, [summary.task_id, state]);
  if (state === "completed") {
    const checked = task.verified && task.verified.total > 0 ? html`<b class="tag c-completed">${task.verified.passed}/${task.verified.total} verified</b> ` : null;
    return html`${checked}${task.in_doubt ? html`<b class="tag c-doubt">${task.in_doubt} in doubt</b> ` : null}${reasonOf(task, 0)}`;
  }
  if (["partial", "failed", "cancelled"].includes(state)) return html`<b class=${`tag c-${state}`}>${state}</b> ${reasonOf(task, 0)}`;
  if (state === "interrupted" || state === "unknown") return html`<b class="tag c-interrupted">${state === "unknown" ? "unknown" : "interrupted"}</b> ${state === "unknown" ? "the state cannot be read" : reasonOf(task, now.value)}`;
  const ticks = ["model", "rate", "stalled"].includes(state);
  return html`${reasonOf(task, ticks ? now.value : 0)}`;
}

/** Many siblings of one agent in one row: a cell for each, in the order of ids. @param {{ list: Task[], level: number, toggle: () => void }} props */
function SwarmRow({ list, level, toggle }) {
  const states = list.map(stateOf);
  const worst = tally(states)[0]?.state ?? "working";
  const fullest = list.reduce((a, b) => (part(b) > part(a) ? b : a));
  const total = list.reduce((/** @type {number | null} */ sum, task) => (sum === null || task.tree.cost_usd === null ? null : sum + task.tree.cost_usd), 0);
  const oldest = list.filter((task) => task.group !== "completed").reduce((a, b) => (since(a.created_at) < since(b.created_at) ? a : b));
  return html`<div class=${cx("g tr sw", level > 0 && "kid")} role="row" data-row data-level=${Math.min(level, 3)}>
    <span role="cell"><${StateIcon} state=${worst === "completed" ? "completed" : worst === "person" ? "working" : worst} /></span>
    <span role="cell" class="name"><button class="cover" aria-expanded="false" onClick=${toggle}><span class="who"><b class="ell">${list[0].agent}</b> <span class="mono">${shortId(list[0].task_id)}…${shortId(list[list.length - 1].task_id)}</span></span></button></span>
    <span role="cell" class="act"><span class="swarm" aria-hidden="true">${list.map((task, i) => html`<i key=${task.task_id} class=${`cell s-${states[i]}`} title=${`${shortId(task.task_id)}: ${WORDS[states[i]]}`}>${MARKS[states[i]] ?? ""}</i>`)}</span>
      <span class="s12 t2 ell swt">${tally(states).map((t, i) => html`${i > 0 ? " · " : ""}<span class=${`c-${t.state}`}>${t.count} ${WORDS[t.state]}</span>`)}</span></span>
    <span role="cell" class="c-model-col"><${Model} task=${list[0]} /></span><span role="cell" class="c-ctx"><${ContextMeter} task=${fullest} /></span><span role="cell" class="num c-turn t3">${DASH}</span>
    <span role="cell" class="num c-age"><${Age} task=${oldest} /></span><span role="cell" class="num cost">${cost(total)}</span><span role="cell" class="c-menu t3" aria-hidden="true">›</span></div>`;
}

/** @param {Task} task */
const part = (task) => (task.context?.window_tokens ? task.context.used_tokens / task.context.window_tokens : 0);
