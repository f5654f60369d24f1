// Addresses of pages: `#/page/id/tab?name=value`.

import { signal } from "./lib.js";

/** @typedef {{ page: string, id: string, tab: string, params: URLSearchParams }} Route */

/** @returns {Route} */
function parse() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page = "", id = "", tab = ""] = path.split("/").map(decode);
  return { page: page || "overview", id, tab, params: new URLSearchParams(search) };
}

/** @param {string} text */
function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

export const route = signal(parse());

export function listen() {
  addEventListener("hashchange", () => { route.value = parse(); });
}

/** @param {string} page @param {string} [id] @param {string} [tab] @param {Record<string, string>} [params] */
export function href(page, id, tab, params) {
  const path = [page, id, tab].filter(Boolean).map((part) => encodeURIComponent(/** @type {string} */ (part))).join("/");
  const search = params ? `?${new URLSearchParams(params)}` : "";
  return `#/${path}${search}`;
}

/** @param {string} page @param {string} [id] @param {string} [tab] @param {Record<string, string>} [params] */
export const go = (page, id, tab, params) => { location.hash = href(page, id, tab, params); };
