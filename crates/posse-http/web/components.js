// Parts that every page uses.

import { ApiError, api } from "./api.js";
import { dialog, dropToast, spoken, toasts } from "./actions.js";
import { DASH, base, clock, cost, duration, elapsed, modelName, percent, shortId, since, tokens, visible } from "./format.js";
import { Icon } from "./icons.js";
import { link, now, onLine } from "./store.js";
import { WORDS, hasEnded, stateOf } from "./state.js";
import { cx, html, useEffect, useLayoutEffect, useRef, useState } from "./lib.js";

export { Icon };

/** @param {{ state: import("./state.js").StateName }} props */
export const StateIcon = ({ state }) => html`<span class=${`st c-${state}`}><${Icon} name=${state} label=${WORDS[state]} /></span>`;

/** @param {{ state: import("./state.js").StateName, children?: any }} props */
export const StateChip = ({ state, children }) => html`<span class=${`chip c-${state}`}><${Icon} name=${state} />${WORDS[state]}${children}</span>`;

/** A value that grows each second. @param {{ from: string | null, to?: string | null }} props */
export function Elapsed({ from, to }) {
  if (!from) return DASH;
  return elapsed((to ? since(to) : now.value) - since(from));
}

/** Time left until a deadline, amber below a minute unless it is calm. @param {{ at: string, prefix?: string, calm?: boolean }} props */
export function Countdown({ at, prefix = "in ", calm }) {
  const left = since(at) - now.value;
  return html`<span class=${cx("num", left < 60_000 && !calm && "c-person")} title=${at}>${left > 0 ? `${prefix}${elapsed(left)}` : "now"}</span>`;
}

/** @param {{ task: Task }} props */
export function ContextMeter({ task }) {
  const fill = task.context;
  if (!fill) return html`<span></span>`;
  const part = fill.window_tokens ? fill.used_tokens / fill.window_tokens : 0;
  const text = fill.window_tokens ? `${tokens(fill.used_tokens)}/${tokens(fill.window_tokens)}` : `${tokens(fill.used_tokens)}/?`;
  return html`<span class="ctx" title=${`context window: ${text} tokens${part ? `, ${percent(part)}` : ""}`}>
    <span class="bar"><i class=${cx(part >= 0.8 && "warn")} style=${{ width: `${Math.min(100, part * 100)}%` }}></i></span><span class="num t2">${text}</span></span>`;
}

/**
 * Spent, reserved and left of a limit.
 * @param {{ spent: number, reserved?: number, limit: number | null }} props
 */
export function BudgetBar({ spent, reserved = 0, limit }) {
  const whole = limit && limit > 0 ? limit : Math.max(spent + reserved, 1e-9);
  const left = limit === null ? "no limit" : `${cost(Math.max(0, limit - spent - reserved))} left`;
  return html`<span class="bud" role="img" aria-label=${`${cost(spent)} spent, ${cost(reserved)} reserved, ${left}`}>
    <i class=${cx("spent", limit !== null && spent >= limit * 0.9 && "hot")} style=${{ width: `${limit === null ? 0 : Math.min(100, (spent / whole) * 100)}%` }}></i>
    <i class="held" style=${{ width: `${limit === null ? 0 : Math.min(100, (reserved / whole) * 100)}%` }}></i></span>`;
}

/** @param {{ task: Task }} props */
export const Who = ({ task }) => html`<span class="who"><b class="ell">${task.agent}</b> <span class="mono">${task.parent ? shortId(task.task_id) : base(task.workspace)}</span></span>`;

/** Cost of the subtree; the title splits it. @param {{ task: Task }} props */
export function Cost({ task }) {
  const own = task.spending.cost_usd, all = task.tree.cost_usd;
  if (task.tree.turns === 0 && !all) return html`<span class="num t3">${DASH}</span>`;
  const split = task.tree.tasks > 1 && own !== null && all !== null ? `own ${cost(own)}, subtasks ${cost(all - own)}` : undefined;
  return html`<span class=${cx("num", all === null && "t3")} title=${split}>${cost(all)}</span>`;
}

/** @param {{ task: Task }} props */
export const Turns = ({ task }) =>
  html`<span class="num t2">${task.turns === 0 && (!task.turns_max || task.status === "queued") ? DASH : task.turns_max && !hasEnded(task) ? `${task.turns}/${task.turns_max}` : task.turns}</span>`;

/** @param {{ task: Task }} props */
export const Age = ({ task }) => html`<span class="num t2">${stateOf(task) === "queued" && task.turns === 0 ? DASH : html`<${Elapsed} from=${task.created_at} to=${task.ended_at} />`}</span>`;

/** @param {{ task: Task }} props */
export const Model = ({ task }) => html`<span class="ell t2" title=${task.model ?? undefined}>${modelName(task.model)}</span>`;

/** @param {{ title: string, text?: any, command?: string }} props */
export const Empty = ({ title, text, command }) =>
  html`<div class="card em"><h3>${title}</h3>${text && html`<p>${text}</p>`}${command && html`<${Code} text=${command} />`}</div>`;

/** Rows at their final height, after 300 ms. @param {{ rows?: number }} props */
export function Skeleton({ rows = 6 }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="sks" role="status" aria-label="Loading">${late && Array.from({ length: rows }, (_, i) => html`<div class="sk" key=${i}><i></i><i></i><i></i><i></i></div>`)}</div>`;
}

/** What happened, what to do, the code. @param {{ problem: Problem, retry?: () => void }} props */
export const Failure = ({ problem, retry }) => html`<div class="card err" role="alert"><${Icon} name="failed" class="c-failed" /><div><h3><${Says} text=${capital(problem.detail || problem.title)} /></h3>
  ${problem.hint && html`<p><${Says} text=${capital(problem.hint)} /></p>`}<div class="row">${retry && html`<button class="btn" onClick=${retry}>Try again</button>`}<span class="sp"></span><code class="t3">${problem.code}</code></div></div></div>`;

/** @param {string} text */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A sentence of ours: what stands between backticks is code. @param {{ text: string }} props */
export const Says = ({ text }) => visible(text).split(/`([^`]+)`/).map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));

/** A text with a button that copies it. @param {{ text: string, label?: string }} props */
export function Code({ text, label = "Copy" }) {
  return html`<div class="code"><pre tabindex="0">${visible(text)}</pre><${CopyButton} text=${text} label=${label} /></div>`;
}

/** @param {{ text: string, label?: string }} props */
export function CopyButton({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = () => void navigator.clipboard?.writeText(text).then(() => { setDone(true); spoken.value = "Copied"; });
  return html`<button class="btn q ic copy" aria-label=${label} title=${label} onClick=${copy}><${Icon} name=${done ? "check" : "copy"} /></button>`;
}

/** @param {{ problem?: Problem | null }} [_] */
export function Toasts(_) {
  return html`<div class="toasts">${toasts.value.map((t) => html`<${Toast} key=${t.id} toast=${t} />`)}</div>`;
}

/** @param {{ toast: Receipt }} props */
function Toast({ toast }) {
  const [held, hold] = useState(false);
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => dropToast(toast.id), 8000);
    return () => clearTimeout(timer);
  }, [held, toast.far]);
  return html`<div class="toast" onPointerEnter=${() => hold(true)} onPointerLeave=${() => hold(false)} onFocusIn=${() => hold(true)} onFocusOut=${() => hold(false)}>
    <${Icon} name=${toast.sign} class=${`c-${toast.sign}`} /><div><p class="what">${visible(toast.text)}</p><p class="s12 t3">${visible(toast.far)}</p></div>
    <button class="btn q ic" aria-label="Dismiss" onClick=${() => dropToast(toast.id)}>×</button></div>`;
}

/** The one dialog: asks before something stops, or for words. */
export function Dialog() {
  const asked = dialog.value;
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const field = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useLayoutEffect(() => {
    const element = box.current;
    element?.showModal();
    return () => element?.close();
  }, [asked]);
  if (!asked) return null;
  const close = () => { dialog.value = null; };
  const confirm = (/** @type {Event} */ e) => {
    e.preventDefault();
    const note = field.current?.value ?? "";
    close();
    asked.run(note);
  };
  return html`<dialog ref=${box} class="dialog" aria-labelledby="dialog-title" onClose=${() => { if (dialog.value === asked) close(); }}><form onSubmit=${confirm}><h2 id="dialog-title">${visible(asked.title)}</h2><p>${visible(asked.text)}</p>
    ${asked.input !== undefined && html`<textarea ref=${field} rows="3" aria-label=${asked.title} autofocus></textarea>`}
    <div class="row acts"><button type="button" class="btn l" onClick=${close}>Keep it</button><button class=${cx("btn l", !asked.danger && "p")} autofocus=${asked.input === undefined}>${visible(asked.verb)}</button></div></form></dialog>`;
}

/**
 * Reads a resource, and again after lines about a task.
 * @template T
 * @param {string | null} path @param {{ watch?: string, kinds?: RegExp }} [options]
 * @returns {{ data: T | null, error: Problem | null, reload: () => void }}
 */
export function useResource(path, { watch, kinds } = {}) {
  const [state, setState] = useState(/** @type {{ path: string | null, data: any, error: Problem | null }} */ ({ path: null, data: null, error: null }));
  const [turn, setTurn] = useState(0);
  const online = link.value.state !== "offline";
  useEffect(() => {
    if (!path || !online) return;
    const controller = new AbortController();
    api(path, { signal: controller.signal })
      .then((data) => setState({ path, data, error: null }))
      .catch((e) => {
        if (!controller.signal.aborted) setState((old) => ({ path, data: old.path === path ? old.data : null, error: e instanceof ApiError ? e.problem : { title: "failed", status: 0, detail: String(e), code: "INTERNAL" } }));
      });
    return () => controller.abort();
  }, [path, turn, online]);
  useEffect(() => {
    if (!watch) return;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const stop = onLine(watch, (line) => {
      if (kinds && !kinds.test(line.type)) return;
      timer ??= setTimeout(() => { timer = undefined; setTurn((n) => n + 1); }, 300);
    });
    return () => { stop(); clearTimeout(timer); };
  }, [watch]);
  const current = state.path === path;
  return { data: current ? state.data : null, error: current ? state.error : null, reload: () => setTurn((n) => n + 1) };
}

/** A resource, its loading rows and its error. @param {{ of: { data: any, error: Problem | null, reload: () => void }, children: (data: any) => any, rows?: number }} props */
export function Loaded({ of, children, rows }) {
  if (of.data !== null) return children(of.data);
  if (of.error) return html`<${Failure} problem=${of.error} retry=${of.reload} />`;
  return html`<${Skeleton} rows=${rows} />`;
}

/** @param {{ label: string, options: [string, any, string?][], value: string }} props links that switch a view */
export const Switch = ({ label, options, value }) =>
  html`<nav class="seg" aria-label=${label}>${options.map(([name, text, href]) => html`<a key=${name} href=${href} aria-current=${name === value ? "true" : undefined}>${text}</a>`)}</nav>`;

/** @param {{ label: string, options: [string, any][], value: string, onChange: (value: string) => void }} props */
export const Choice = ({ label, options, value, onChange }) =>
  html`<div class="seg" role="group" aria-label=${label}>${options.map(([name, text]) => html`<button key=${name} aria-pressed=${name === value} onClick=${() => onChange(name)}>${text}</button>`)}</div>`;

/** A key cap beside a label. @param {{ children: any }} props */
export const Key = ({ children }) => html`<kbd aria-hidden="true">${children}</kbd>`;

/** @param {{ at: string | null | undefined }} props */
export const Clock = ({ at }) => html`<time class="num" datetime=${at ?? undefined} title=${at ?? undefined}>${clock(at)}</time>`;

/** @param {{ ms: number }} props */
export const Took = ({ ms }) => html`<span class="num t3">${duration(ms, true)}</span>`;
