// Budget of each tree, and cost by day, agent and model.

import { BudgetBar, Choice, Empty, Loaded, StateIcon, useResource } from "../components.js";
import { base, cost, modelName, percent, plural, shortId, tokens } from "../format.js";
import { href, route } from "../route.js";
import { hasEnded, stateOf } from "../state.js";
import { Top } from "../shell.js";
import { revision, tasks } from "../store.js";
import { cx, html, useMemo, useState } from "../lib.js";
import { isExport } from "../api.js";
import { TreeViews, useRoot } from "./tasks.js";

/** Trees that are shown at once. */
const TREES_MAX = 8;
const SPANS = [["1", "Today"], ["7", "7 days"], ["30", "30 days"]];

/** @param {number} days */
function startOf(days) {
  const date = new Date();
  date.setHours(0, 0, 0, 0);
  date.setDate(date.getDate() - days + 1);
  return date.toISOString();
}

export function Budget() {
  void revision.value;
  const { id } = route.value;
  const { root } = useRoot(id);
  const [span, setSpan] = useState("1");
  const from = useMemo(() => startOf(Number(span)), [span]);
  const fortnight = useMemo(() => startOf(14), []);
  const watch = { watch: "*", kinds: /^(replied|finished)$/ };
  const agents = useResource(isExport() ? null : `/usage?by=agent&since=${encodeURIComponent(from)}`, watch);
  const models = useResource(isExport() ? null : `/usage?by=model&since=${encodeURIComponent(from)}`, watch);
  const days = useResource(isExport() ? null : `/usage?by=day&since=${encodeURIComponent(fortnight)}`, watch);
  const roots = root ? [root] : [...tasks.values()].filter((task) => (!task.parent && !hasEnded(task)) || (isExport() && !tasks.has(task.parent ?? ""))).sort((a, b) => (b.tree.cost_usd ?? 0) - (a.tree.cost_usd ?? 0)).slice(0, TREES_MAX);
  return html`<${Top} title=${root ? root.title : "Budget"} back=${id ? "#/budget" : undefined}>${!isExport() && html`<${Choice} label="Span" value=${span} options=${SPANS} onChange=${setSpan} />`}<//>
    <main id="main" class="body" tabindex="-1">${root ? html`<div class="tool inset"><${TreeViews} id=${root.task_id} page="budget" /></div>` : null}${!isExport() && html`<${Figures} report=${agents.data} span=${SPANS.find(([n]) => n === span)?.[1] ?? ""} roots=${roots} />`}
      <div class="gr"><section aria-labelledby="b-tree"><h2 id="b-tree" class="gh">Budget tree <span class="sp"></span><span class="lg"><span><i class="spent"></i>spent</span><span><i class="held"></i>reserved</span><span><i></i>left</span></span></h2>
        ${roots.length === 0 ? html`<${Empty} title="No tree runs" text="Each running tree shows here what it may spend, what it spent, what is reserved for tasks below it, and what is left. Give one a limit:" command="posse run --max-cost 2 'Review the open pull requests'" />`
        : html`<div role="table" aria-label="Budget tree"><div class="bt2 hd" role="row"><span role="columnheader">Node</span><span role="columnheader" class="wide"><span class="vh">Spent, reserved, left</span></span><span role="columnheader" class="num">Limit</span><span role="columnheader" class="num">Spent</span><span role="columnheader" class="num wide">Reserved</span><span role="columnheader" class="num">Left</span></div>
          ${roots.map((tree) => html`<${TreeBudget} key=${tree.task_id} root=${tree} />`)}</div>
          <p class="calm">Every call is reserved before it is sent: estimated input plus the largest output. Spent + reserved + left is the limit at every node.</p>`}</section>
      ${!isExport() && html`<div><${Days} report=${days} /><${Bars} title="By agent" says="without what it delegated" report=${agents} name=${(/** @type {string} */ n) => n} /><${Bars} title="By model" says="" report=${models} name=${modelName} /></div>`}</div></main>`;
}

/** @param {{ report: UsageReport | null, span: string, roots: Task[] }} props */
function Figures({ report, span, roots }) {
  const total = report?.total;
  const share = total && total.spending.input_tokens > 0 ? total.cached_tokens / total.spending.input_tokens : 0;
  const cell = (/** @type {string} */ head, /** @type {any} */ value, /** @type {string} */ says) => html`<div><span class="k">${head}</span><b>${value}</b><small>${says}</small></div>`;
  return html`<div class="kp">${cell(`Spent, ${span.toLowerCase()}`, total ? cost(total.spending.cost_usd) : "–", total ? `${plural(total.spending.tasks, "task")} · ${plural(total.spending.turns, "turn")}` : "")}
    ${cell("Tokens", total ? tokens(total.spending.input_tokens + total.spending.output_tokens) : "–", total ? `${tokens(total.spending.input_tokens)} in · ${tokens(total.spending.output_tokens)} out` : "")}
    ${cell("Read from the cache", percent(share), total ? `${tokens(total.cached_tokens)} of the input tokens` : "")}${cell("Trees running", roots.length, roots.length === 0 ? "nothing is reserved" : `${cost(roots.reduce((n, r) => n + (r.tree.cost_usd ?? 0), 0))} spent so far`)}</div>`;
}

/** @param {{ root: Task }} props */
function TreeBudget({ root }) {
  const budget = useResource(`/tasks/${root.task_id}/budget`);
  const [all, setAll] = useState(false);
  if (!budget.data) return html`<div role="row"><div role="cell"><${Loaded} of=${budget} rows=${2} children=${() => null} /></div></div>`;
  const nodes = /** @type {BudgetNode[]} */ (budget.data.nodes);
  const level = new Map();
  for (const node of nodes) level.set(node.task_id, node.parent && level.has(node.parent) ? level.get(node.parent) + 1 : 0);
  const shown = all ? nodes : nodes.filter((node, i) => i < 12 || node.caps.cost_usd !== null);
  return html`${shown.map((node) => html`<${NodeRow} key=${node.task_id} node=${node} level=${level.get(node.task_id)} />`)}${shown.length < nodes.length ? html`<div role="row"><div role="cell"><button class="btn q" onClick=${() => setAll(true)}>Show ${plural(nodes.length - shown.length, "task")} without an own limit</button></div></div>` : null}`;
}

/** @param {{ node: BudgetNode, level: number }} props */
function NodeRow({ node, level }) {
  const task = tasks.get(node.task_id);
  const cap = node.caps.cost_usd, left = node.left.cost_usd;
  const tight = cap !== null && node.spent.cost_usd >= cap * 0.9;
  return html`<div class="bt2" role="row" data-row data-level=${Math.min(level, 4)}><span role="cell" class="nmb"><${StateIcon} state=${stateOf(task ?? { status: /** @type {TaskStatus} */ (node.status), activity: null, approval: null, question: null })} /><a class="ell" href=${href("tasks", node.task_id)}>${node.agent}</a> <span class="mono t3 ell">${level === 0 ? base(task?.workspace ?? "") : shortId(node.task_id)}</span></span>
    <span role="cell" class="wide">${cap !== null && html`<${BudgetBar} spent=${node.spent.cost_usd} reserved=${node.reserved.cost_usd} limit=${cap} />`}</span><span role="cell" class="num t2">${cap === null ? html`<span class="t3" title="draws on its parent's account">–</span>` : cost(cap)}</span><span role="cell" class="num">${cost(node.spent.cost_usd)}</span>
    <span role="cell" class="num t2 wide">${node.reserved.cost_usd > 0 ? cost(node.reserved.cost_usd) : "–"}</span><span role="cell" class=${cx("num", tight ? "c-person b" : "t2")}>${left === null ? "–" : cost(left)}</span></div>`;
}

/** @param {{ report: { data: UsageReport | null, error: Problem | null, reload: () => void } }} props */
function Days({ report }) {
  return html`<section><h2 class="gh">Cost by day <span class="cnt">last 14 days</span></h2><${Loaded} of=${report} rows=${3} children=${(/** @type {UsageReport} */ data) => {
    const of = new Map(data.items.map((line) => [line.name, line.spending.cost_usd]));
    const days = Array.from({ length: 14 }, (_, i) => { const d = new Date(); d.setDate(d.getDate() - 13 + i); return `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, "0")}-${String(d.getDate()).padStart(2, "0")}`; });
    const most = Math.max(0.01, ...days.map((day) => of.get(day) ?? 0));
    return html`<ul class="days" aria-label="Cost by day">${days.map((day, i) => html`<li key=${day}><i class=${cx(i === 13 && "on")} style=${{ height: `${((of.get(day) ?? 0) / most) * 84}px` }}></i><span class="vh">${day}: ${cost(of.get(day) ?? 0)}</span><span class="dx" aria-hidden="true" title=${`${day}: ${cost(of.get(day) ?? 0)}`}>${Number(day.slice(8))}</span></li>`)}</ul><p class="s12 t3">Highest ${cost(most)}. Today ${cost(of.get(days[13]) ?? 0)} so far.</p>`;
  }} /></section>`;
}

/** @param {{ title: string, says: string, report: { data: UsageReport | null, error: Problem | null, reload: () => void }, name: (name: string) => string }} props */
function Bars({ title, says, report, name }) {
  return html`<section><h2 class="gh">${title} <span class="cnt">${says}</span></h2><${Loaded} of=${report} rows=${3} children=${(/** @type {UsageReport} */ data) => {
    const items = [...data.items].sort((a, b) => (b.spending.cost_usd ?? -1) - (a.spending.cost_usd ?? -1));
    const most = Math.max(0.0001, ...items.map((line) => line.spending.cost_usd ?? 0));
    const total = items.reduce((n, line) => n + (line.spending.cost_usd ?? 0), 0);
    if (items.length === 0) return html`<p class="calm">Nothing was spent in this span.</p>`;
    return items.slice(0, 10).map((line) => html`<div class="hb" key=${line.name}><span class="ell" title=${line.name}>${line.name === "" ? "unnamed" : name(line.name)}</span>${line.spending.cost_usd === null ? html`<span class="t3 wide3">${tokens(line.spending.input_tokens + line.spending.output_tokens)} tokens, price unknown</span>` : html`<i style=${{ width: `${Math.max(0.5, (line.spending.cost_usd / most) * 100)}%` }}></i><span class="num">${cost(line.spending.cost_usd)}</span><span class="num t3">${percent(line.spending.cost_usd / Math.max(total, 1e-9))}</span>`}</div>`);
  }} /></section>`;
}
