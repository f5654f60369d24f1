// The claim beside its evidence. No claim is taken apart: the text stands as the agent wrote it, and the facts stand next to it.

import { Code, Icon, Took, capital } from "../components.js";
import { Markdown } from "../markdown.js";
import { href } from "../route.js";
import { plural, visible } from "../format.js";
import { html } from "../lib.js";

/** @param {{ detail: Detail, brief?: boolean }} props */
export function Evidence({ detail, brief }) {
  const { outcome, failed_calls: failed, task } = detail;
  if (!outcome) return html`<section class="sec"><h3>Claims and evidence</h3><p class="t2">The task has not ended. Its answer stands here then, beside the commands that checked it, the files that it changed, and the calls that failed or are in doubt.</p><${Failed} failed=${failed} id=${task.task_id} /></section>`;
  const checks = outcome.evidence;
  const passed = checks.filter((check) => check.passed).length;
  const head = checks.length > 0 ? `${passed} of ${checks.length} checks passed` : "no command checked it";
  return html`<section class="sec"><h3>Evidence <span>${head}</span></h3>
    ${checks.map((check) => html`<${Check} check=${check} brief=${brief} />`)}
    ${checks.length === 0 && html`<p class="ev"><${Sign} state="doubt" /><span>No command checked this answer</span><span class="s">verify was not asked for</span></p>`}
    ${outcome.changed_files.length > 0 ? html`<p class="ev"><${Sign} state="completed" /><span>${plural(outcome.changed_files.length, "file")} changed</span><a class="s link" href=${href("tasks", task.task_id, "changes")}>diff</a></p>` : html`<p class="ev"><${Sign} state="cancelled" /><span>It changed no file itself</span></p>`}
    ${outcome.in_doubt.map((call) => html`<p class="ev"><${Sign} state="doubt" /><span><code>${call.tool} ${visible(call.about)}</code> may or may not have happened; it was not repeated</span><a class="s link" href=${href("tasks", task.task_id, "transcript", { call: call.call })}>step ${call.call}</a></p>`)}
    ${outcome.schema_errors.map((error) => html`<p class="ev"><${Sign} state="failed" /><span>${visible(error)}</span><span class="s">output schema</span></p>`)}
    ${outcome.refused_tools.length > 0 && html`<p class="ev"><${Sign} state="cancelled" /><span>Refused: ${outcome.refused_tools.join(", ")}</span></p>`}
    ${outcome.warnings.map((warning) => html`<p class="ev"><${Sign} state="partial" /><span>${visible(warning)}</span></p>`)}<${Failed} failed=${failed} id=${task.task_id} /></section>
    <section class="sec"><h3>${outcome.status === "completed" ? "What it claims" : capital(outcome.status)} <span>${outcome.status === "completed" ? "in the agent's words" : outcome.reason.replace(/_/g, " ")}</span></h3>
      ${outcome.detail && html`<p class="t2">${visible(outcome.detail)}</p>`}${outcome.text ? html`<blockquote class="claim"><${Markdown} text=${brief ? outcome.text.slice(0, 4000) : outcome.text} /></blockquote>` : html`<p class="t3">It left no text.</p>`}
      ${outcome.text_chars > outcome.text.length && html`<p class="t3 s12">${plural(outcome.text.length, "character")} of ${outcome.text_chars.toLocaleString("en-US")}; the transcript has the whole.</p>`}</section>`;
}

/** @param {{ state: string }} props */
const Sign = ({ state }) => html`<span class=${`st c-${state}`}><${Icon} name=${state} label=${{ completed: "proven", doubt: "no evidence", failed: "contradicted" }[state] ?? state} /></span>`;

/** @param {{ check: Evidence, brief?: boolean }} props */
function Check({ check, brief }) {
  const line = html`<${Sign} state=${check.passed ? "completed" : "failed"} /><span class="ell"><code>${visible(check.command)}</code></span><span class="s">${check.passed ? "" : `${check.ending} · `}<${Took} ms=${check.duration_ms} /></span>`;
  if (brief || check.output === "") return html`<p class="ev">${line}</p>`;
  return html`<details class="check" open=${!check.passed}><summary class="ev">${line}</summary><${Code} text=${check.output} label="Copy the output" /></details>`;
}

/** @param {{ failed: FailedCall[], id: string }} props */
const Failed = ({ failed, id }) => failed.slice(-20).map((call) =>
  html`<a key=${call.call} class="ev" href=${href("tasks", id, "transcript", { call: call.call })}><${Sign} state=${call.refused ? "cancelled" : "failed"} /><span class="ell">${call.tool}${call.why ? `: ${visible(call.why)}` : ""}</span><span class="s">${call.refused ? "refused" : "failed"} · step ${call.call}</span></a>`);
