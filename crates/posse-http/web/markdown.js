// Markdown of a model as elements. Text stays text: no HTML passes through, no picture is loaded, no link is followed by itself.

import { html } from "./lib.js";
import { visible } from "./format.js";

/** Nesting of quotes and lists that is rendered; deeper ones stay text. */
const DEPTH_MAX = 8;
const FENCE = /^ {0,3}(```+|~~~+)\s*([^`]*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

/** @param {{ text: string }} props */
export const Markdown = ({ text }) => html`<div class="md">${blocks(visible(text).split("\n"), 0)}</div>`;

/** @param {string[]} lines @param {number} depth @returns {any[]} */
function blocks(lines, depth) {
  const out = [];
  for (let i = 0; i < lines.length;) {
    const [block, next] = takeBlock(lines, i, depth);
    if (block !== null) out.push(block);
    i = next;
  }
  return out;
}

/** @param {string[]} lines @param {number} i @param {number} depth @returns {[any, number]} */
function takeBlock(lines, i, depth) {
  const line = lines[i];
  if (line.trim() === "") return [null, i + 1];
  const fence = FENCE.exec(line);
  if (fence) return takeFence(lines, i, fence[1]);
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading) return [html`<p class=${`h h${heading[1].length}`}>${inline(heading[2])}</p>`, i + 1];
  if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [html`<hr />`, i + 1];
  if (/^ {0,3}>/.test(line) && depth < DEPTH_MAX) {
    let end = i;
    while (end < lines.length && /^ {0,3}>/.test(lines[end])) end++;
    return [html`<blockquote>${blocks(lines.slice(i, end).map((l) => l.replace(/^ {0,3}> ?/, "")), depth + 1)}</blockquote>`, end];
  }
  if (ITEM.test(line) && depth < DEPTH_MAX) return takeList(lines, i, depth);
  if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "")) return takeTable(lines, i);
  let end = i + 1;
  while (end < lines.length && lines[end].trim() !== "" && !FENCE.test(lines[end]) && !/^ {0,3}(#{1,6}\s|>)/.test(lines[end]) && !ITEM.test(lines[end])) end++;
  return [html`<p>${inline(lines.slice(i, end).join("\n"))}</p>`, end];
}

/** @param {string[]} lines @param {number} i @param {string} mark @returns {[any, number]} */
function takeFence(lines, i, mark) {
  let end = i + 1;
  while (end < lines.length && !lines[end].trimStart().startsWith(mark)) end++;
  return [html`<pre tabindex="0">${lines.slice(i + 1, end).join("\n")}</pre>`, end + 1];
}

/** @param {string[]} lines @param {number} i @param {number} depth @returns {[any, number]} */
function takeList(lines, i, depth) {
  const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[i]));
  const indent = first[1].length;
  const ordered = /\d/.test(first[2]);
  /** @type {string[][]} */
  const items = [];
  let end = i;
  for (; end < lines.length; end++) {
    const item = ITEM.exec(lines[end]);
    if (item && item[1].length <= indent + 1) {
      if (item[1].length < indent || /\d/.test(item[2]) !== ordered) break;
      items.push([item[3]]);
    } else if (lines[end].trim() === "") {
      if (!/^\s+\S/.test(lines[end + 1] ?? "") && !ITEM.test(lines[end + 1] ?? "")) break;
      items[items.length - 1].push("");
    } else if (item || /^\s{2,}/.test(lines[end])) {
      items[items.length - 1].push(lines[end].slice(Math.min(indent + 2, lines[end].search(/\S/))));
    } else break;
  }
  const children = items.map((item) => {
    const box = /^\[([ xX])\] /.exec(item[0]);
    if (box) item[0] = `${box[1] === " " ? "☐" : "☑"} ${item[0].slice(4)}`;
    return html`<li>${item.length === 1 ? inline(item[0]) : blocks(item, depth + 1)}</li>`;
  });
  return [ordered ? html`<ol start=${Number.parseInt(first[2], 10)}>${children}</ol>` : html`<ul>${children}</ul>`, end];
}

/** @param {string[]} lines @param {number} i @returns {[any, number]} */
function takeTable(lines, i) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  let end = i + 2;
  while (end < lines.length && lines[end].includes("|")) end++;
  const rows = lines.slice(i + 2, end).map(cells);
  return [html`<div class="tbl" tabindex="0"><table><thead><tr>${cells(lines[i]).map((c) => html`<th>${inline(c)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((c) => html`<td>${inline(c)}</td>`)}</tr>`)}</tbody></table></div>`, end];
}

const INLINE = /(`+)([\s\S]*?[^`])\1(?!`)|!?\[([^\]\n]*)\]\(([^)\s]+)[^)]*\)|\*\*([^*\n]+)\*\*|__([^_\n]+)__|~~([^~\n]+)~~|\*([^*\s][^*\n]*)\*|(?<![\w])_([^_\s][^_\n]*)_(?!\w)|(https?:\/\/[^\s<>()`"']+)/g;

/** @param {string} text @returns {any[]} */
function inline(text) {
  const out = [];
  let from = 0;
  for (const m of text.matchAll(INLINE)) {
    if (m.index > from) out.push(text.slice(from, m.index));
    from = m.index + m[0].length;
    if (m[2] !== undefined) out.push(html`<code>${m[2]}</code>`);
    else if (m[4] !== undefined) out.push(anchor(m[4], m[3], m[0]));
    else if (m[5] ?? m[6]) out.push(html`<strong>${m[5] ?? m[6]}</strong>`);
    else if (m[7]) out.push(html`<s>${m[7]}</s>`);
    else if (m[8] ?? m[9]) out.push(html`<em>${m[8] ?? m[9]}</em>`);
    else out.push(anchor(m[10], "", m[0]));
  }
  if (from < text.length) out.push(text.slice(from));
  return out;
}

/**
 * Links to http and https alone, and shows where to; anything else stays the text that it is.
 * @param {string} url @param {string} label @param {string} source
 */
function anchor(url, label, source) {
  let parsed;
  try { parsed = new URL(url); } catch { return source; }
  if (parsed.protocol !== "https:" && parsed.protocol !== "http:") return source;
  const shown = label && label !== url ? [label, html`<span class="t3"> (${parsed.host})</span>`] : url;
  return html`<a href=${parsed.href} target="_blank" rel="noopener noreferrer nofollow">${shown}</a>`;
}
