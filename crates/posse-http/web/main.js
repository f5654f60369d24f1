// The dashboard: login, shell and pages.

import { ApiError, api, isExport, post } from "./api.js";
import { Shell } from "./shell.js";
import { html, render, useEffect, useState } from "./lib.js";
import { listen } from "./route.js";
import { applyTheme } from "./settings.js";
import { connect, loadError, me, startClock } from "./store.js";

/**
 * Takes the single-use code out of the address, before anything else can see it.
 * @returns {string | null}
 */
function takeCode() {
  const code = /^#code=(.+)$/.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, "", location.pathname);
  return code && decodeURIComponent(code);
}

/** @param {string | null} code */
async function enter(code) {
  try {
    me.value = code ? await post("/login", { code }) : await api("/me");
  } catch (e) {
    if (e instanceof ApiError && e.problem.status === 0) {
      setTimeout(() => void enter(code), 1000);
      return;
    }
    if (e instanceof ApiError && code) loadError.value = e.problem;
    me.value = null;
  }
  if (me.value && !("version" in me.value)) me.value = await api("/me");
}

function App() {
  const principal = me.value;
  useEffect(() => { if (principal && !isExport()) void connect(); }, [principal === null, principal === undefined]);
  if (principal === undefined) return html`<main class="center" aria-busy="true"></main>`;
  if (principal === null) return html`<${LoginPage} />`;
  return html`<${Shell} />`;
}

/** @type {any} */
let Login = null;

/** The login page, read only by those who need it. */
function LoginPage() {
  const [, redraw] = useState(0);
  useEffect(() => { void import("./pages/login.js").then((module) => { Login = module.Login; redraw(1); }); }, []);
  return Login ? html`<${Login} onCode=${enter} />` : html`<main class="center" aria-busy="true"></main>`;
}

export function start() {
  applyTheme();
  listen();
  if (!isExport()) startClock();
  render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
}

if (document.getElementById("app")?.dataset.exported === undefined) {
  const code = takeCode();
  start();
  void enter(code);
}
