// Icons: 16 × 16, stroke 1.5, drawn with the color of the text.

import { cx, html } from "./lib.js";

/** Paths that are stroked. @type {Record<string, string>} */
const STROKES = {
  agents: "M8.25 5.5a2.25 2.25 0 1 1-4.5 0 2.25 2.25 0 0 1 4.5 0M2 13c0-2.2 1.8-3.5 4-3.5s4 1.3 4 3.5M10.5 3.5a2.1 2.1 0 0 1 0 4M12 9.8c1.3.5 2 1.6 2 3.2",
  back: "M9.5 3.5 5 8l4.5 4.5",
  bell: "M4.5 7a3.5 3.5 0 0 1 7 0c0 3 1.5 4 1.5 4H3s1.5-1 1.5-4M6.8 13.3a1.3 1.3 0 0 0 2.4 0",
  cancelled: "M13.75 8a5.75 5.75 0 1 1-11.5 0 5.75 5.75 0 0 1 11.5 0M4 12l8-8",
  check: "m3.5 8.5 3 3 6-7",
  coin: "M13.75 8a5.75 5.75 0 1 1-11.5 0 5.75 5.75 0 0 1 11.5 0M9.8 6.2C9.4 5.5 8.8 5.2 8 5.2c-1 0-1.8.5-1.8 1.3 0 1.9 3.7.9 3.7 2.9 0 .9-.9 1.4-1.9 1.4-.9 0-1.6-.4-2-1.1M8 4v8",
  completed: "M13.75 8a5.75 5.75 0 1 1-11.5 0 5.75 5.75 0 0 1 11.5 0M5.4 8.2l1.8 1.8 3.5-3.8",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  ctx: "m8 2.5 5.5 3L8 8.5l-5.5-3zM2.5 8.5l5.5 3 5.5-3",
  diff: "M8 3v5M5.5 5.5h5M5.5 12h5",
  doubt: "M8 1.5 14.5 8 8 14.5 1.5 8zM6.6 6.7A1.45 1.45 0 1 1 8 8.2v.5M8 10.8v.05",
  down: "m4.5 6.5 3.5 3.5 3.5-3.5",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  find: "M11.25 7a4.25 4.25 0 1 1-8.5 0 4.25 4.25 0 0 1 8.5 0m-1 3.25 3.25 3.25",
  inbox: "M2.5 9.5 4 3.5h8l1.5 6v3h-11zM2.5 9.5H6c.3 1 1 1.5 2 1.5s1.7-.5 2-1.5h3.5",
  interrupted: "M9 1.75 3.5 9H8l-1 5.25L12.5 7H8z",
  lock: "M5 7h6a1.5 1.5 0 0 1 1.5 1.5V12a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 12V8.5A1.5 1.5 0 0 1 5 7M5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5",
  overview: "M2.5 4h11M2.5 8h11M2.5 12h7",
  rate: "M4.5 2.5h7M4.5 13.5h7M5.25 2.5v1.75C5.25 6 8 7 8 8s-2.75 2-2.75 3.75v1.75M10.75 2.5v1.75C10.75 6 8 7 8 8s2.75 2 2.75 3.75v1.75",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.75h-2.75",
  right: "m6.5 4.5 3.5 3.5-3.5 3.5",
  send: "M13.5 2.5 2.5 7l4.5 2 2 4.5z",
  shield: "M8 2 3 4v3.5c0 3 2 5.2 5 6.5 3-1.3 5-3.5 5-6.5V4z",
  stalled: "M8 2.25 14.25 13H1.75zM8 6.5v3M8 11.2v.05",
  stop: "M5.5 4h5A1.5 1.5 0 0 1 12 5.5v5a1.5 1.5 0 0 1-1.5 1.5h-5A1.5 1.5 0 0 1 4 10.5v-5A1.5 1.5 0 0 1 5.5 4",
  time: "M2.5 4h5M5.5 8h6M9 12h4.5",
  tool: "M4.25 3h7.5a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2h-7.5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2M5 6.5l2 1.75L5 10M8.75 10.25h2.5",
  tree: "M4 3v8.5h4M4 6h4M12.25 6a1.75 1.75 0 1 1-3.5 0 1.75 1.75 0 0 1 3.5 0m0 5.5a1.75 1.75 0 1 1-3.5 0 1.75 1.75 0 0 1 3.5 0",
};
const RING = html`<circle cx="8" cy="8" r="5.75" />`;
/** Icons of more than one stroke. @type {Record<string, any>} */
const SHAPES = {
  dots: html`<path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2" />`,
  failed: html`<circle class="solid" cx="8" cy="8" r="6.5" /><path class="cut" d="m5.8 5.8 4.4 4.4M10.2 5.8l-4.4 4.4" />`,
  model: html`${RING}<path d="M5.4 8h.01M8 8h.01M10.6 8h.01" stroke-width="1.9" />`,
  partial: html`${RING}<path class="solid" d="M8 2.25a5.75 5.75 0 0 0 0 11.5z" />`,
  person: html`<circle class="solid" cx="8" cy="8" r="6.5" /><path class="cut" d="M6.2 6.4A1.85 1.85 0 1 1 8 8.3v.7M8 11.3v.05" stroke-width="1.6" />`,
  queued: html`<circle cx="8" cy="8" r="5.75" stroke-dasharray="1.2 2.4" />`,
  working: html`<circle cx="8" cy="8" r="5.5" opacity=".3" /><path class="spin" d="M8 2.5A5.5 5.5 0 0 1 13.5 8" />`,
  unknown: html`<circle cx="8" cy="8" r="5.75" stroke-dasharray="3 2" /><path d="M6.6 6.7A1.45 1.45 0 1 1 8 8.2v.5M8 10.8v.05" />`,
};

/** @param {{ name: string, label?: string, class?: string }} props */
export function Icon({ name, label, class: extra }) {
  const hidden = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  return html`<svg class=${cx("i", extra)} viewBox="0 0 16 16" ...${hidden}>${SHAPES[name] ?? html`<path d=${STROKES[name]} />`}</svg>`;
}
