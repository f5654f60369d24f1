// The command palette and the list of keys.

import { cancel } from "./actions.js";
import { Icon, Key } from "./components.js";
import { shortId } from "./format.js";
import { go, href, route } from "./route.js";
import { hasEnded, stateOf } from "./state.js";
import { singleKeys, switchKeys, switchTheme } from "./settings.js";
import { can, revision, tasks } from "./store.js";
import { html, signal, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";

export const palette = signal(false);
export const help = signal(false);
export const openPalette = () => { palette.value = true; };

/** @typedef {{ id: string, group: string, icon: string, state?: string, text: string, sub: string, key: string, run: () => void }} Entry */

/** Scores letters of the words in order; 0 is no match. @param {string} text @param {string} words */
export function score(text, words) {
  const hay = text.toLowerCase(), needle = words.toLowerCase().trim();
  if (needle === "") return 1;
  const at = hay.indexOf(needle);
  if (at >= 0) return 1000 - at;
  let from = 0, gaps = 0;
  for (const c of needle) {
    const found = hay.indexOf(c, from);
    if (found < 0) return 0;
    gaps += found - from;
    from = found + 1;
  }
  return Math.max(1, 200 - gaps);
}

/** @returns {Entry[]} */
function entries() {
  /** @type {Entry[]} */
  const list = [...tasks.values()].map((task) => ({
    id: task.task_id, group: "Tasks", icon: stateOf(task), state: stateOf(task), text: task.agent, sub: `${shortId(task.task_id)} ${task.title}`, key: "↵", run: () => go("tasks", task.task_id),
  }));
  const focused = route.value.page === "tasks" ? tasks.get(route.value.id) : undefined;
  if (focused) {
    const name = `${focused.agent} ${shortId(focused.task_id)}`;
    if (can("steer") && !hasEnded(focused)) list.push({ id: "cancel", group: `Actions on ${name}`, icon: "stop", text: "Cancel the task and what it delegated", sub: "", key: "X", run: () => cancel(focused, 0) });
    list.push({ id: "transcript", group: `Actions on ${name}`, icon: "overview", text: "Open the transcript", sub: "", key: "T", run: () => go("tasks", focused.task_id, "transcript") });
  }
  for (const [page, word, icon, key] of PLACES) list.push({ id: page, group: "Pages", icon, text: word, sub: "", key: key && `G ${key}`, run: () => go(page) });
  list.push({ id: "theme", group: "Pages", icon: "moon", text: "Switch light and dark", sub: "", key: "", run: switchTheme });
  list.push({ id: "keys", group: "Pages", icon: "tool", text: singleKeys.value ? "Turn single keys off" : "Turn single keys on", sub: "", key: "", run: switchKeys });
  return list;
}

const PLACES = [["overview", "Overview", "overview", "O"], ["approvals", "Approvals", "inbox", "A"], ["tasks", "Tasks", "tree", "T"], ["timeline", "Timeline", "time", "L"], ["changes", "Changes", "diff", "C"], ["context", "Context", "ctx", ""], ["leases", "Leases", "lock", ""], ["budget", "Budget", "coin", "B"], ["agents", "Agents", "agents", ""]];

/** @param {string} words @returns {Entry[]} */
function matches(words) {
  void revision.value;
  const scored = entries().map((entry) => ({ entry, score: score(`${entry.text} ${entry.sub}`, words) })).filter((m) => m.score > 0);
  scored.sort((a, b) => b.score - a.score);
  const out = [];
  for (const [group, most] of [["Tasks", 8], ["Actions", 4], ["Pages", 12]]) {
    out.push(...scored.filter((m) => m.entry.group.startsWith(/** @type {string} */ (group))).slice(0, /** @type {number} */ (most)).map((m) => m.entry));
  }
  return out;
}

/** Keeps a modal dialog open while a signal is true. @param {import("./vendor/signals.mjs").Signal<boolean>} open */
function useModal(open) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => {
    const element = box.current;
    if (open.value) element?.showModal();
    return () => element?.close();
  }, [open.value]);
  return box;
}

/** @param {{ query?: string }} [_] */
export function Palette(_) {
  const box = useModal(palette);
  const [words, setWords] = useState("");
  const [index, setIndex] = useState(0);
  useEffect(() => { setWords(""); setIndex(0); }, [palette.value]);
  if (!palette.value) return null;
  const list = matches(words);
  const close = () => { palette.value = false; };
  const choose = (/** @type {Entry | undefined} */ entry) => { close(); entry?.run(); };
  const onKey = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setIndex((list.length + index + (e.key === "ArrowDown" ? 1 : -1)) % Math.max(1, list.length));
    } else if (e.key === "Enter") { e.preventDefault(); choose(list[index]); }
  };
  let group = "";
  return html`<dialog ref=${box} class="pal" aria-label="Search or run a command" onClose=${close} onClick=${(/** @type {Event} */ e) => { if (e.target === box.current) close(); }}>
    <div class="in"><${Icon} name="find" /><input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${list[index] ? `p-${index}` : undefined} aria-label="Search tasks, pages and actions" placeholder="Task, agent, page or action" autofocus value=${words} onKeyDown=${onKey} onInput=${(/** @type {any} */ e) => { setWords(e.target.value); setIndex(0); }} /><${Key}>esc<//></div>
    <div id="palette-list" class="opts" role="listbox" aria-label="Results">${list.map((entry, i) => {
      const head = entry.group !== group ? html`<div class="h" role="presentation">${entry.group}</div>` : null;
      group = entry.group;
      return html`${head}<div key=${entry.id} id=${`p-${i}`} class="o" role="option" aria-selected=${i === index} onPointerMove=${() => setIndex(i)} onClick=${() => choose(entry)}>
        <${Icon} name=${entry.icon} class=${entry.state ? `c-${entry.state}` : "t3"} /><span class="ell">${entry.text} <span class="t3">${entry.sub}</span></span>${entry.key && html`<${Key}>${entry.key}<//>`}</div>`;
    })}${list.length === 0 && html`<p class="t2 none">Nothing is called “${words}”.</p>`}</div></dialog>`;
}

const KEYS = [
  ["Ctrl K", "palette"], ["/", "search this page"], ["J K ↓ ↑", "next, previous row"], ["→ ←", "open, close a node or step"], ["↵", "open"], ["Esc", "back"],
  ["G then O A T L C B", "Overview, Approvals, Tasks, Timeline, Changes, Budget"], ["N", "next thing that needs you"], ["A", "approve in the shown scope"], ["D", "deny"], ["⇧ D", "deny with a note"],
  ["1 … 9", "choose an option of a question"], ["R", "reply"], ["S", "steer"], ["X", "cancel; asks first"], ["T", "transcript"], ["+ − 0", "zoom the timeline, fit"], ["[ ]", "previous, next turn"], ["?", "this list"],
];

export function Help() {
  const box = useModal(help);
  if (!help.value) return null;
  const close = () => { help.value = false; };
  return html`<dialog ref=${box} class="dialog keys" aria-labelledby="keys-title" onClose=${close}><h2 id="keys-title">Keys</h2>
    <dl>${KEYS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
    <div class="row acts"><button class="btn" aria-pressed=${singleKeys.value} onClick=${switchKeys}>Single keys: ${singleKeys.value ? "on" : "off"}</button><button class="btn p" autofocus onClick=${close}>Close</button></div></dialog>`;
}

export { href };
