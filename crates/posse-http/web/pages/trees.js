// Choice of a tree, for pages that show one.

import { Cost, Empty, Skeleton, StateIcon } from "../components.js";
import { base, clock, plural } from "../format.js";
import { href } from "../route.js";
import { stateOf } from "../state.js";
import { loaded, revision, tasks } from "../store.js";
import { html } from "../lib.js";

/** @param {{ page: string, says: string }} props */
export function TreePicker({ page, says }) {
  void revision.value;
  const roots = [...tasks.values()].filter((task) => !task.parent || !tasks.has(task.parent)).sort((a, b) => Number(a.group === "completed") - Number(b.group === "completed") || b.created_at.localeCompare(a.created_at)).slice(0, 200);
  if (!loaded.value) return html`<div class="body"><${Skeleton} /></div>`;
  if (roots.length === 0) return html`<div class="body"><${Empty} title="No task yet" text=${says} command="posse run 'Say what this project does'" /></div>`;
  return html`<div class="body"><p class="calm">${says}</p><ul class="picks">${roots.map((task) => html`<li key=${task.task_id}><a class="pick" data-row href=${href(page, task.task_id)}><${StateIcon} state=${stateOf(task)} /><span class="ell"><b>${task.title}</b></span>
    <span class="t3 ell wide">${base(task.workspace)} · ${plural(task.tree.tasks, "task")}</span><span class="num t3">${clock(task.created_at)}</span><span class="num"><${Cost} task=${task} /></span></a></li>`)}</ul></div>`;
}
