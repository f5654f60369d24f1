// Leases: who holds which files, and who waits.

import { releaseLease, dialog } from "../actions.js";
import { Clock, Countdown, Empty, Icon, Loaded, useResource } from "../components.js";
import { base, shortId } from "../format.js";
import { href } from "../route.js";
import { Top } from "../shell.js";
import { can, revision, tasks } from "../store.js";
import { html } from "../lib.js";

export function Leases() {
  void revision.value;
  const leases = useResource("/leases", { watch: "*", kinds: /started|waiting|finished|interrupted|resumed/ });
  const waiting = [...tasks.values()].filter((task) => task.activity?.kind === "lease");
  return html`<${Top} title="Leases" /><main id="main" class="body" tabindex="-1"><${Loaded} of=${leases} children=${(/** @type {{ items: Lease[] }} */ data) => data.items.length === 0 && waiting.length === 0
      ? html`<${Empty} title="Nobody holds a file" text="A task that names its write paths holds them alone until it ends; who waits for them stands beside. Ask for it in the task:" command="posse run 'Give each of two subagents its own directory to write'" />`
      : html`<div class="lt" role="table" aria-label="Leases"><div class="lr cols" role="row"><span role="columnheader">Holder</span><span role="columnheader">Files</span><span role="columnheader" class="wide">Since</span><span role="columnheader">Expires</span><span role="columnheader"><span class="vh">Actions</span></span></div>
        ${data.items.map((lease) => html`<${Row} key=${lease.token + lease.task_id} lease=${lease} reload=${leases.reload} />`)}</div>
        ${waiting.length > 0 && html`<section><h2 class="gh">Waiting <span class="cnt">${waiting.length}</span></h2>${waiting.map((task) => html`<p class="ev" key=${task.task_id}><span class="st c-queued"><${Icon} name="queued" label="waits" /></span><a class="link" href=${href("tasks", task.task_id)}>${task.agent} ${shortId(task.task_id)}</a><span class="s">${task.activity?.summary}</span></p>`)}</section>`}`} /></main>`;
}

/** @param {{ lease: Lease, reload: () => void }} props */
function Row({ lease, reload }) {
  const dead = lease.state !== "held";
  const release = () => {
    if (lease.state === "dead") return void releaseLease(lease.task_id, false).then(reload);
    dialog.value = { title: `Take the lease from ${lease.agent} ${shortId(lease.task_id)}?`, text: "Its next write fails. Another task may then write the same files.", verb: "Take the lease away", danger: true, run: () => void releaseLease(lease.task_id, true).then(reload) };
  };
  return html`<div class="lr" role="row" data-row><span role="cell"><a class="b" href=${href("tasks", lease.task_id)}>${lease.agent} <span class="mono t3">${shortId(lease.task_id)}</span></a><br /><span class="t3 s12">${base(lease.workspace)} · epoch ${lease.epoch}</span></span>
    <span role="cell" class="chips">${lease.paths.map((path) => html`<span class="chip lease"><${Icon} name="lock" />${path}</span>`)}</span><span role="cell" class="t2 wide"><${Clock} at=${lease.acquired_at} /></span>
    <span role="cell">${dead ? html`<span class="chip c-interrupted"><${Icon} name="interrupted" />${lease.state === "dead" ? "its process is gone" : "no heartbeat"}</span>` : html`<${Countdown} at=${lease.expires_at} calm=${true} /> <span class="t3 s12">unless renewed</span>`}</span>
    <span role="cell" class="num">${can("write") ? html`<button class="btn" onClick=${release}>Release</button>` : null}</span></div>`;
}
