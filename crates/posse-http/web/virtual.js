// A list that renders what is on the screen. Rows may have any height: they are measured when they are first seen.

import { html, useLayoutEffect, useMemo, useReducer, useRef } from "./lib.js";

/** Rows rendered above and below the screen, in pixels. */
const MARGIN = 400;

/**
 * @param {{
 *   items: any[], keyOf: (item: any) => string, estimate: (item: any) => number, render: (item: any, index: number) => any,
 *   class?: string, role?: string, label?: string, version?: unknown, attributes?: Record<string, unknown>, onEnd?: () => void, follow?: boolean,
 * }} props `follow` keeps the end in view while the reader is there
 */
export function VirtualList({ items, keyOf, estimate, render, class: extra, role, label, attributes, onEnd, follow }) {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  const sizes = useRef(/** @type {Map<string, number>} */ (new Map()));
  const focused = useRef(/** @type {string | null} */ (null));
  const [measured, remeasure] = useReducer((/** @type {number} */ n, _) => n + 1, 0);
  const [, redraw] = useReducer((/** @type {number} */ n, _) => n + 1, 0);
  const view = useRef({ top: 0, height: 900 });

  const offsets = useMemo(() => {
    const sums = new Float64Array(items.length + 1);
    for (let i = 0; i < items.length; i++) sums[i + 1] = sums[i] + (sizes.current.get(keyOf(items[i])) ?? estimate(items[i]));
    return sums;
  }, [items, measured]);
  const total = offsets[items.length];
  const first = find(offsets, view.current.top - MARGIN);
  const last = Math.min(items.length, find(offsets, view.current.top + view.current.height + MARGIN) + 1);

  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (host.current);
    const scroller = scrollerOf(element);
    const look = () => {
      const box = scroller.getBoundingClientRect();
      const top = (scroller === document.documentElement ? 0 : box.top) - element.getBoundingClientRect().top;
      const height = scroller === document.documentElement ? innerHeight : box.height;
      if (Math.abs(top - view.current.top) > MARGIN / 4 || height !== view.current.height) {
        view.current = { top, height };
        redraw(0);
      }
      if (onEnd && element.getBoundingClientRect().bottom < box.top + height + MARGIN) onEnd();
    };
    const target = scroller === document.documentElement ? document : scroller;
    target.addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    look();
    return () => {
      target.removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [onEnd, items.length === 0]);

  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (host.current);
    let changed = false;
    for (const child of /** @type {Iterable<HTMLElement>} */ (element.children)) {
      const key = child.dataset.key;
      if (key === undefined) continue;
      const height = child.getBoundingClientRect().height;
      if (height > 0 && Math.abs((sizes.current.get(key) ?? -1) - height) > 0.5) {
        sizes.current.set(key, height);
        changed = true;
      }
    }
    if (changed) remeasure(0);
    refocus(element, focused.current);
    if (follow) {
      const scroller = scrollerOf(element);
      if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 200) scroller.scrollTop = scroller.scrollHeight;
    }
  });

  const onFocus = (/** @type {FocusEvent} */ e) => {
    focused.current = /** @type {HTMLElement} */ (e.target).closest("[data-key]")?.getAttribute("data-key") ?? null;
  };
  const onBlur = (/** @type {FocusEvent} */ e) => { if (e.relatedTarget) focused.current = null; };
  const rows = [];
  for (let i = first; i < last; i++) {
    rows.push(html`<div key=${keyOf(items[i])} data-key=${keyOf(items[i])} role="presentation">${render(items[i], i)}</div>`);
  }
  return html`<div ref=${host} class=${extra} role=${role} aria-label=${label} ...${attributes} onFocusIn=${onFocus} onFocusOut=${onBlur}>
    <div role="presentation" key="above" style=${{ height: `${offsets[first]}px` }}></div>${rows}
    <div role="presentation" key="below" style=${{ height: `${Math.max(0, total - offsets[last])}px` }}></div></div>`;
}

/** Gives the focus back to a row that moved. @param {HTMLElement} element @param {string | null} key */
function refocus(element, key) {
  if (key === null || document.activeElement !== document.body) return;
  for (const child of /** @type {Iterable<HTMLElement>} */ (element.children)) {
    if (child.dataset.key === key) /** @type {HTMLElement | null} */ (child.querySelector("[data-row],a,button"))?.focus({ preventScroll: true });
  }
}

/** Finds the row at a height. @param {Float64Array} offsets @param {number} y */
function find(offsets, y) {
  let low = 0, high = offsets.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (offsets[middle] <= y) low = middle;
    else high = middle - 1;
  }
  return Math.min(low, offsets.length - 1);
}

/** @param {HTMLElement} element @returns {HTMLElement} */
export function scrollerOf(element) {
  for (let e = element.parentElement; e; e = e.parentElement) {
    const flow = getComputedStyle(e).overflowY;
    if ((flow === "auto" || flow === "scroll") && e !== document.body) return e;
  }
  return document.documentElement;
}
