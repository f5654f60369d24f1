// Unified diffs, shown side by side or as one column.

import { html, useEffect, useState } from "./lib.js";
import { plural, visible } from "./format.js";

/** Equal rows kept around a change. */
const CONTEXT = 3;
/** Rows shown at once. */
const ROWS_MAX = 400;

/** @typedef {{ left: number | null, right: number | null, sign: " " | "+" | "-", text: string, mark?: [number, number] }} DiffLine */
/** @typedef {{ path: string, lines: (DiffLine | { hunk: string })[], added: number, removed: number }} DiffFile */

/** @param {string} patch @returns {DiffFile[]} */
export function parsePatch(patch) {
  /** @type {DiffFile[]} */
  const files = [];
  /** @type {DiffFile | null} */
  let file = null;
  let left = 0, right = 0, leftDue = 0, rightDue = 0;
  for (const line of patch.split("\n")) {
    const inside = leftDue > 0 || rightDue > 0;
    if (!inside && line.startsWith("--- ")) {
      file = { path: pathOf(line.slice(4)), lines: [], added: 0, removed: 0 };
      files.push(file);
    } else if (!inside && line.startsWith("+++ ") && file) {
      const path = pathOf(line.slice(4));
      if (path !== "/dev/null") file.path = path;
    } else if (!inside && line.startsWith("@@")) {
      const m = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
      if (!m) continue;
      if (!file) files.push((file = { path: "", lines: [], added: 0, removed: 0 }));
      [left, leftDue, right, rightDue] = [+m[1], +(m[2] ?? 1), +m[3], +(m[4] ?? 1)];
      file.lines.push({ hunk: line });
    } else if (inside && file) {
      const text = line.slice(1);
      if (line[0] === "+") { file.lines.push({ left: null, right: right++, sign: "+", text }); file.added++; rightDue--; }
      else if (line[0] === "-") { file.lines.push({ left: left++, right: null, sign: "-", text }); file.removed++; leftDue--; }
      else if (line[0] !== "\\") { file.lines.push({ left: left++, right: right++, sign: " ", text }); leftDue--; rightDue--; }
    }
  }
  return files;
}

/** @param {string} name */
const pathOf = (name) => name.replace(/\t.*$/, "").replace(/^"|"$/g, "").replace(/^[ab]\//, "");

/**
 * Pairs removed with added lines and marks the part that differs.
 * @param {DiffFile["lines"]} lines
 * @returns {({ hunk: string } | { left: DiffLine | null, right: DiffLine | null })[]}
 */
export function pairs(lines) {
  /** @type {any[]} */
  const rows = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if ("hunk" in line) { rows.push(line); i++; continue; }
    if (line.sign === " ") { rows.push({ left: line, right: line }); i++; continue; }
    const run = (/** @type {string} */ sign) => {
      const taken = [];
      while (i < lines.length && /** @type {any} */ (lines[i]).sign === sign) taken.push(/** @type {DiffLine} */ (lines[i++]));
      return taken;
    };
    const removed = run("-"), added = run("+");
    if (removed.length === 0 && added.length === 0) { i++; continue; }
    for (let k = 0; k < Math.max(removed.length, added.length); k++) {
      const left = removed[k] ?? null, right = added[k] ?? null;
      if (left && right) markWords(left, right);
      rows.push({ left, right });
    }
  }
  return rows;
}

const WORD = /[\p{L}\p{N}_]/u;

/** @param {DiffLine} left @param {DiffLine} right */
function markWords(left, right) {
  const a = left.text, b = right.text;
  let head = 0, tail = 0;
  const most = Math.min(a.length, b.length);
  while (head < most && a[head] === b[head]) head++;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  if (head + tail < most * 0.25) return;
  while (head > 0 && WORD.test(a[head - 1])) head--;
  while (tail > 0 && WORD.test(a[a.length - tail])) tail--;
  left.mark = [head, a.length - tail];
  right.mark = [head, b.length - tail];
}

/** @param {{ text: string, mark?: [number, number] }} line */
function words({ text, mark }) {
  if (!mark || mark[0] >= mark[1]) return visible(text);
  return [visible(text.slice(0, mark[0])), html`<span class="w">${visible(text.slice(mark[0], mark[1]))}</span>`, visible(text.slice(mark[1]))];
}

/** @param {{ line: DiffLine | null, side: "left" | "right" | "both" }} props */
function Cell({ line, side }) {
  if (!line) return html`<div class="dl e"><span class="ln"></span><span class="sg"></span><span class="tx"></span></div>`;
  const kind = line.sign === "+" ? "a" : line.sign === "-" ? "d" : "";
  const number = side === "right" ? line.right : side === "left" ? line.left : (line.right ?? line.left);
  return html`<div class=${`dl ${kind}`}><span class="ln">${number}</span><span class="sg">${line.sign === "-" ? "−" : line.sign}</span><span class="tx">${words(line)}</span></div>`;
}

/** Tells whether the screen has room for two columns. */
function useWide() {
  const wide = matchMedia("(min-width: 1100px)");
  const [is, set] = useState(wide.matches);
  useEffect(() => {
    const look = () => set(wide.matches);
    wide.addEventListener("change", look);
    return () => wide.removeEventListener("change", look);
  }, []);
  return is;
}

/** @param {{ patch: string, unified?: boolean }} props */
export function Diff({ patch, unified }) {
  const wide = useWide() && !unified;
  const [all, setAll] = useState(false);
  const files = parsePatch(patch);
  if (files.length === 0) return html`<pre class="raw" tabindex="0">${visible(patch)}</pre>`;
  return files.map((file) => {
    const paired = pairs(file.lines);
    const rows = fold(wide ? paired : file.lines.map(single));
    const shown = all ? rows : rows.slice(0, ROWS_MAX);
    return html`<div class=${wide ? "diff" : "diff one"} tabindex="0" role="group" aria-label=${`Diff of ${file.path}`}>
      ${wide ? html`<div class="col">${shown.map((row) => row.note !== undefined ? html`<div class="dl h">${row.note}</div>` : html`<${Cell} line=${row.left} side="left" />`)}</div>
        <div class="col">${shown.map((row) => row.note !== undefined ? html`<div class="dl h"> </div>` : html`<${Cell} line=${row.right} side="right" />`)}</div>`
      : html`<div class="col">${shown.map((row) => row.note !== undefined ? html`<div class="dl h">${row.note}</div>` : html`<${Cell} line=${row.line ?? row.left} side="both" />`)}</div>`}
      ${rows.length > shown.length && html`<button class="btn q more" onClick=${() => setAll(true)}>Show all ${plural(rows.length, "line")}</button>`}</div>`;
  });
}

/** @param {DiffFile["lines"][number]} line @returns {any} */
const single = (line) => ("hunk" in line ? line : line.sign === " " ? { left: line, right: line } : { line });

/** Folds equal runs after three lines. @param {any[]} rows */
function fold(rows) {
  const equal = (/** @type {any} */ row) => row && !row.hunk && row.left && row.left === row.right;
  const out = [];
  for (let i = 0; i < rows.length;) {
    if (rows[i].hunk) { out.push({ note: rows[i].hunk }); i++; continue; }
    if (!equal(rows[i])) { out.push(rows[i++]); continue; }
    let end = i;
    while (equal(rows[end])) end++;
    if (end - i > 2 * CONTEXT + 1) out.push(...rows.slice(i, i + CONTEXT), { note: `${end - i - 2 * CONTEXT} equal lines` }, ...rows.slice(end - CONTEXT, end));
    else out.push(...rows.slice(i, end));
    i = end;
  }
  return out;
}
