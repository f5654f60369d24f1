// The keyboard: single keys act in lists and details, never in a field.

import { dialog } from "./actions.js";
import { go, route } from "./route.js";
import { help, openPalette, palette } from "./palette.js";
import { singleKeys } from "./settings.js";
import { useEffect } from "./lib.js";

/** @type {Record<string, string>} */
const GO = { o: "overview", a: "approvals", t: "tasks", l: "timeline", c: "changes", b: "budget" };

let wentAt = 0;

export function useKeys() {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

/** @param {KeyboardEvent} e */
function onKey(e) {
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
    e.preventDefault();
    openPalette();
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || dialog.value || palette.value || help.value) return;
  const at = /** @type {HTMLElement} */ (e.target);
  if (at.closest("input,textarea,select,dialog,[contenteditable]")) {
    if (e.key === "Escape") at.blur();
    return;
  }
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    if (!at.closest("[role=treegrid],[role=tablist],pre")) move(e.key === "ArrowDown" ? 1 : -1, e);
    return;
  }
  if (e.key === "Escape") {
    const { page, id, tab } = route.value;
    if (id) go(page, tab ? id : "");
    return;
  }
  if (singleKeys.value && e.key.length === 1) single(e, at);
}

/** @param {KeyboardEvent} e @param {HTMLElement} at */
function single(e, at) {
  const key = e.key.toLowerCase();
  if (Date.now() - wentAt < 1500 && GO[key]) {
    wentAt = 0;
    e.preventDefault();
    return go(GO[key]);
  }
  if (key === "g") { wentAt = Date.now(); return; }
  if (key === "j" || key === "k") return move(key === "j" ? 1 : -1, e);
  if (e.key === "?") { help.value = true; return; }
  if (key === "/") return press(document.querySelector("[data-search]"), e);
  if (key === "n") return next(e);
  const name = e.key === "D" ? "shift-d" : e.key;
  const row = at.closest("[data-row]") ?? document.querySelector("[data-keys]");
  press(row?.querySelector(`[data-key-for="${CSS.escape(name)}"]`) ?? document.querySelector(`[data-keys] [data-key-for="${CSS.escape(name)}"]`), e);
}

/** @param {Element | null | undefined} target @param {KeyboardEvent} e */
function press(target, e) {
  if (!(target instanceof HTMLElement) || target.hasAttribute("disabled")) return;
  e.preventDefault();
  if (target.matches("input,textarea")) target.focus();
  else target.click();
}

/** @param {number} by @param {KeyboardEvent} e */
function move(by, e) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-row]")]);
  if (rows.length === 0) return;
  const current = document.activeElement?.closest("[data-row]");
  const index = current ? rows.indexOf(/** @type {HTMLElement} */ (current)) : by > 0 ? -1 : rows.length;
  const row = rows[Math.min(rows.length - 1, Math.max(0, index + by))];
  e.preventDefault();
  focusRow(row);
}

/** @param {HTMLElement} row */
function focusRow(row) {
  const target = row.matches("[tabindex],a,button") ? row : /** @type {HTMLElement | null} */ (row.querySelector("a,button"));
  target?.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** Goes to the next thing that needs a person. @param {KeyboardEvent} e */
function next(e) {
  e.preventDefault();
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("main [data-ask]")]);
  if (rows.length === 0) return go("approvals");
  const current = document.activeElement?.closest("[data-ask]");
  focusRow(rows[(rows.indexOf(/** @type {HTMLElement} */ (current)) + 1) % rows.length]);
}
