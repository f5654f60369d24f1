// Transcript of a task: turns, folded tool calls, exact input and output, search.

import { Choice, CopyButton, Failure, Icon, Skeleton } from "../components.js";
import { ApiError, api, query } from "../api.js";
import { Diff } from "../diff.js";
import { Markdown } from "../markdown.js";
import { VirtualList, scrollerOf } from "../virtual.js";
import { cost, count, duration, firstLine, modelName, plural, target, tokens, visible } from "../format.js";
import { onLine, tasks } from "../store.js";
import { route } from "../route.js";
import { cx, html, useEffect, useMemo, useReducer, useRef, useState } from "../lib.js";

/** Lines of a text that are shown at once. */
const LINES_MAX = 200;

/** @typedef {{ key: string, kind: "turn" | "say" | "think" | "step" | "user" | "note" | "end" | "system", turn: number, line: TranscriptLine, result?: TranscriptLine, call?: any, text: string }} Part */

/**
 * Reads a transcript to its end, and again from there when the task goes on.
 * @param {string} id
 */
function useTranscript(id) {
  const held = useRef({ id: "", lines: /** @type {TranscriptLine[]} */ ([]), cursor: /** @type {string | null} */ (null), done: false, reading: false });
  const [version, redraw] = useReducer((/** @type {number} */ n, _) => n + 1, 0);
  const [error, setError] = useState(/** @type {Problem | null} */ (null));
  const read = async () => {
    const h = held.current;
    if (h.reading) return;
    h.reading = true;
    try {
      let cursor = null;
      /** @type {TranscriptLine[]} */
      const lines = [];
      do {
        const page = await api(`/tasks/${id}/transcript${query({ limit: 500, cursor })}`);
        lines.push(...page.items);
        cursor = page.next_cursor;
        if (lines.length > h.lines.length) { h.lines = lines.slice(); redraw(0); }
      } while (cursor && h === held.current);
      h.done = true;
      setError(null);
    } catch (e) {
      if (e instanceof ApiError) setError(e.problem);
    }
    h.reading = false;
    redraw(0);
  };
  useEffect(() => {
    held.current = { id, lines: [], cursor: null, done: false, reading: false };
    void read();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const stop = onLine(id, (line) => {
      if (/^(replied|tool_finished|finished|resumed|verified|approval_resolved)$/.test(line.type)) timer ??= setTimeout(() => { timer = undefined; void read(); }, 400);
    });
    return () => { stop(); clearTimeout(timer); };
  }, [id]);
  return { lines: held.current.lines, done: held.current.done, error, version, reload: () => void read() };
}

/** @param {TranscriptLine[]} lines @returns {Part[]} */
export function partsOf(lines) {
  const results = new Map(lines.filter((line) => line.role === "tool").map((line) => [line.call, line]));
  /** @type {Part[]} */
  const parts = [];
  lines.forEach((line, i) => {
    const turn = line.turn ?? 0;
    const add = (/** @type {Part["kind"]} */ kind, /** @type {string} */ text, /** @type {Partial<Part>} */ rest = {}) => parts.push({ key: `${kind}${i}${rest.call?.call ?? ""}`, kind, turn, line, text, ...rest });
    if (line.type === "outcome") add("end", `${line.status} ${line.reason} ${line.text ?? ""}`);
    else if (line.type === "event") add("note", describeEvent(line));
    else if (line.role === "system") add("system", line.text ?? "");
    else if (line.role === "user") add("user", line.text ?? "");
    else if (line.role === "assistant") {
      add("turn", "");
      if (line.thinking) add("think", line.thinking);
      if (line.text) add("say", line.text);
      for (const call of line.tool_calls ?? []) {
        const result = results.get(call.call);
        add("step", `${call.name} ${JSON.stringify(call.arguments)} ${result?.text ?? ""}`, { call, result });
      }
    }
  });
  return parts;
}

/** @param {TranscriptLine} line */
function describeEvent(line) {
  const words = Object.entries(line).filter(([name, value]) => !["type", "event", "task_id"].includes(name) && (typeof value === "string" || typeof value === "number" || typeof value === "boolean"));
  return `${String(line.event).replace(/_/g, " ")}${words.length > 0 ? `: ${words.map(([, value]) => String(value)).join(" · ")}` : ""}`;
}

/** @param {Part} part */
const isChange = (part) => part.kind === "step" && ((part.result?.changed_files?.length ?? 0) > 0 || /^(write|edit|patch|apply)/.test(part.call.name));
/** @type {Record<string, (part: Part) => boolean>} */
const FILTERS = { all: () => true, text: (p) => !["step"].includes(p.kind), tools: (p) => p.kind === "step" || p.kind === "turn", changes: isChange };

/** @param {{ id: string }} props */
export function Transcript({ id }) {
  const { lines, done, error, version, reload } = useTranscript(id);
  const [words, setWords] = useState("");
  const [hit, setHit] = useState(0);
  const [filter, setFilter] = useState("all");
  const [folds, setFolds] = useState(/** @type {Map<string, boolean>} */ (new Map()));
  const linked = route.value.params.get("call");
  const parts = useMemo(() => partsOf(lines), [version, id]);
  const shown = useMemo(() => parts.filter(FILTERS[filter]), [parts, filter]);
  const hits = useMemo(() => (words.trim() === "" ? [] : shown.map((part, i) => (part.text.toLowerCase().includes(words.toLowerCase()) ? i : -1)).filter((i) => i >= 0)), [shown, words]);
  const marked = hits.length > 0 ? shown[hits[hit % hits.length]]?.key : null;
  const isOpen = (/** @type {Part} */ part) => folds.get(part.key) ?? (part.kind === "step" && (part.call.call === linked || part.key === marked || isChange(part) || part.result?.is_error === true || part.result?.in_doubt === true));
  const fold = (/** @type {Part} */ part) => setFolds((old) => new Map(old).set(part.key, !isOpen(part)));
  useJump(marked ?? null);
  useJump(linked && parts.length > 0 ? (parts.find((p) => p.kind === "step" && p.call.call === linked)?.key ?? null) : null);
  if (error && lines.length === 0) return html`<div class="body"><${Failure} problem=${error} retry=${reload} /></div>`;
  if (lines.length === 0 && !done) return html`<div class="body"><${Skeleton} /></div>`;
  const step = (/** @type {number} */ by) => setHit((n) => (hits.length === 0 ? 0 : (n + by + hits.length) % hits.length));
  return html`<div class="sp3"><${Outline} id=${id} parts=${parts} />
    <div class="col3"><div class="tool"><label class="search-in"><${Icon} name="find" /><span class="vh">Search the transcript</span><input type="search" data-search placeholder="Search this transcript" value=${words} onInput=${(/** @type {any} */ e) => { setWords(e.target.value); setHit(0); }} onKeyDown=${(/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter") step(e.shiftKey ? -1 : 1); }} />
        ${words && html`<span class="num t3 s12" role="status">${hits.length === 0 ? "nothing" : `${(hit % hits.length) + 1} of ${hits.length}`}</span>`}</label>
        <${Choice} label="Parts" value=${filter} options=${[["all", "All"], ["text", "Text"], ["tools", "Tools"], ["changes", "Changes"]]} onChange=${setFilter} /></div>
      <div class="ct scroll" tabindex="0" role="region" aria-label="Transcript">${shown.length === 0 ? html`<p class="calm">${filter === "changes" ? "No step changed a file." : "No step yet."}</p>`
        : html`<${VirtualList} items=${shown} keyOf=${(/** @type {Part} */ p) => p.key} estimate=${(/** @type {Part} */ p) => (p.kind === "step" ? 43 : p.kind === "turn" ? 40 : 80)} role="list" label="Steps"
          render=${(/** @type {Part} */ p) => html`<div role="listitem" class=${cx(p.key === marked && "hit")} id=${`part-${p.key}`}><${PartView} id=${id} part=${p} open=${isOpen(p)} fold=${() => fold(p)} words=${words} /></div>`} />`}</div></div></div>`;
}

/** Scrolls to a part, also if it is not rendered yet. @param {string | null} key */
function useJump(key) {
  useEffect(() => {
    if (key === null) return;
    let tries = 0;
    const look = () => {
      const element = document.getElementById(`part-${key}`);
      if (element) return element.scrollIntoView({ block: "center" });
      const scroller = document.querySelector(".ct.scroll");
      if (scroller && tries++ < 200) { scroller.scrollTop = (scroller.scrollHeight * tries) / 200; requestAnimationFrame(look); }
    };
    look();
  }, [key]);
}

/** Turns with what they did and what they cost. @param {{ id: string, parts: Part[] }} props */
function Outline({ id, parts }) {
  const task = tasks.get(id);
  const turns = parts.filter((part) => part.kind === "turn");
  return html`<nav class="out wide" aria-label="Turns"><p class="s12 t2">${plural(turns.length, "turn")}${task ? ` · ${cost(task.spending.cost_usd)}` : ""}</p>${turns.map((part) => {
    const calls = part.line.tool_calls ?? [];
    const title = firstLine(part.line.text ?? "") || (calls.length > 0 ? calls.map((/** @type {any} */ c) => c.name).join(", ") : "answer");
    return html`<button key=${part.key} onClick=${() => jump(part.key, parts)}><span class="k">${part.turn}</span><span class="ell">${visible(title)}</span><span class="s12 t3 num">${part.line.usage ? cost(part.line.usage.cost_usd) : ""}</span><span class="s ell">${namesOf(calls)}</span></button>`;
  })}</nav>`;
}

/** @param {any[]} calls */
function namesOf(calls) {
  const names = new Map();
  for (const call of calls) names.set(call.name, (names.get(call.name) ?? 0) + 1);
  return [...names].map(([name, n]) => (n > 1 ? `${name} ×${n}` : name)).join(", ") || "no tool";
}

/** @param {string} key @param {Part[]} parts */
function jump(key, parts) {
  const element = document.getElementById(`part-${key}`);
  if (element) return element.scrollIntoView({ block: "start" });
  const list = document.querySelector(".ct.scroll [role=list]");
  if (!(list instanceof HTMLElement)) return;
  const scroller = scrollerOf(list);
  scroller.scrollTop = (scroller.scrollHeight * parts.findIndex((part) => part.key === key)) / parts.length;
  requestAnimationFrame(() => document.getElementById(`part-${key}`)?.scrollIntoView({ block: "start" }));
}

/** @param {{ id: string, part: Part, open: boolean, fold: () => void, words: string }} props */
function PartView({ id, part, open, fold, words }) {
  const { line } = part;
  switch (part.kind) {
    case "turn": return html`<h2 class="turn" data-turn=${part.turn}>Turn ${part.turn} <span>${turnFacts(line)}</span></h2>`;
    case "think": return html`<div class="think"><button class="fold" aria-expanded=${open} onClick=${fold}><${Icon} name=${open ? "down" : "right"} />Thinking, ${plural(line.thinking.length, "character")}</button>${open && html`<p>${mark(visible(line.thinking), words)}</p>`}</div>`;
    case "say": return html`<div class="say">${words ? html`<p class="pre">${mark(visible(line.text), words)}</p>` : html`<${Markdown} text=${line.text} />`}</div>`;
    case "user": return html`<div class="said"><p class="s12 t3">To the agent</p><${LongText} text=${line.text ?? ""} words=${words} /></div>`;
    case "system": return html`<div class="think"><button class="fold" aria-expanded=${open} onClick=${fold}><${Icon} name=${open ? "down" : "right"} />System prompt, ${plural((line.text ?? "").length, "character")}</button>${open && html`<p class="pre">${visible(line.text ?? "")}</p>`}</div>`;
    case "note": return html`<p class="noted"><${Icon} name=${line.event === "model_failed" ? "failed" : line.event === "resumed" ? "interrupted" : "check"} class="t3" /><span>${visible(part.text)}</span></p>`;
    case "end": return html`<div class="ended"><span class=${`chip c-${line.status}`}><${Icon} name=${line.status} />${line.status}</span><span class="t2"> ${String(line.reason ?? "").replace(/_/g, " ")} · ${plural(line.turns ?? 0, "turn")} · ${plural(line.tool_calls ?? 0, "tool call")}${line.usage ? ` · ${cost(line.usage.cost_usd)}` : ""}</span></div>`;
    default: return html`<${StepView} id=${id} part=${part} open=${open} fold=${fold} words=${words} />`;
  }
}

/** @param {TranscriptLine} line */
function turnFacts(line) {
  const u = line.usage;
  return [modelName(line.model), u && `${tokens(u.input_tokens)} in${u.cache_read_tokens ? `, ${tokens(u.cache_read_tokens)} cached` : ""}`, u && `${tokens(u.output_tokens)} out`, u && cost(u.cost_usd)].filter(Boolean).join(" · ");
}

/** @param {{ id: string, part: Part, open: boolean, fold: () => void, words: string }} props */
function StepView({ id, part, open, fold, words }) {
  const { call, result } = part;
  const task = tasks.get(id);
  const state = !result ? (task && ["running", "queued"].includes(task.status) ? "tool" : "unknown") : result.in_doubt ? "doubt" : result.is_error ? "failed" : "completed";
  const patch = patchOf(call, result);
  return html`<div class="step" data-step=${call.call}><button class="sh" aria-expanded=${open} onClick=${fold}><${Icon} name=${open ? "down" : "right"} /><span class=${`st c-${state}`}><${Icon} name=${state} label=${state === "completed" ? "done" : state} /></span><b>${call.name}</b><code class="ell">${mark(visible(target(call.arguments)), words)}</code>
      <span class="f">${result?.elapsed_ms !== undefined && !open ? "" : ""}step ${call.call}</span></button>
    ${open && html`<div class="io"><div class="k">Input</div><div><${Exact} value=${call.arguments} words=${words} /></div>
      ${result ? html`<div class="k">${result.is_error ? "Error" : "Output"}</div><div><${Output} id=${id} call=${call.call} result=${result} words=${words} /></div>` : html`<div class="k">Output</div><div class="t3">${state === "unknown" ? "unknown: the journal holds no result" : "it runs"}</div>`}
      ${result && html`<div class="k">Record</div><div class="t2">${recordOf(result)}</div>`}</div>
      ${patch && html`<${Diff} patch=${patch} />`}`}</div>`;
}

/** @param {TranscriptLine} result */
function recordOf(result) {
  const parts = [result.in_doubt ? "intended, no result: it may or may not have happened and is not repeated" : "intended → done"];
  if (result.changed_files?.length) parts.push(`changed ${result.changed_files.join(", ")}`);
  if (typeof result.elapsed_ms === "number") parts.push(`at ${duration(result.elapsed_ms)} of the task's time`);
  return visible(parts.join(" · "));
}

/** Makes a patch of an edit, if its arguments have both texts. @param {any} call @param {TranscriptLine | undefined} result */
function patchOf(call, result) {
  if (typeof result?.diff === "string") return result.diff;
  const args = call.arguments;
  if (!args || typeof args !== "object" || typeof args.path !== "string") return null;
  const edits = Array.isArray(args.edits) ? args.edits : [args];
  const hunks = [];
  for (const edit of edits) {
    const before = edit.old ?? edit.old_string ?? edit.search, after = edit.new ?? edit.new_string ?? edit.replace;
    if (typeof before !== "string" || typeof after !== "string") continue;
    const a = before.replace(/\n$/, "").split("\n"), b = after.replace(/\n$/, "").split("\n");
    hunks.push(`@@ -1,${a.length} +1,${b.length} @@\n${a.map((l) => `-${l}`).join("\n")}\n${b.map((l) => `+${l}`).join("\n")}`);
  }
  return hunks.length > 0 ? `--- a/${args.path}\n+++ b/${args.path}\n${hunks.join("\n")}` : null;
}

/** The arguments as they were. @param {{ value: any, words: string }} props */
function Exact({ value, words }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  return html`<${LongText} text=${text} words=${words} copy=${typeof value === "string" ? value : JSON.stringify(value)} />`;
}

/** What the model saw; the whole on demand. @param {{ id: string, call: string, result: TranscriptLine, words: string }} props */
function Output({ id, call, result, words }) {
  const [whole, setWhole] = useState(/** @type {string | null} */ (null));
  const cut = (result.cut ?? []).length > 0 || result.full_text !== undefined;
  const read = async () => {
    const record = result.full_text !== undefined && !(result.cut ?? []).includes("full_text") ? { full_result: result.full_text } : await api(`/tasks/${id}/calls/${call}`).catch(() => null);
    if (record) setWhole(record.full_result ?? record.result ?? "");
  };
  const text = whole ?? result.text ?? "";
  return html`${text === "" ? html`<span class="t3">nothing</span>` : html`<${LongText} text=${text} words=${words} />`}${cut && whole === null && html`<button class="btn q" onClick=${() => void read()}>Show the whole result; the model saw this part</button>`}`;
}

/** @param {{ text: string, words: string, copy?: string }} props */
function LongText({ text, words, copy }) {
  const [all, setAll] = useState(false);
  const shown = visible(text);
  const lines = shown.split("\n");
  const cut = !all && lines.length > LINES_MAX;
  return html`<div class="code"><pre class="wrap" tabindex="0">${mark(cut ? lines.slice(0, LINES_MAX).join("\n") : shown, words)}</pre><${CopyButton} text=${copy ?? text} label="Copy the exact bytes" /></div>
    ${cut && html`<button class="btn q" onClick=${() => setAll(true)}>Show all ${count(lines.length)} lines</button>`}`;
}

/** Outlines hits of the search. @param {string} text @param {string} words @returns {any} */
function mark(text, words) {
  const needle = words.trim().toLowerCase();
  if (needle === "") return text;
  const hay = text.toLowerCase();
  const out = [];
  let from = 0;
  for (let at = hay.indexOf(needle); at >= 0 && out.length < 400; at = hay.indexOf(needle, from)) {
    out.push(text.slice(from, at), html`<mark>${text.slice(at, at + needle.length)}</mark>`);
    from = at + needle.length;
  }
  out.push(text.slice(from));
  return out;
}

