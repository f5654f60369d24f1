// Approvals and questions: what waits, with consequences, scope and history.

import { AnswerButtons, DecisionButtons, WithoutAnswer, allAsks, commandOf, titleOf } from "../asks.js";
import { answer, denyWithNote } from "../actions.js";
import { Clock, Code, CopyButton, Countdown, Elapsed, Empty, Icon, Key, Loaded, Says, StateIcon, Switch, useResource } from "../components.js";
import { Diff } from "../diff.js";
import { base, shortId, target, visible } from "../format.js";
import { href, route } from "../route.js";
import { Top } from "../shell.js";
import { approvals, can, loaded, revision, tasks } from "../store.js";
import { html, useEffect, useState } from "../lib.js";

/** @type {[AnswerScope, string, string][]} */
const SCOPES = [["once", "Once", "this call only"], ["task", "This task", "same rules, this task"], ["subtree", "Subtree", "this task and below it"], ["session", "Session", "all tasks of its session"]];

export function Approvals() {
  void revision.value;
  const { id, params } = route.value;
  const asks = allAsks();
  const history = useResource("/approvals?limit=100", { watch: "*", kinds: /approval/ });
  const answered = /** @type {Approval[]} */ (history.data?.items ?? []).filter((a) => a.status !== "open");
  const ask = asks.find((a) => a.id === id) ?? (id === "" ? asks[0] : undefined);
  const past = ask ? undefined : answered.find((a) => a.approval === id);
  const index = ask ? asks.indexOf(ask) : -1;
  const showHistory = params.get("show") === "history";
  return html`<${Top} title=${id && index >= 0 ? html`<span class="wide">Approvals</span><span class="phone">${index + 1} of ${asks.length}</span>` : "Approvals"} back=${id ? "#/approvals" : undefined}>
      <${Switch} label="Which" value=${showHistory ? "history" : "waiting"} options=${[["waiting", html`Waiting ${asks.length || ""}`, href("approvals")], ["history", "History", href("approvals", "", "", { show: "history" })]]} /><//>
    <main id="main" class=${`sp2 ${id ? "chosen" : ""}`} tabindex="-1"><div class="lst">${showHistory ? null : html`<h2 class="lh">Waiting <span>the oldest first</span></h2>
        ${!loaded.value ? null : asks.length === 0 ? html`<div class="pad"><${Empty} title="Nothing needs you" text="Calls outside a grant, and questions of agents, appear here with their deadline. A task started with this mode asks before it changes something:" command="posse run --mode ask 'Tidy up the imports'" /></div>`
        : html`<ul class="its">${asks.map((a) => html`<${Item} key=${a.id} ask=${a} current=${a === ask} />`)}</ul>`}`}
      <h2 class="lh">Answered <span>${answered.length}${history.data?.next_cursor ? "+" : ""}</span></h2>
      ${answered.length === 0 ? html`<p class="calm pad">Each answer stays here with who gave it, for what, and when.</p>` : html`<ul class="its">${answered.map((a) => html`<${Past} key=${a.approval} approval=${a} current=${a === past} />`)}</ul>`}</div>
    ${ask?.approval ? html`<${ApprovalCard} key=${ask.id} approval=${ask.approval} history=${answered} />` : ask?.question ? html`<${QuestionCard} key=${ask.id} question=${ask.question} deadline=${ask.deadline} />`
    : past ? html`<${ApprovalCard} key=${past.approval} approval=${past} history=${answered} />`
    : id ? html`<${Elsewhere} id=${id} history=${answered} />` : html`<section class="dt none wide" aria-label="Detail"><p class="t3">Choose a line to see the exact call, why it asks, and what an answer covers.</p></section>`}</main>`;
}

/** An approval that is not in the lists. @param {{ id: string, history: Approval[] }} props */
function Elsewhere({ id, history }) {
  const one = useResource(id.includes(":") ? null : `/approvals/${id}`);
  if (id.includes(":")) return html`<section class="dt none" aria-label="Detail"><p class="t3">This question is closed.</p></section>`;
  return html`<section class="dt" aria-label="Detail"><${Loaded} of=${one} children=${(/** @type {Approval} */ a) => html`<${ApprovalCard} approval=${a} history=${history} />`} /></section>`;
}

/** @param {{ ask: import("../asks.js").Ask, current: boolean }} props */
function Item({ ask, current }) {
  const { task, approval, question } = ask;
  return html`<li><a class="it" href=${href("approvals", ask.id)} data-row data-ask=${ask.id} aria-current=${current ? "true" : undefined}><${StateIcon} state="person" /><span class="a ell">${approval ? `${titleOf(approval.tool)}: ${visible(commandOf(approval))}` : visible(question?.question ?? "waits for a person")}</span>
    <span class="w">${ask.deadline ? html`<${Countdown} at=${ask.deadline} prefix="" />` : "no deadline"}</span><span class="d">${task.agent} <span class="mono">${shortId(task.task_id)}</span> · ${base(task.workspace)}<br />${approval ? `Approval. Default: ${approval.default}` : "Question"}</span></a></li>`;
}

/** @param {{ approval: Approval, current: boolean }} props */
function Past({ approval, current }) {
  const word = { approved: "completed", denied: "cancelled", closed: "queued", open: "person" }[approval.status];
  const by = approval.answer ? `${approval.answer.by} ${approval.status}` : `not answered: ${approval.closed ?? "closed"}`;
  return html`<li><a class="hi" href=${href("approvals", approval.approval, "", { show: "history" })} data-row aria-current=${current ? "true" : undefined}><span class=${`st c-${word}`}><${Icon} name=${word} label=${approval.status} /></span>
    <span class="ell">${visible(by)} ${approval.tool} ${visible(target(approval.arguments))} for ${shortId(approval.task_id)}</span><span class="w"><${Clock} at=${approval.answer?.answered_at ?? approval.deadline_at} /></span></a></li>`;
}

/** @param {{ approval: Approval, history: Approval[] }} props */
function ApprovalCard({ approval, history }) {
  const [scope, setScope] = useState(/** @type {AnswerScope} */ ("once"));
  const [armed, setArmed] = useState(false);
  useEffect(() => setArmed(false), [scope]);
  const open = approval.status === "open" && approvals.value.has(approval.approval);
  const command = commandOf(approval);
  const task = tasks.get(approval.task_id);
  const same = history.filter((a) => a.approval !== approval.approval && a.tool === approval.tool && a.arguments === approval.arguments);
  return html`<section class="dt" aria-label="Approval" data-keys><div class="dtb" tabindex="0" role="region" aria-label="The call">
      <div class="row"><nav class="path ell" aria-label="Asked by">${approval.path.map((id) => html`<a href=${href("tasks", id)}>${tasks.get(id)?.agent ?? shortId(id)}</a> <${Icon} name="right" />`)} <a class="b" href=${href("tasks", approval.task_id)}>${approval.agent} <span class="mono">${shortId(approval.task_id)}</span></a></nav><span class="sp"></span>
        ${open ? html`<span class="chip c-person"><${Icon} name="person" />waiting <${Elapsed} from=${approval.asked_at} /></span>` : html`<span class=${`chip c-${approval.status === "approved" ? "completed" : "cancelled"}`}><${Icon} name=${approval.status === "approved" ? "completed" : "cancelled"} />${approval.status === "open" ? "answered" : approval.status}</span>`}</div>
      <h2>${titleOf(approval.tool)}</h2>
      <div class="cmd"><${Icon} name="tool" /><pre class="wrap" tabindex="0">${visible(command)}</pre><span class="t3 s12 nowrap">${approval.tool} · step ${approval.call}</span><${CopyButton} text=${command} label="Copy the command" /></div>
      <${Shown} shown=${approval.shown} />
      <div class="two"><div class="bl"><h3>What is known <span>known from</span></h3><${Facts} approval=${approval} task=${task} /></div>
        <div class="bl"><h3>Exact arguments</h3><${Code} text=${approval.arguments} label="Copy the arguments" /></div></div>
      ${open && can("approve") ? html`<fieldset class="fs"><legend>If you approve, it counts for</legend><div class="sc">${SCOPES.map(([name, word, says]) => html`<label key=${name} class=${scope === name ? "on" : ""}><input type="radio" name="scope" value=${name} checked=${scope === name} onChange=${() => setScope(name)} /><b>${word}</b><span>${says}</span></label>`)}</div>
        ${scope !== "once" && approval.covers.length > 0 ? html`<p class="s12 t2 covers">Covers ${approval.covers.map((c, i) => html`${i > 0 ? ", " : ""}<code>${visible(c)}</code>`)}</p>` : null}</fieldset>` : null}
      <div class="two"><div class="bl"><h3>Who waits</h3><p class="t2">${waiting(approval, task)}</p></div>
        <div class="bl"><h3>${open ? "Without an answer" : "Answer"}</h3><p class="t2">${open ? html`<${WithoutAnswer} approval=${approval} />, at <${Clock} at=${approval.deadline_at} />. The agent is told, and goes on.` : approval.answer ? html`${approval.status} by ${visible(approval.answer.by)} for ${approval.answer.scope}, <${Clock} at=${approval.answer.answered_at} />${approval.answer.reason ? html`<blockquote>${visible(approval.answer.reason)}</blockquote>` : null}` : (approval.closed ?? "closed")}</p></div></div>
      <div class="bl"><h3>Same call before</h3>${same.length === 0 ? html`<p class="t3">Not among the last 100 answers.</p>` : same.slice(0, 5).map((a) => html`<p class="t2" key=${a.approval}><${Clock} at=${a.answer?.answered_at} /> · ${a.status} by ${visible(a.answer?.by ?? "–")}${a.answer?.reason ? ` · “${visible(a.answer.reason)}”` : ""}</p>`)}</div></div>
    ${open ? html`<footer class="ft">${can("approve") ? html`<${ScopedButtons} approval=${approval} scope=${scope} armed=${armed} arm=${() => setArmed(true)} /><button class="btn q l wide" data-key-for="shift-d" onClick=${() => denyWithNote(approval)}>Deny with a note <${Key}>⇧D<//></button>` : html`<p class="t3">This token cannot answer.</p>`}
      <span class="sp"></span><a class="btn q l wide" data-key-for="t" href=${href("tasks", approval.task_id, "transcript", { call: approval.call })}>Open transcript <${Key}>T<//></a></footer>` : null}</section>`;
}

/** A scope wider than once asks for a second press. @param {{ approval: Approval, scope: AnswerScope, armed: boolean, arm: () => void }} props */
function ScopedButtons({ approval, scope, armed, arm }) {
  if (scope === "once" || armed) return html`<${DecisionButtons} approval=${approval} scope=${scope} first=${true} large=${true} />`;
  return html`<button class="btn l p yes" data-key-for="a" onClick=${arm}>Approve for the ${scope}… <${Key}>A A<//></button>`;
}

/** The tool's own description: a diff, a text, or fields. @param {{ shown: any }} props */
function Shown({ shown }) {
  if (shown === null || shown === undefined) return null;
  const diff = typeof shown === "string" && shown.includes("\n@@") ? shown : typeof shown.diff === "string" ? shown.diff : null;
  if (diff) return html`<div class="step shown"><${Diff} patch=${diff} /></div>`;
  const text = typeof shown === "string" ? shown : (shown.text ?? JSON.stringify(shown, null, 1));
  return html`<${Code} text=${text} />`;
}

/** Facts with their source. What no source tells is not stated. @param {{ approval: Approval, task: Task | undefined }} props */
function Facts({ approval, task }) {
  const rows = [["shield", html`<${Says} text=${approval.why} />`, "rule"]];
  if (task) rows.push(["file", html`Works in <code>${visible(task.workspace)}</code>`, "task"]);
  if (approval.covers.length > 0) rows.push(["lock", html`A wider answer covers ${approval.covers.map((c, i) => html`${i > 0 ? ", " : ""}<code>${visible(c)}</code>`)}`, "grant"]);
  if (approval.shown === null || approval.shown === undefined) rows.push(["unknown", "Effects not known: no rule or sandbox describes this call", ""]);
  return html`<ul class="cq">${rows.map(([icon, text, from]) => html`<li><${Icon} name=${icon} class="t3" /><span>${text}</span><i>${from}</i></li>`)}</ul>`;
}

/** @param {Approval} approval @param {Task | undefined} task */
function waiting(approval, task) {
  const up = approval.path.map((id) => tasks.get(id)?.agent ?? shortId(id)).reverse();
  const siblings = task?.parent ? [...tasks.values()].filter((t) => t.parent === task.parent && t !== task && t.group === "working").length : 0;
  const others = siblings > 0 ? ` ${siblings === 1 ? "1 sibling goes" : `${siblings} siblings go`} on.` : "";
  return up.length > 0 ? `${approval.agent}, and ${up.join(", then ")} for its result.${others}` : `${approval.agent}; nothing else waits for it.`;
}

/** @param {{ question: Question, deadline: string | null }} props */
function QuestionCard({ question, deadline }) {
  const task = tasks.get(question.task_id);
  const submit = (/** @type {SubmitEvent} */ e) => {
    e.preventDefault();
    const text = String(new FormData(/** @type {HTMLFormElement} */ (e.target)).get("answer") ?? "").trim();
    if (text) void answer(question, text);
  };
  return html`<section class="dt" aria-label="Question" data-keys><div class="dtb"><div class="row"><nav class="path" aria-label="Asked by"><a class="b" href=${href("tasks", question.task_id)}>${task?.agent ?? "task"} <span class="mono">${shortId(question.task_id)}</span></a></nav><span class="sp"></span><span class="chip c-person"><${Icon} name="person" />needs you</span></div>
      <h2>${visible(question.question)}</h2><p class="t2">${task ? visible(task.title) : ""}</p>
      ${can("steer") ? html`<div class="acts row wrap opts-row"><${AnswerButtons} question=${question} first=${true} /></div>
      <form class="inp" onSubmit=${submit}><input name="answer" aria-label="Answer in your own words" placeholder="Answer in your own words" autocomplete="off" /><button class="btn">Send</button></form>` : html`<p class="t3">This token cannot answer.</p>`}
      <div class="bl"><h3>Without an answer</h3><p class="t2">${deadline ? html`It goes on <${Countdown} at=${deadline} />.` : "It waits. Nothing is decided for you."}</p></div></div></section>`;
}
