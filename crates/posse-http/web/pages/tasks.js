// Tasks as trees, and the detail of one.

import { Age, ContextMeter, Cost, Empty, Icon, Loaded, Model, Skeleton, StateChip, StateIcon, Switch, Turns, useResource } from "../components.js";
import { Reason } from "./overview.js";
import { Detail } from "./detail.js";
import { Transcript } from "./transcript.js";
import { TaskChanges } from "./changes.js";
import { base, cost, count, duration, plural, shortId, since } from "../format.js";
import { go, href, route } from "../route.js";
import { WORST, hasEnded, stateOf } from "../state.js";
import { Top } from "../shell.js";
import { VirtualList } from "../virtual.js";
import { cancel, resume } from "../actions.js";
import { can, loaded, now, readTree, revision, rootOf, tasks } from "../store.js";
import { ApiError, isExport } from "../api.js";
import { cx, html, useEffect, useMemo, useState } from "../lib.js";

/** @typedef {{ task: Task, level: number, children: Task[], open: boolean, position: number, size: number, worst: import("../state.js").StateName }} Node */

/** Reads the tree of a task and finds its root. @param {string} id @returns {{ root: Task | null, error: Problem | null }} */
export function useRoot(id) {
  const [found, setFound] = useState(/** @type {{ id: string, root: string | null, error: Problem | null }} */ ({ id: "", root: null, error: null }));
  useEffect(() => {
    if (!id) return;
    let stale = false;
    rootOf(id)
      .then(async (root) => {
        if (!stale) setFound({ id, root: root.task_id, error: null });
        await readTree(root.task_id);
      })
      .catch((e) => { if (!stale && e instanceof ApiError) setFound((old) => (old.root ? old : { id, root: null, error: e.problem })); });
    return () => { stale = true; };
  }, [id]);
  void revision.value;
  let root = tasks.get(id) ?? null;
  while (root?.parent && tasks.has(root.parent)) root = tasks.get(root.parent) ?? null;
  if (root?.parent && !isExport()) root = null;
  return { root: root ?? (found.id === id && found.root ? (tasks.get(found.root) ?? null) : null), error: found.id === id ? found.error : null };
}

/** Maps each task to those that it delegated, in order of their start. @returns {Map<string | null, Task[]>} */
export function childrenOf() {
  const map = new Map();
  for (const task of tasks.values()) {
    const list = map.get(task.parent);
    if (list) list.push(task);
    else map.set(task.parent, [task]);
  }
  for (const list of map.values()) list.sort((/** @type {Task} */ a, /** @type {Task} */ b) => a.created_at.localeCompare(b.created_at) || a.task_id.localeCompare(b.task_id));
  return map;
}

/** @param {Task[]} roots @param {Map<string | null, Task[]>} below @param {Set<string>} closed @returns {Node[]} */
export function nodesOf(roots, below, closed) {
  /** @type {Node[]} */
  const out = [];
  const walk = (/** @type {Task[]} */ list, /** @type {number} */ level) => list.forEach((task, i) => {
    const children = below.get(task.task_id) ?? [];
    const open = children.length > 0 && !closed.has(task.task_id);
    out.push({ task, level, children, open, position: i + 1, size: list.length, worst: open ? stateOf(task) : worstOf(task, below) });
    if (open) walk(children, level + 1);
  });
  walk(roots, 1);
  return out;
}

/** @param {Task} task @param {Map<string | null, Task[]>} below @returns {import("../state.js").StateName} */
function worstOf(task, below) {
  let worst = stateOf(task);
  if (hasEnded(task)) return worst;
  for (const child of below.get(task.task_id) ?? []) {
    const other = worstOf(child, below);
    if (!hasEnded(child) && WORST.indexOf(other) < WORST.indexOf(worst)) worst = other;
  }
  return worst;
}

export function Tasks() {
  const { id, tab } = route.value;
  if (id && tab === "transcript") return html`<${Wide} id=${id} tab=${tab}><${Transcript} id=${id} /><//>`;
  if (id && tab === "changes") return html`<${Wide} id=${id} tab=${tab}><div class="body"><${TaskChanges} id=${id} /></div><//>`;
  return html`<${TreePage} id=${id} />`;
}

/** Crumbs of a task: the project, and the root. @param {Task | null | undefined} task @param {Task | null} root @returns {[string, string][]} */
export function crumbsOf(task, root) {
  if (!task) return [["Tasks", "#/tasks"]];
  /** @type {[string, string][]} */
  const crumbs = [[base(task.workspace), href("overview", "", "", { project: task.workspace })]];
  if (root && root.task_id !== task.task_id) crumbs.push([root.title, href("tasks", root.task_id)]);
  return crumbs;
}

/** A page of one task over the whole width. @param {{ id: string, tab: string, children?: any }} props */
function Wide({ id, tab, children }) {
  const { root, error } = useRoot(id);
  const task = tasks.get(id);
  return html`<${Top} title=${task ? html`${task.agent} <span class="mono t3">${shortId(id)}</span>` : id} crumbs=${crumbsOf(task, root)} back=${href("tasks", id)}>${task && html`<span class="wide"><${StateChip} state=${stateOf(task)} /></span>`}<//>
    <main id="main" class="fill" tabindex="-1"><div class="tool"><${Tabs} id=${id} tab=${tab} /></div>${error ? html`<div class="body"><${Loaded} of=${{ data: null, error, reload: () => {} }} children=${() => null} /></div>` : children}</main>`;
}

/** @param {{ id: string, tab: string }} props */
export const Tabs = ({ id, tab }) => html`<${Switch} label="Parts of the task" value=${tab || "now"} options=${[["now", "Now", href("tasks", id)], ["transcript", "Transcript", href("tasks", id, "transcript")], ["changes", "Changes", href("tasks", id, "changes")], ["evidence", "Evidence", href("tasks", id, "evidence")], ["events", "Events", href("tasks", id, "events")]]} />`;

/** @param {{ id: string, page: string }} props views of one tree */
export const TreeViews = ({ id, page }) => html`<${Switch} label="Views of the tree" value=${page} options=${[["tasks", "Tree", href("tasks", id)], ["timeline", "Timeline", href("timeline", id)], ["changes", "Changes", href("changes", id)], ["budget", "Budget", href("budget", id)]]} />`;

/** @param {{ id: string }} props */
function TreePage({ id }) {
  const { root, error } = useRoot(id);
  const [closed, setClosed] = useState(/** @type {Set<string>} */ (new Set()));
  const [words, setWords] = useState("");
  const below = useMemo(childrenOf, [revision.value]);
  const roots = root ? [root] : id ? [] : [...tasks.values()].filter((task) => !task.parent || !tasks.has(task.parent)).sort(byGroup);
  const all = useMemo(() => nodesOf(roots, below, id ? closed : closedRoots(roots, closed)), [revision.value, root, closed, id]);
  const nodes = words ? all.filter((node) => `${node.task.agent} ${node.task.title} ${node.task.task_id}`.toLowerCase().includes(words.toLowerCase())) : all;
  const task = tasks.get(id);
  const toggle = (/** @type {string} */ key) => setClosed((old) => { const next = new Set(old); if (!next.delete(key)) next.add(key); return next; });
  const live = root ? runningBelow(root, below) : 0;

  return html`<${Top} title=${root ? root.title : "Tasks"} crumbs=${root ? crumbsOf(root, root) : []} back=${id ? "#/tasks" : undefined}>
      ${root && !hasEnded(root) && can("steer") && html`<button class="btn q wide" onClick=${() => cancel(root, live)}><${Icon} name="stop" />Stop tree</button>`}<//>
    <main id="main" class=${cx("split", id && "chosen")} tabindex="-1"><div class="tw"><div class="tool">
        ${root ? html`<${TreeViews} id=${root.task_id} page="tasks" />` : html`<label class="grow"><span class="vh">Search tasks</span><input class="field" type="search" data-search placeholder="Filter by agent, task or id" value=${words} onInput=${(/** @type {any} */ e) => setWords(e.target.value)} /></label>`}
        <span class="sp"></span>${root ? html`<span class="num t2 s12 wide">${plural(root.tree.tasks, "task")} · ${duration((root.ended_at ? since(root.ended_at) : now.value) - since(root.created_at))} · ${cost(root.tree.cost_usd)}</span>` : html`<span class="num t2 s12">${plural(nodes.length, "task")}</span>`}</div>
      ${error ? html`<div class="pad"><${Loaded} of=${{ data: null, error, reload: () => {} }} children=${() => null} /></div>`
      : nodes.length === 0 && (!loaded.value || id) ? html`<${Skeleton} />`
      : nodes.length === 0 ? html`<div class="pad"><${Empty} title="No task yet" text="Each run is a tree: the task that you gave, and below it those that it delegated. Start one:" command="posse run 'Review the last commit with two reviewers'" /></div>`
      : html`<${Tree} nodes=${nodes} selected=${id} toggle=${toggle} />`}
      ${root && html`<${ContextKeys} root=${root} />`}</div>
      ${id && (task || root) ? html`<${Detail} key=${id} id=${id} path=${pathOf(task)} live=${task ? runningBelow(task, below) : 0} resume=${resume} />` : html`<section class="det none wide" aria-label="Detail"><p class="t3">Choose a task to see what it does, what it asks and what shows that it is done.</p></section>`}</main>`;
}

/** @param {Task} a @param {Task} b */
function byGroup(a, b) {
  const rank = (/** @type {Task} */ task) => (task.group === "completed" ? 1 : 0);
  return rank(a) - rank(b) || b.created_at.localeCompare(a.created_at);
}

/** Ended trees are closed until they are opened. @param {Task[]} roots @param {Set<string>} toggled */
function closedRoots(roots, toggled) {
  const closed = new Set(toggled);
  for (const root of roots) if (hasEnded(root)) toggled.has(root.task_id) ? closed.delete(root.task_id) : closed.add(root.task_id);
  return closed;
}

/** @param {Task} task @param {Map<string | null, Task[]>} below @returns {number} */
function runningBelow(task, below) {
  return (below.get(task.task_id) ?? []).reduce((n, child) => n + (hasEnded(child) ? 0 : 1) + runningBelow(child, below), 0);
}

/** @param {Task | undefined} task @returns {Task[]} */
function pathOf(task) {
  const path = [];
  for (let up = task?.parent ? tasks.get(task.parent) : undefined; up; up = up.parent ? tasks.get(up.parent) : undefined) path.unshift(up);
  return path;
}

/** @param {{ nodes: Node[], selected: string, toggle: (id: string) => void }} props */
function Tree({ nodes, selected, toggle }) {
  const [focus, setFocus] = useState(selected);
  const stop = nodes.some((node) => node.task.task_id === focus) ? focus : nodes[0].task.task_id;
  const onKey = (/** @type {KeyboardEvent} */ e) => {
    const index = nodes.findIndex((node) => node.task.task_id === stop);
    const node = nodes[index];
    const to = (/** @type {number} */ i) => {
      const next = nodes[Math.max(0, Math.min(nodes.length - 1, i))];
      setFocus(next.task.task_id);
      requestAnimationFrame(() => { const row = document.getElementById(`n-${next.task.task_id}`); row?.focus({ preventScroll: true }); row?.scrollIntoView({ block: "nearest" }); });
    };
    if (e.key === "ArrowDown" || e.key === "j") to(index + 1);
    else if (e.key === "ArrowUp" || e.key === "k") to(index - 1);
    else if (e.key === "Home") to(0);
    else if (e.key === "End") to(nodes.length - 1);
    else if (e.key === "ArrowRight") node.children.length > 0 && !node.open ? toggle(node.task.task_id) : to(index + 1);
    else if (e.key === "ArrowLeft") node.open ? toggle(node.task.task_id) : to(nodes.findIndex((other) => other.task.task_id === node.task.parent));
    else if (e.key === "Enter" || e.key === " ") go("tasks", node.task.task_id);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const render = (/** @type {Node} */ node, /** @type {number} */ i) => html`<${TreeRow} node=${node} index=${i} selected=${node.task.task_id === selected} stop=${node.task.task_id === stop} toggle=${toggle} />`;
  return html`<div class="tg hd wide-cols" aria-hidden="true"><span>Task</span><span>Model</span><span>Context</span><span class="num">Turn</span><span class="num">Elapsed</span><span class="num">Cost</span></div>
    <div onKeyDown=${onKey}><${VirtualList} items=${nodes} keyOf=${(/** @type {Node} */ node) => node.task.task_id} estimate=${() => 53} render=${render} role="treegrid" label="Task tree" attributes=${{ "aria-rowcount": nodes.length }} /></div>`;
}

/** @param {{ node: Node, index: number, selected: boolean, stop: boolean, toggle: (id: string) => void }} props */
function TreeRow({ node, index, selected, stop, toggle }) {
  const { task, level } = node;
  const expand = (/** @type {Event} */ e) => { e.stopPropagation(); toggle(task.task_id); };
  const open = () => go("tasks", task.task_id);
  return html`<div id=${`n-${task.task_id}`} class="tg nd" role="row" data-row data-level=${Math.min(level - 1, 6)} aria-level=${level} aria-rowindex=${index + 1} aria-posinset=${node.position} aria-setsize=${node.size}
    aria-expanded=${node.children.length > 0 ? node.open : undefined} aria-selected=${selected} tabindex=${stop ? 0 : -1} onClick=${open}>
    <div class="nm" role="gridcell"><span class="twist" onClick=${node.children.length > 0 ? expand : undefined} aria-hidden="true">${node.children.length > 0 && html`<${Icon} name=${node.open ? "down" : "right"} />`}</span>
      <${StateIcon} state=${node.worst} /><span class="l1"><b class="ell">${task.agent}</b> <span class="mono t3">${task.parent ? shortId(task.task_id) : base(task.workspace)}</span>${!node.open && node.children.length > 0 && html`<span class="t3 s12">${count(task.tree.tasks - 1)} below</span>`}</span></div>
    <span role="gridcell" class="k1"><${Model} task=${task} /></span><span role="gridcell" class="k2"><${ContextMeter} task=${task} /></span><span role="gridcell" class="num k3"><${Turns} task=${task} /></span><span role="gridcell" class="num k4"><${Age} task=${task} /></span><span role="gridcell" class="num k5"><${Cost} task=${task} /></span>
    <span role="gridcell" class="l2" title=${task.title}><${TreeReason} node=${node} /></span></div>`;
}

/** @param {{ node: Node }} props */
function TreeReason({ node }) {
  const running = node.children.filter((child) => !hasEnded(child));
  if (stateOf(node.task) === "tool" && running.length > 0) {
    const words = running.length === 1 ? "1 subtask" : `${running.length} subtasks`;
    return html`waits for ${words} · ${node.task.title}`;
  }
  return html`<${Reason} task=${node.task} />`;
}

/** Keys of the shared context of the session, below the tree. @param {{ root: Task }} props */
function ContextKeys({ root }) {
  const context = useResource(`/sessions/${root.session_id}/context`, { watch: root.task_id, kinds: /tool_finished|finished/ });
  if (!context.data || context.data.keys.length === 0) return null;
  const keys = /** @type {ContextValue[]} */ (context.data.keys);
  return html`<section class="below"><h2>Shared context <span>${plural(keys.length, "key")}</span></h2>${keys.slice(0, 12).map((key) =>
    html`<a key=${key.key} class="kr" href=${href("context", root.session_id, key.key)}><code class="ell">${key.key}</code><span class="t2">v${key.version}</span><span class="t2 ell">${key.written_by}</span></a>`)}</section>`;
}
