// The frame of every page: rail, top bar, banners, palette, keys.

import { dialog, spoken } from "./actions.js";
import { isExport } from "./api.js";
import { Clock, Dialog, Icon, Key, Toasts } from "./components.js";
import { base, clock, count, elapsed, plural } from "./format.js";
import { useKeys } from "./keys.js";
import { href, route } from "./route.js";
import { Help, Palette, openPalette, palette } from "./palette.js";
import { notify, switchNotify, switchTheme } from "./settings.js";
import { approvals, can, lastFact, link, loaded, me, now, onLine, retry, revision, tasks } from "./store.js";
import { html, useEffect, useState } from "./lib.js";

/** Destinations of the rail: page, word, icon, key. */
export const PAGES = [
  ["overview", "Overview", "overview", "O"], ["approvals", "Approvals", "inbox", "A"], ["tasks", "Tasks", "tree", "T"],
  ["timeline", "Timeline", "time", "L"], ["changes", "Changes", "diff", "C"], ["context", "Context", "ctx", ""],
  ["leases", "Leases", "lock", ""], ["budget", "Budget", "coin", "B"], ["agents", "Agents", "agents", ""],
];
/** Pages that an export has. */
const EXPORTED = ["tasks", "timeline", "changes", "budget"];
const places = () => (isExport() ? PAGES.filter(([name]) => EXPORTED.includes(name)) : PAGES);
const PHONE = ["overview", "approvals", "tasks", "budget"];

/** Modules of the pages; those that the first paint does not need are read when they are opened. @type {Record<string, () => Promise<any>>} */
const MODULES = {
  overview: () => import("./pages/overview.js").then((m) => m.Overview),
  approvals: () => import("./pages/approvals.js").then((m) => m.Approvals),
  tasks: () => import("./pages/tasks.js").then((m) => m.Tasks),
  timeline: () => import("./pages/timeline.js").then((m) => m.Timeline),
  changes: () => import("./pages/changes.js").then((m) => m.ChangesPage),
  context: () => import("./pages/context.js").then((m) => m.Context),
  leases: () => import("./pages/leases.js").then((m) => m.Leases),
  budget: () => import("./pages/budget.js").then((m) => m.Budget),
  agents: () => import("./pages/agents.js").then((m) => m.Agents),
  more: () => Promise.resolve(More),
};
/** @type {Map<string, any>} */
const known = new Map();

export const Mark = () => html`<svg class="i mark" viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="4.5" r="2.5" /><circle cx="4" cy="15" r="2.5" /><circle cx="16" cy="15" r="2.5" /><path d="M8.800 6.700 5.300 12.800M11.200 6.700l3.500 6.100M6.500 15h7" /></svg>`;

/** @returns {Record<string, number | null>} */
function badges() {
  void revision.value;
  let needs = 0, live = 0;
  for (const task of tasks.values()) {
    if (task.group === "needs_input") needs++;
    if (task.group !== "completed") live++;
  }
  return { approvals: Math.max(needs, approvals.value.size), tasks: live };
}

export function Shell() {
  useKeys();
  useNotifications();
  const { page } = route.value;
  return html`<div class="app">
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Rail} page=${page} />
    <div class="main"><${Banners} /><${PageView} name=${page in MODULES && !(isExport() && page === "overview") ? page : isExport() ? "tasks" : "overview"} /></div>
    <${TabBar} page=${page} /></div>
    <div class="vh" role="status" aria-live="polite"><${Spoken} /></div>
    <${Toasts} /><${Dialog} key=${dialog.value?.title ?? ""} /><${Palette} /><${Help} />`;
}

const Spoken = () => html`${spoken.value}`;

/** @param {Event} e */
function skip(e) {
  e.preventDefault();
  document.getElementById("main")?.focus();
}

/** @param {{ name: string }} props */
function PageView({ name }) {
  const [, redraw] = useState("");
  const View = known.get(name);
  useEffect(() => {
    if (!known.has(name)) void MODULES[name]().then((view) => { known.set(name, view); redraw(name); });
    document.title = `${PAGES.find(([page]) => page === name)?.[1] ?? "More"} · Posse`;
  }, [name]);
  return View ? html`<${View} />` : html`<main id="main" class="body" tabindex="-1" aria-busy="true"></main>`;
}

/** @param {{ page: string }} props */
function Rail({ page }) {
  const numbers = badges();
  return html`<nav class="rail" aria-label="Pages"><a class="brand" href=${isExport() ? "#/tasks" : "#/overview"}><${Mark} /><span class="word">Posse</span></a>
    ${places().map(([name, word, icon]) => html`<a key=${name} href=${href(name)} title=${word} aria-current=${page === name ? "page" : undefined}><${Icon} name=${icon} /><span class="word">${word}</span>
      ${numbers[name] ? html`<span class=${name === "approvals" ? "n hot" : "n"}>${count(/** @type {number} */ (numbers[name]))}</span>` : null}</a>`)}
    <${Projects} /><${Connection} /></nav>`;
}

function Projects() {
  void revision.value;
  /** @type {Map<string, number>} */
  const live = new Map();
  for (const task of tasks.values()) live.set(task.workspace, (live.get(task.workspace) ?? 0) + (task.group === "completed" ? 0 : 1));
  const rows = [...live].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, 8);
  const chosen = route.value.params.get("project");
  if (rows.length === 0) return null;
  return html`<h2>Projects</h2>${rows.map(([path, n]) => html`<a key=${path} class="project" href=${href("overview", "", "", chosen === path ? undefined : { project: path })} title=${path} aria-current=${chosen === path ? "true" : undefined}>
    <span class="slash" aria-hidden="true">/</span><span class="word ell">${base(path)}</span>${n > 0 ? html`<span class="n">${count(n)}</span>` : null}</a>`)}`;
}

function Connection() {
  const { state } = link.value;
  const age = Math.max(0, now.value - lastFact.value);
  const words = { starting: "Connecting", live: age < 30_000 ? "Live" : `Live · last fact ${elapsed(age)} ago`, offline: "Offline" };
  const principal = me.value;
  const readOnly = principal && !can("approve") && !can("steer") && !can("write");
  return html`<div class="foot"><div class="live"><i class=${`dot ${isExport() ? "offline" : state}`}></i><span class="word">${isExport() ? "Exported page" : words[state]}</span></div>
    <div class="word ell">${isExport() ? html`as of <${Clock} at=${new Date(now.value).toISOString()} />` : `${readOnly ? "read only · " : ""}${principal?.name ?? ""} · ${location.host}`}</div></div>`;
}

function Banners() {
  const { state, at, replayed } = link.value;
  const [seen, setSeen] = useState(0);
  if (state === "offline" && !isExport()) {
    return html`<div class="ban" role="alert"><${Icon} name="interrupted" class="c-interrupted" /><p><b>Connection lost ${elapsed(Date.now() - at)} ago.</b> Showing ${clock(new Date(lastFact.value).toISOString())}. Tasks go on without this page.</p><button class="btn" onClick=${retry}>Try now</button></div>`;
  }
  if (state === "live" && replayed > 0 && seen !== at) {
    return html`<div class="ban calm" role="status"><${Icon} name="completed" class="c-completed" /><p>Connected again. ${plural(replayed, "event")} replayed.</p><button class="btn q" onClick=${() => setSeen(at)}>Dismiss</button></div>`;
  }
  return null;
}

/** @param {{ page: string }} props */
function TabBar({ page }) {
  const numbers = badges();
  const current = PHONE.includes(page) ? page : "more";
  return html`<nav class="tab" aria-label="Places">${places().filter(([name]) => PHONE.includes(name)).concat([["more", "More", "dots", ""]]).map(([name, word, icon]) =>
    html`<a key=${name} href=${href(name)} aria-current=${current === name ? "page" : undefined}><${Icon} name=${icon} />${word}${name === "approvals" && numbers.approvals ? html`<em>${numbers.approvals}</em>` : null}</a>`)}</nav>`;
}

function More() {
  return html`<${Top} title="More" /><main id="main" class="body" tabindex="-1"><ul class="menu">${places().filter(([name]) => !PHONE.includes(name)).map(([name, word, icon]) =>
    html`<li key=${name}><a href=${href(name)}><${Icon} name=${icon} />${word}<span class="sp"></span><${Icon} name="right" /></a></li>`)}
    <li><button onClick=${switchTheme}><${Icon} name="moon" />Switch light and dark</button></li></ul><${Projects} /></main>`;
}

/**
 * The top bar of a page.
 * @param {{ title: any, crumbs?: [string, string][], back?: string, children?: any }} props
 */
export function Top({ title, crumbs = [], back, children }) {
  return html`<header class="top">${back && html`<a class="btn q ic phone" href=${back} aria-label="Back"><${Icon} name="back" /></a>`}
    <div class="crumb">${crumbs.map(([word, to]) => html`<a class="up ell" href=${to}>${word}</a><span class="up" aria-hidden="true">/</span>`)}<h1 class="ell">${title}</h1></div><span class="sp"></span>${children}
    <button class="search" onClick=${openPalette}><${Icon} name="find" /><span class="word">Search or run a command</span><${Key}>Ctrl K<//></button>
    ${typeof Notification !== "undefined" && !isExport() && html`<button class="btn q ic" aria-pressed=${notify.value} aria-label="Desktop notifications" title=${notify.value ? "Desktop notifications are on" : "Notify me when something needs me"} onClick=${switchNotify}><${Icon} name="bell" /></button>`}
    <button class="btn q ic wide" aria-label="Switch light and dark" title="Switch light and dark" onClick=${switchTheme}><${Icon} name="moon" /></button></header>`;
}

/** Tells the desktop what needs a person, while the page is not seen. */
function useNotifications() {
  useEffect(() => onLine("*", (line) => {
    if (!notify.value || !document.hidden) return;
    const agent = tasks.get(line.task_id)?.agent ?? "a task";
    const text = line.type === "question" ? line.question : line.type === "approval_requested" ? `${line.tool} ${line.summary ?? ""}` : null;
    if (text === null) return;
    const note = new Notification(`${agent} needs you`, { body: String(text).slice(0, 200), tag: line.task_id });
    note.onclick = () => { focus(); location.hash = href("tasks", line.task_id); };
  }), []);
}

export { loaded, palette };
