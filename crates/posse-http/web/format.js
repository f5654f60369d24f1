// Numbers, times and costs as people read them. Every rule has one function.

export const DASH = "–";

/** @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** @param {number} n */
export const count = (n) => n.toLocaleString("en-US");

/** Formats a duration with two units, the second one padded. @param {number} ms @param {boolean} [fine] milliseconds below a second */
export function duration(ms, fine = false) {
  if (!Number.isFinite(ms) || ms < 0) ms = 0;
  if (fine && ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)}s`;
  const s = Math.round(ms / 1000);
  const pad = (/** @type {number} */ n) => String(n).padStart(2, "0");
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${pad(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${pad(Math.floor((s % 3600) / 60))}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

/** Formats a duration of whole seconds, for values that tick. @param {number} ms */
export const elapsed = (ms) => duration(Math.max(0, Math.floor(ms / 1000) * 1000)).replace(/\.0s$/, "s");

/** @param {number | null | undefined} usd */
export function cost(usd) {
  if (usd === null || usd === undefined) return "unknown";
  if (usd === 0) return "$0.00";
  if (usd < 0.01) return usd < 0.0005 ? "<$0.001" : `$${usd.toFixed(3)}`;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Formats tokens with three digits and a unit. @param {number} n */
export function tokens(n) {
  if (n < 1000) return String(n);
  const [value, unit] = n < 999500 ? [n / 1000, "k"] : [n / 1e6, "M"];
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

/** @param {number} part of 1 */
export const percent = (part) => (part > 0 && part < 0.01 ? "<1 %" : `${Math.round(part * 100)} %`);

/** @param {string | null | undefined} iso */
export function clock(iso) {
  if (!iso) return DASH;
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return DASH;
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? time : `${day(iso)} ${time.slice(0, 5)}`;
}

/** @param {string} iso */
export const day = (iso) => new Date(iso).toLocaleDateString("en-US", { month: "short", day: "numeric" });

/** @param {string | null | undefined} iso */
export const since = (iso) => (iso ? Date.parse(iso) : Number.NaN);

/** Returns the last part of a path. @param {string} path */
export const base = (path) => path.replace(/\/+$/, "").split("/").pop() || path;

/** Shortens an id: the part below the session's own task. @param {string} id */
export const shortId = (id) => (id.includes(".") ? id.slice(id.indexOf(".") + 1) : id);

/** Returns the model without its provider, and a script without its directory. @param {string | null | undefined} model */
export const modelName = (model) => (model ? base(model.slice(model.indexOf(":") + 1)) : DASH);

// C0, C1, zero-width, bidi controls and tags, but neither tab nor line feed.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** Makes control and bidi characters visible. @param {string} text */
export const visible = (text) =>
  text.replace(/\r\n/g, "\n").replace(HIDDEN, (c) => `⟨${/** @type {number} */ (c.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** Returns the first line with words. @param {string} text */
export const firstLine = (text) => (text.split("\n").find((line) => line.trim() !== "") ?? "").trim();

/**
 * Names the target of a call: the command, path, pattern or URL; otherwise the arguments as JSON.
 * @param {any} args
 */
export function target(args) {
  if (typeof args === "string") {
    try { args = JSON.parse(args); } catch { return args; }
  }
  if (args === null || typeof args !== "object") return String(args ?? "");
  for (const name of ["command", "path", "file_path", "url", "pattern", "query", "task", "agent", "key"]) {
    if (typeof args[name] === "string" && args[name] !== "") return args[name];
  }
  const keys = Object.keys(args);
  return keys.length === 0 ? "" : JSON.stringify(args);
}
