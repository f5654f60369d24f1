// Changes of a tree: every file, who changed it, the diff; apply or discard a worktree.

import { Empty, Icon, Loaded, Skeleton, StateIcon, useResource } from "../components.js";
import { applyChanges, discardChanges } from "../actions.js";
import { Diff } from "../diff.js";
import { TreePicker } from "./trees.js";
import { TreeViews, crumbsOf, useRoot } from "./tasks.js";
import { href, route } from "../route.js";
import { plural, shortId, visible } from "../format.js";
import { hasEnded } from "../state.js";
import { Top } from "../shell.js";
import { can, tasks } from "../store.js";
import { html, useState } from "../lib.js";

export function ChangesPage() {
  const { id } = route.value;
  const { root, error } = useRoot(id);
  return html`<${Top} title=${root ? root.title : "Changes"} crumbs=${root ? crumbsOf(root, root) : []} back=${id ? "#/changes" : undefined} />
    <main id="main" class="fill" tabindex="-1">${root ? html`<div class="tool"><${TreeViews} id=${root.task_id} page="changes" /></div><div class="body"><${TaskChanges} id=${root.task_id} /></div>`
    : error ? html`<div class="body"><${Loaded} of=${{ data: null, error, reload: () => {} }} children=${() => null} /></div>` : id ? html`<div class="body"><${Skeleton} /></div>` : html`<${TreePicker} page="changes" says="Choose a tree to see every file that it touched, who changed it, and the diff." />`}</main>`;
}

/** @param {{ id: string }} props */
export function TaskChanges({ id }) {
  const changes = useResource(`/tasks/${id}/diff`, { watch: id, kinds: /tool_finished|finished/ });
  return html`<${Loaded} of=${changes} children=${(/** @type {Changes} */ data) => html`<${Files} data=${data} reload=${changes.reload} />`} />`;
}

/** @param {{ data: Changes, reload: () => void }} props */
function Files({ data, reload }) {
  const task = tasks.get(data.task_id);
  const [all, setAll] = useState(false);
  if (data.files.length === 0 && data.notes.length === 0) return html`<${Empty} title="No file changed" text="Files that this task or one below it writes are listed here, with the diff and who wrote them. Undo them later with:" command=${`posse tasks undo ${data.task_id}`} />`;
  const added = data.files.reduce((n, f) => n + (f.added ?? 0), 0), removed = data.files.reduce((n, f) => n + (f.removed ?? 0), 0);
  const shown = all ? data.files : data.files.slice(0, 100);
  return html`<div class="row chh"><h2 class="gh">${plural(data.files.length, "file")} <span class="plus">+${added}</span> <span class="minus">−${removed}</span></h2><span class="sp"></span>
      ${data.worktree && data.applied ? html`<span class="chip c-completed"><${Icon} name="completed" />applied</span>` : null}
      ${data.worktree && !data.applied && can("write") && (!task || hasEnded(task)) ? html`<button class="btn l" onClick=${() => discardChanges(data.task_id, reload)}>Discard</button><button class="btn p l" onClick=${() => void applyChanges(data.task_id).then(reload)}>Apply ${plural(data.files.length, "file")} to the project</button>` : null}</div>
    ${data.worktree && !data.applied ? html`<p class="calm">These changes are in a worktree of their own. The project does not have them until they are applied${task && !hasEnded(task) ? ", once the task has ended" : ""}.</p>` : null}
    ${data.notes.map((note) => html`<p class="noted"><${Icon} name="doubt" class="c-doubt" /><span>${visible(note)}</span></p>`)}
    ${shown.map((file) => html`<${FileView} key=${file.path} file=${file} open=${shown.length <= 12} />`)}
    ${shown.length < data.files.length && html`<button class="btn q" onClick=${() => setAll(true)}>Show all ${data.files.length} files</button>`}`;
}

/** @param {{ file: ChangedFile, open: boolean }} props */
function FileView({ file, open: first }) {
  const [open, setOpen] = useState(first);
  return html`<div class="step" data-row><button class="sh" aria-expanded=${open} onClick=${() => setOpen(!open)}><${Icon} name=${open ? "down" : "right"} />${file.gap === "in_doubt" ? html`<${StateIcon} state="doubt" />` : html`<${Icon} name="file" />`}<b class="s12">${file.change}</b><code class="ell" title=${file.path}>${visible(file.path)}</code>
      <span class="f">${file.added !== null && html`<span class="plus">+${file.added}</span> `}${file.removed !== null && html`<span class="minus">−${file.removed}</span> `}</span></button>
    ${open && html`<p class="by">${file.tasks.length > 0 ? html`by ${file.tasks.map((id, i) => html`${i > 0 ? ", " : ""}<a class="link" href=${href("tasks", id)}>${tasks.get(id)?.agent ?? "task"} ${shortId(id)}</a>`)}` : "by nobody that the journal names"}${file.gap ? html` · <span class="c-doubt">${GAPS[file.gap] ?? file.gap}</span>` : null}</p>
      ${file.diff ? html`<${Diff} patch=${file.diff} />` : html`<p class="t3 by">Its contents are not known, so there is no diff.</p>`}`}</div>`;
}

/** @type {Record<string, string>} */
const GAPS = { command: "a command changed it; the diff may be incomplete", in_doubt: "a write may or may not have happened", binary: "binary" };
