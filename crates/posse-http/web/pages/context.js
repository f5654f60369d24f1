// Shared context of a session: keys, values, history.

import { Clock, Code, Empty, Loaded, useResource } from "../components.js";
import { Markdown } from "../markdown.js";
import { writeContext } from "../actions.js";
import { base, percent, plural, tokens } from "../format.js";
import { href, route } from "../route.js";
import { Top } from "../shell.js";
import { can } from "../store.js";
import { html, useState } from "../lib.js";

export function Context() {
  const { id, tab: key } = route.value;
  const sessions = useResource("/sessions?limit=100");
  const withKeys = /** @type {Session[]} */ ([...(sessions.data?.items ?? [])]).sort((a, b) => Number(b.keys > 0) - Number(a.keys > 0));
  const chosen = id || withKeys.find((s) => s.keys > 0)?.session_id || "";
  return html`<${Top} title="Shared context" back=${key ? href("context", id) : undefined} />
    <main id="main" class=${`sp2 ${key ? "chosen" : ""}`} tabindex="-1"><div class="lst"><${Loaded} of=${sessions} children=${() => withKeys.length === 0 ? html`<div class="pad"><${Empty} title="No session yet" text="Tasks of one session share keys: what one finds out, the others read. Each change keeps its author and its version." command="posse run 'Research the three options and compare them'" /></div>`
      : withKeys.map((session) => html`<${SessionKeys} key=${session.session_id} session=${session} open=${session.session_id === chosen} current=${key} />`)} /></div>
    ${chosen && key ? html`<${Value} key=${`${chosen}/${key}`} session=${chosen} name=${key} />` : html`<section class="dt none wide" aria-label="Value"><p class="t3">Choose a key to see its value, who wrote it, and every version before.</p></section>`}</main>`;
}

/** @param {{ session: Session, open: boolean, current: string }} props */
function SessionKeys({ session, open, current }) {
  const listing = useResource(open ? `/sessions/${session.session_id}/context` : null, { watch: "*", kinds: /tool_finished/ });
  const keys = /** @type {ContextValue[]} */ (listing.data?.keys ?? []);
  return html`<section><h2 class="lh"><a class="ell grow" href=${href("context", session.session_id)} aria-current=${open ? "true" : undefined}>${session.title || session.session_id}</a><span class="nowrap">${base(session.workspace)} · ${plural(session.keys, "key")}</span></h2>
    ${open && html`${listing.data ? html`<p class="calm pad s12">${tokens(listing.data.total_size_tokens)} of ${tokens(listing.data.limit_tokens)} tokens, ${percent(listing.data.total_size_tokens / Math.max(1, listing.data.limit_tokens))}</p>` : null}
      ${listing.data && keys.length === 0 ? html`<p class="calm pad">No key yet.</p>` : null}<ul class="its">${keys.map((key) => html`<li key=${key.key}><a class="hi" data-row href=${href("context", session.session_id, key.key)} aria-current=${key.key === current ? "true" : undefined}><span class="mono t3">v${key.version}</span><code class="ell">${key.key}</code><span class="w">${tokens(key.size_tokens)}</span></a></li>`)}</ul>`}</section>`;
}

/** @param {{ session: string, name: string }} props */
function Value({ session, name }) {
  const path = `/sessions/${session}/context/${encodeURIComponent(name)}`;
  const value = useResource(path, { watch: "*", kinds: /tool_finished/ });
  const history = useResource(`${path}/history`, { watch: "*", kinds: /tool_finished/ });
  const [editing, edit] = useState(false);
  return html`<section class="dt" aria-label=${`Value of ${name}`}><div class="dtb" tabindex="0" role="region" aria-label="Value and history"><${Loaded} of=${value} children=${(/** @type {ContextValue} */ data) => html`<p class="t3 s12">version ${data.version} · written by ${data.written_by} · <${Clock} at=${data.written_at} /> · ${tokens(data.size_tokens)} tokens</p><h2><code class="big">${data.key}</code></h2>
      ${editing ? html`<${Editor} session=${session} data=${data} done=${() => { edit(false); value.reload(); history.reload(); }} />` : html`<div class="claim val"><${Markdown} text=${data.value ?? ""} /></div>${can("write") ? html`<button class="btn" onClick=${() => edit(true)}>Write as operator</button>` : null}`}`} />
    <div class="bl"><h3>History</h3>${(history.data?.versions ?? []).map((/** @type {ContextValue} */ v) => html`<details key=${v.version} class="check"><summary class="ver"><span class="mono">v${v.version}</span><span>${v.action ?? "written"} by ${v.written_by}</span><${Clock} at=${v.written_at} /></summary>${v.value === null ? html`<p class="t3">Its value is no longer kept.</p>` : html`<${Code} text=${v.value} label="Copy this version" />`}</details>`)}</div></div></section>`;
}

/** @param {{ session: string, data: ContextValue, done: () => void }} props */
function Editor({ session, data, done }) {
  const submit = async (/** @type {SubmitEvent} */ e) => {
    e.preventDefault();
    const text = String(new FormData(/** @type {HTMLFormElement} */ (e.target)).get("value") ?? "");
    if (await writeContext(session, data.key, text, data.version)) done();
  };
  return html`<form class="editor" onSubmit=${submit}><textarea name="value" rows="8" aria-label=${`New value of ${data.key}`} autofocus>${data.value ?? ""}</textarea><div class="row acts"><button type="button" class="btn l" onClick=${done}>Keep the old value</button><button class="btn p l">Write version ${data.version + 1}</button></div></form>`;
}
