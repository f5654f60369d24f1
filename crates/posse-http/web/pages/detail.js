// Detail of a task beside the tree: what it asks, facts, budget, leases, claims, last steps; and the box to steer it.

import { AnswerButtons, DecisionButtons, WithoutAnswer, asksOf, commandOf, titleOf } from "../asks.js";
import { answer, cancel, farOf, steer } from "../actions.js";
import { BudgetBar, Code, Elapsed, Icon, Key, Loaded, Says, StateChip, Took, useResource } from "../components.js";
import { Evidence } from "./evidence.js";
import { Events, useEvents } from "./events.js";
import { Tabs } from "./tasks.js";
import { DASH, base, clock, cost, duration, firstLine, modelName, shortId, tokens, visible } from "../format.js";
import { href, route } from "../route.js";
import { hasEnded, reasonOf, stateOf } from "../state.js";
import { can, now, tasks } from "../store.js";
import { html, useRef } from "../lib.js";

/** @param {{ id: string, path: Task[], live: number, resume: (task: Task, limits?: Record<string, unknown>) => Promise<void> }} props */
export function Detail({ id, path, live, resume }) {
  const detail = useResource(`/tasks/${id}`, { watch: id });
  const task = tasks.get(id) ?? detail.data?.task;
  const { tab } = route.value;
  if (!task) return html`<section class="det" aria-label="Detail"><div class="pad"><${Loaded} of=${detail} children=${() => null} /></div></section>`;
  const state = stateOf(task);
  const since = task.ended_at ?? task.activity?.since ?? task.updated_at;
  return html`<section class="det" aria-label=${`Detail of ${task.agent} ${shortId(id)}`} data-keys>
    <div class="dh"><div class="row"><nav class="path ell" aria-label="Delegated by">${path.map((up) => html`<a href=${href("tasks", up.task_id)}>${up.agent}</a> <${Icon} name="right" />`)} <span class="mono">${shortId(id)}</span></nav><span class="sp"></span>
      <${StateChip} state=${state}> · <${Elapsed} from=${since} />${hasEnded(task) ? " ago" : ""}<//></div>
      <h2>${task.agent}</h2><p class="t2 clamp">${visible(detail.data ? firstLine(detail.data.request.task) : task.title)}</p></div>
    <div class="tabs"><${Tabs} id=${id} tab=${tab} /></div>
    <div class="db" tabindex="0" role="region" aria-label=${tab || "Now"}>${tab === "events" ? html`<${Events} id=${id} />`
      : tab === "evidence" ? html`<${Loaded} of=${detail} children=${(/** @type {any} */ data) => html`<${Evidence} detail=${data} />`} />`
      : html`<${Now} task=${task} detail=${detail} />`}</div>
    <a hidden data-key-for="t" href=${href("tasks", id, "transcript")}>Transcript</a><${Foot} task=${task} live=${live} resume=${resume} /></section>`;
}

/** @param {{ task: Task, detail: { data: any, error: Problem | null, reload: () => void } }} props */
function Now({ task, detail }) {
  return html`<${Asks} task=${task} />${!hasEnded(task) && !task.question && !task.approval ? html`<${Doing} task=${task} />` : null}
    <${Loaded} of=${detail} children=${(/** @type {Detail} */ data) => html`<${Facts} task=${task} detail=${data} /><${BudgetSection} task=${task} /><${Leases} task=${task} />
      ${data.outcome ? html`<${Evidence} detail=${data} brief=${true} />` : null}${data.request.notes.length > 0 ? html`<section class="sec"><h3>Notes</h3>${data.request.notes.map((note) => html`<p class="t2">${note}</p>`)}</section>` : null}<${LastSteps} task=${task} /><${TaskText} text=${data.request.task} />`} />`;
}

/** @param {{ task: Task }} props */
function Asks({ task }) {
  return asksOf([task]).map((ask, i) => html`<div class="why" key=${ask.id}><div class="row"><b>${ask.approval ? `Asks: ${titleOf(ask.approval.tool).toLowerCase()}` : ask.question ? "Asks" : "Waits for a person"}</b><span class="sp"></span>
      ${ask.approval ? html`<${DecisionButtons} approval=${ask.approval} first=${i === 0} />` : null}</div>
    ${ask.approval ? html`<pre class="wrap"><b>${ask.approval.tool}</b> ${visible(commandOf(ask.approval))}</pre><p class="s12 t2"><${Says} text=${firstLine(ask.approval.why)} />. <${WithoutAnswer} approval=${ask.approval} />. <a class="link" href=${href("approvals", ask.approval.approval)}>Review</a></p>`
    : ask.question ? html`<p>${visible(ask.question.question)}</p><div class="row acts wrap"><${AnswerButtons} question=${ask.question} first=${i === 0} /></div><${AnswerField} question=${ask.question} />` : null}</div>`);
}

/** @param {{ question: Question }} props */
function AnswerField({ question }) {
  if (!can("steer")) return null;
  const submit = (/** @type {SubmitEvent} */ e) => {
    e.preventDefault();
    const field = /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (e.target).elements.namedItem("answer"));
    if (field.value.trim()) void answer(question, field.value.trim());
  };
  return html`<form class="inp" onSubmit=${submit}><input name="answer" aria-label="Answer" placeholder="Another answer" autocomplete="off" /><button class="btn">Answer</button></form>`;
}

/** What it does, or why it waits. @param {{ task: Task }} props */
function Doing({ task }) {
  const state = stateOf(task);
  const until = task.activity?.until;
  return html`<div class=${`doing c-${state}`}><${Icon} name=${state} /><p class="t">${visible(reasonOf(task, now.value))}${until && state === "rate" ? ` · at ${clock(until)}` : ""}</p></div>`;
}

/** @param {{ task: Task, detail: Detail }} props */
function Facts({ task, detail }) {
  const { request, outcome } = detail;
  const fill = task.context;
  const facts = [
    ["Model", modelName(task.model ?? request.model)],
    ["Context", fill ? (fill.window_tokens ? `${tokens(fill.used_tokens)} of ${tokens(fill.window_tokens)}` : tokens(fill.used_tokens)) : DASH],
    ["Turn", `${task.turns} of ${request.turns_max}`],
    ["Tool calls", outcome ? `${outcome.tool_calls} of ${request.tool_calls_max}` : `at most ${request.tool_calls_max}`],
    ["Elapsed", html`<${Elapsed} from=${task.created_at} to=${task.ended_at} />`],
    ["Tokens", `${tokens(task.spending.input_tokens)} in · ${tokens(task.spending.output_tokens)} out`],
    ["Worker", task.driver ? html`<span title=${task.driver.process}>epoch ${task.driver.epoch}</span>` : hasEnded(task) ? DASH : "none"],
    ["Workspace", request.worktree ? "worktree" : base(request.directory)],
    ["Mode", request.mode], ["Sandbox", request.sandbox], ["Failed calls", String(detail.failed_calls.length)], ["Time limit", duration(request.wall_ms_max)],
  ];
  return html`<dl class="facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="ell">${value}</dd></div>`)}</dl>`;
}

/** @param {{ task: Task }} props */
function BudgetSection({ task }) {
  const budget = useResource(`/tasks/${task.task_id}/budget`, { watch: task.task_id, kinds: /replied|finished/ });
  const node = /** @type {BudgetNode | undefined} */ (budget.data?.nodes.find((/** @type {BudgetNode} */ n) => n.task_id === task.task_id));
  if (!node) return null;
  const cap = node.caps.cost_usd;
  return html`<section class="sec"><h3>Budget <span>${cap === null ? "draws on its parent's account" : `${cost(cap)} of its own`}</span></h3>
    ${cap !== null && html`<${BudgetBar} spent=${node.spent.cost_usd} reserved=${node.reserved.cost_usd} limit=${cap} />`}
    <p class="lg"><span><i class="spent"></i>${cost(node.spent.cost_usd)} spent</span><span><i class="held"></i>${cost(node.reserved.cost_usd)} reserved</span>${node.left.cost_usd !== null && html`<span><i></i>${cost(node.left.cost_usd)} left</span>`}</p></section>`;
}

/** @param {{ task: Task }} props */
function Leases({ task }) {
  const leases = useResource("/leases", { watch: task.task_id, kinds: /started|waiting|finished/ });
  const mine = /** @type {Lease[]} */ (leases.data?.items ?? []).filter((lease) => lease.task_id === task.task_id);
  if (mine.length === 0) return null;
  return html`<section class="sec"><h3>Leases <span>${mine[0].state === "held" ? "renewed while it runs" : mine[0].state}</span></h3><p class="chips">${mine.flatMap((lease) => lease.paths).map((path) => html`<span class="chip lease"><${Icon} name="lock" />${path}</span>`)}</p></section>`;
}

/** @param {{ task: Task }} props */
function LastSteps({ task }) {
  const { events } = useEvents(task.task_id, 20);
  const steps = stepsOf(events).slice(-8).reverse();
  if (steps.length === 0) return null;
  return html`<section class="sec"><h3>Last steps <a class="link" href=${href("tasks", task.task_id, "transcript")}>Transcript <${Key}>T<//></a></h3>
    ${steps.map((step) =>
    html`<a key=${step.call} class="ev" href=${href("tasks", task.task_id, "transcript", { call: step.call })}><span class=${`st c-${step.state}`}><${Icon} name=${step.state} label=${step.state} /></span><code class="ell">${step.tool} ${visible(step.summary)}</code><span class="s">${step.ms === null ? step.word : html`<${Took} ms=${step.ms} />`}</span></a>`)}</section>`;
}

/** @param {EventLine[]} events */
export function stepsOf(events) {
  /** @type {Map<string, { call: string, tool: string, summary: string, state: string, word: string, ms: number | null }>} */
  const steps = new Map();
  for (const e of events) {
    if (e.call === undefined) continue;
    const step = steps.get(e.call) ?? { call: e.call, tool: e.tool, summary: "", state: "tool", word: "runs", ms: null };
    if (e.summary) step.summary = e.summary;
    if (e.type === "approval_requested") [step.state, step.word] = ["person", "waits for approval"];
    else if (e.type === "approval_resolved") [step.state, step.word] = e.approved ? ["tool", "approved"] : ["cancelled", "denied"];
    else if (e.type === "tool_refused") [step.state, step.word, step.summary] = ["cancelled", "refused", step.summary || e.why || ""];
    else if (e.type === "tool_finished") [step.state, step.word, step.ms] = [e.in_doubt ? "doubt" : e.is_error ? "failed" : "completed", "", e.duration_ms ?? null];
    steps.set(e.call, step);
  }
  return [...steps.values()];
}

/** @param {{ text: string }} props */
const TaskText = ({ text }) => html`<section class="sec"><h3>Task</h3><${Code} text=${text} label="Copy the task" /></section>`;

/** @param {{ task: Task, live: number, resume: (task: Task, limits?: Record<string, unknown>) => Promise<void> }} props */
function Foot({ task, live, resume }) {
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const receipts = useReceipts(task.task_id);
  const send = async (/** @type {Event} */ e) => {
    e.preventDefault();
    const text = field.current?.value.trim();
    if (!text || !field.current) return;
    field.current.value = "";
    await steer(task.task_id, text);
    receipts.reload();
  };
  const onKey = (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter" && !e.shiftKey) void send(e); };
  if (hasEnded(task) || task.status === "interrupted") {
    if (!can("write") || task.status === "completed") return null;
    return html`<div class="steer row">${task.status === "interrupted" ? html`<p class="t2 sp">Its process is gone. The journal is whole; a worker or you may continue it.</p>` : html`<p class="t2 sp">It goes on from turn ${task.turns + 1} with all that it has.</p>`}
      ${task.status === "partial" && html`<button class="btn l" onClick=${() => void resume(task, { max_turns: task.turns + 10 })}>Resume with 10 more turns</button>`}<button class="btn p l" onClick=${() => void resume(task)}>Resume</button></div>`;
  }
  if (!can("steer")) return null;
  return html`<div class="steer">${receipts.last && html`<p class="rc"><${Icon} name=${receipts.last.receipt === "delivered" ? "check" : receipts.last.receipt === "missed" ? "failed" : "send"} />Last message: ${farOf(receipts.last)}</p>`}
    <form class="inp" onSubmit=${send}><textarea ref=${field} rows="1" data-key-for="s" aria-label=${`Steer ${task.agent} ${shortId(task.task_id)}`} placeholder=${`Steer ${task.agent}: it reads this before its next turn`} onKeyDown=${onKey}></textarea>
      <button class="btn" aria-label="Send"><${Icon} name="send" />Send</button></form>
    <div class="row under"><button class="btn q" data-key-for="x" disabled=${task.cancel_requested} onClick=${() => cancel(task, live)}><${Icon} name="stop" />${task.cancel_requested ? "Cancel requested" : "Cancel"} <${Key}>X<//></button><span class="sp"></span><span class="t3 s12 wide">Enter sends · Shift Enter breaks the line</span></div></div>`;
}

/** @param {string} id */
function useReceipts(id) {
  const messages = useResource(can("read") ? `/tasks/${id}/messages` : null, { watch: id, kinds: /steer|turn|finished/ });
  const items = /** @type {any[]} */ (messages.data?.items ?? messages.data ?? []);
  return { last: items.length > 0 ? items[0] : null, reload: messages.reload };
}
