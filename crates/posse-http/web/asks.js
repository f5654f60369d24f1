// What waits for a person: approvals and questions, with their buttons.

import { answer, decide, denyWithNote, pending, reply } from "./actions.js";
import { Countdown, Elapsed, Key, Says, StateIcon } from "./components.js";
import { base, firstLine, shortId, target, visible } from "./format.js";
import { href } from "./route.js";
import { approvals, can, now, tasks } from "./store.js";
import { cx, html } from "./lib.js";

/** A longer command is approved on its own page, where all of it is on the screen. */
const COMMAND_MAX = 400;

/** @typedef {{ id: string, task: Task, approval: Approval | null, question: Question | null, asked: string, deadline: string | null }} Ask */

/**
 * Lists what waits for a person, the oldest first.
 * @param {Iterable<Task>} list @returns {Ask[]}
 */
export function asksOf(list) {
  /** @type {Ask[]} */
  const asks = [];
  const open = [...approvals.value.values()];
  for (const task of list) {
    for (const approval of open.filter((a) => a.task_id === task.task_id)) {
      asks.push({ id: approval.approval, task, approval, question: null, asked: approval.asked_at, deadline: approval.deadline_at });
    }
    if (task.question) asks.push({ id: `${task.task_id}:${task.question.id}`, task, approval: null, question: task.question, asked: task.activity?.since ?? task.updated_at, deadline: task.activity?.until ?? null });
    else if (task.approval && !open.some((a) => a.task_id === task.task_id)) asks.push({ id: task.approval, task, approval: null, question: null, asked: task.activity?.since ?? task.updated_at, deadline: null });
  }
  return asks.sort((a, b) => a.asked.localeCompare(b.asked));
}

export function allAsks() {
  return asksOf(tasks.values());
}

/** @param {Approval} approval */
export const commandOf = (approval) => target(approval.arguments) || approval.arguments;

/** @type {Record<string, string>} */
const TITLES = { bash: "Run a command", write: "Write a file", edit: "Edit a file", fetch: "Open an address", subagent: "Delegate a task" };

/** Titles a call by its tool; never by words of the model. @param {string} tool */
export const titleOf = (tool) => TITLES[tool] ?? `Call ${tool}`;

/** @param {{ approval: Approval }} props */
export function WithoutAnswer({ approval }) {
  if (Date.parse(approval.deadline_at) < now.value) return html`The deadline has passed; it is ${approval.default === "approve" ? "approved" : "denied"} when a process drives the task`;
  return html`Without an answer: ${approval.default === "approve" ? "approved" : "denied"} <${Countdown} at=${approval.deadline_at} />`;
}

/** @param {{ approval: Approval, first?: boolean, scope?: AnswerScope, large?: boolean }} props */
export function DecisionButtons({ approval, first, scope = "once", large }) {
  if (!can("approve")) return null;
  const busy = pending.value.has(approval.approval);
  const size = large ? "l" : "";
  const word = scope === "once" ? "Approve once" : `Approve for the ${scope}`;
  return html`<button class=${cx("btn", size)} data-key-for="d" disabled=${busy} onClick=${() => void decide(approval, "deny")}>Deny <${Key}>D<//></button>
    ${!large && html`<button hidden data-key-for="shift-d" onClick=${() => denyWithNote(approval)}>Deny with a note</button>`}
    <button class=${cx("btn", size, first && "p", "yes")} data-key-for="a" disabled=${busy} onClick=${() => void decide(approval, "approve", scope)}>${word} <${Key}>A<//></button>`;
}

/** @param {{ question: Question, first?: boolean }} props */
export function AnswerButtons({ question, first }) {
  if (!can("steer")) return null;
  const options = question.options.slice(0, 9);
  return html`<button class=${cx("btn", options.length > 0 ? "q" : first && "p")} data-key-for="r" onClick=${() => reply(question)}>Reply… <${Key}>R<//></button>
    ${options.map((option, i) => html`<button key=${option} class=${cx("btn ell", first && i === 0 && "p")} data-key-for=${String(i + 1)} title=${visible(option)} onClick=${() => void answer(question, option)}>${visible(option)} <${Key}>${i + 1}<//></button>`)}`;
}

/** @param {{ ask: Ask, first: boolean }} props */
export function AskRow({ ask, first }) {
  const { task, approval, question } = ask;
  const command = approval ? commandOf(approval) : "";
  const whole = command.length <= COMMAND_MAX;
  return html`<li class="ask" data-row data-ask=${ask.id} tabindex="-1">
    <${StateIcon} state="person" />
    <div class="who"><a class="b" href=${href("tasks", task.task_id)}>${task.agent}</a> <span>${task.parent ? html`<span class="mono">${shortId(task.task_id)}</span> · ` : ""}${base(task.workspace)} · <${Elapsed} from=${ask.asked} /></span></div>
    <div class="q">${approval ? html`<p><b class="verb">${titleOf(approval.tool)}</b> <code>${visible(whole ? command : `${command.slice(0, COMMAND_MAX)}…`)}</code></p><p class="sub"><${Says} text=${firstLine(approval.why)} />. <${WithoutAnswer} approval=${approval} /></p>`
      : question ? html`<p>${visible(question.question)}</p><p class="sub">${ask.deadline ? html`Without an answer it goes on <${Countdown} at=${ask.deadline} />` : html`Asked <${Ago} at=${ask.asked} />; it waits for the answer`}</p>`
      : html`<p>Waits for a person; the request cannot be read</p>`}</div>
    <div class="acts">${approval ? html`<a class="btn q opt" href=${href("approvals", approval.approval)}>Review <${Key}>↵<//></a>${whole && html`<${DecisionButtons} approval=${approval} first=${first} />`}`
      : question ? html`<${AnswerButtons} question=${question} first=${first} />` : null}</div></li>`;
}

/** @param {{ at: string }} props */
const Ago = ({ at }) => html`<${Elapsed} from=${at} to=${new Date(Math.max(now.value, Date.parse(at))).toISOString()} /> ago`;
