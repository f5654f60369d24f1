// Agents of the project with the doctor's report.

import { Code, Empty, Icon, Loaded, Says, useResource } from "../components.js";
import { Markdown } from "../markdown.js";
import { base, modelName, plural, visible } from "../format.js";
import { href, route } from "../route.js";
import { Top } from "../shell.js";
import { html, useState } from "../lib.js";

export function Agents() {
  const { id } = route.value;
  const agents = useResource("/agents");
  const [words, setWords] = useState("");
  return html`<${Top} title=${agents.data ? html`Agents <span class="t3 up">of ${base(agents.data.workspace)}</span>` : "Agents"} back=${id ? "#/agents" : undefined} />
    <main id="main" class=${`sp2 ${id ? "chosen" : ""}`} tabindex="-1"><div class="lst"><div class="tool"><label class="grow"><span class="vh">Search agents</span><input class="field" type="search" data-search placeholder="Filter by name or description" value=${words} onInput=${(/** @type {any} */ e) => setWords(e.target.value)} /></label></div>
      <${Loaded} of=${agents} children=${(/** @type {{ items: Agent[] }} */ data) => data.items.length === 0 ? html`<div class="pad"><${Empty} title="No agent yet" text="An agent is a file with a name, a model, tools and a prompt. Make one:" command="posse agents new researcher" /></div>`
        : html`<${Report} items=${data.items} /><ul class="its">${data.items.filter((a) => `${a.name} ${a.description}`.toLowerCase().includes(words.toLowerCase())).map((agent) => html`<${Row} key=${agent.name} agent=${agent} current=${agent.name === id} />`)}</ul>`} /></div>
    ${id ? html`<${One} key=${id} name=${id} />` : html`<section class="dt none wide" aria-label="Agent"><p class="t3">Choose an agent to see its prompt, its tools and what the doctor found.</p></section>`}</main>`;
}

/** @param {{ items: Agent[] }} props */
function Report({ items }) {
  const usable = items.filter((a) => a.state === "ready").length;
  const errors = items.reduce((n, a) => n + a.remarks.filter((r) => r.severity === "error").length, 0);
  const warnings = items.reduce((n, a) => n + a.remarks.filter((r) => r.severity === "warning").length, 0);
  return html`<p class="calm pad">${usable} of ${plural(items.length, "agent")} ready${errors > 0 ? ` · ${plural(errors, "error")}` : ""}${warnings > 0 ? ` · ${plural(warnings, "warning")}` : ""}${errors + warnings === 0 ? " · the doctor found nothing" : ""}</p>`;
}

/** @param {Agent} agent */
const signOf = (agent) => (agent.state !== "ready" ? "failed" : agent.remarks.some((r) => r.severity !== "note") ? "partial" : "completed");

/** @param {{ agent: Agent, current: boolean }} props */
function Row({ agent, current }) {
  const sign = signOf(agent);
  return html`<li><a class="it" data-row href=${href("agents", agent.name)} aria-current=${current ? "true" : undefined}><span class=${`st c-${sign}`}><${Icon} name=${sign} label=${sign === "completed" ? "ready" : sign === "partial" ? "ready, with remarks" : agent.state.replace(/_/g, " ")} /></span><span class="a ell">${agent.name}</span><span class="w">${modelName(agent.model)}</span><span class="d">${visible(agent.description)}${agent.remarks.map((r) => html`<br /><span class=${r.severity === "error" ? "c-failed" : "t3"}><${Says} text=${r.text} /></span>`)}</span></a></li>`;
}

/** @param {{ name: string }} props */
function One({ name }) {
  const one = useResource(`/agents/${encodeURIComponent(name)}`);
  return html`<section class="dt" aria-label=${`Agent ${name}`}><div class="dtb" tabindex="0" role="region" aria-label="Definition"><${Loaded} of=${one} children=${(/** @type {{ agent: Agent, system_prompt: string }} */ data) => html`<p class="t3 s12">${data.agent.source}</p><h2>${data.agent.name}</h2><p class="t2 claim">${visible(data.agent.description)}</p>
    <dl class="facts lead"><div><dt>State</dt><dd>${data.agent.state.replace(/_/g, " ")}</dd></div><div><dt>Model</dt><dd class="ell">${data.agent.model ?? "none"}</dd></div><div><dt>Turns</dt><dd>${data.agent.max_turns ?? "as its caller"}</dd></div><div><dt>Tools</dt><dd class="ell" title=${data.agent.tools.join(", ")}>${data.agent.tools.length}</dd></div></dl>
    <div class="bl"><h3>Doctor</h3>${data.agent.remarks.length === 0 ? html`<p class="t2"><span class="st c-completed"><${Icon} name="completed" /></span> Nothing to remark.</p>` : data.agent.remarks.map((r) => html`<div class="ev"><span class=${`st c-${r.severity === "error" ? "failed" : "partial"}`}><${Icon} name=${r.severity === "error" ? "failed" : "partial"} label=${r.severity} /></span><span><${Says} text=${r.text} />${r.hint ? html`<br /><span class="t3"><${Says} text=${r.hint} /></span>` : null}</span><span class="s">${r.line === null ? "" : `line ${r.line}`}</span></div>`)}</div>
    <div class="bl"><h3>Tools</h3><p class="chips">${data.agent.tools.map((tool) => html`<span class="chip lease">${tool}</span>`)}</p></div><div class="bl"><h3>System prompt</h3><div class="claim"><${Markdown} text=${data.system_prompt} /></div><details class="check"><summary class="link">As it is in the file</summary><${Code} text=${data.system_prompt} label="Copy the prompt" /></details></div>`} /></div></section>`;
}
