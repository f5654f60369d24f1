// Choices of this browser.

import { signal } from "./lib.js";

/** @param {string} name */
function stored(name) {
  try { return localStorage.getItem(`posse.${name}`); } catch { return null; }
}

/** @param {string} name @param {string} value */
function keep(name, value) {
  try { localStorage.setItem(`posse.${name}`, value); } catch { /* a private window */ }
}

/** `light`, `dark`, or `system`. */
export const theme = signal(stored("theme") ?? "system");
/** Single keys act, such as A for approve. */
export const singleKeys = signal(stored("keys") !== "off");
export const notify = signal(stored("notify") === "on" && typeof Notification !== "undefined" && Notification.permission === "granted");

export function applyTheme() {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

export function switchTheme() {
  const dark = theme.value === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme.value === "dark";
  theme.value = dark ? "light" : "dark";
  keep("theme", theme.value);
  applyTheme();
}

export function switchKeys() {
  singleKeys.value = !singleKeys.value;
  keep("keys", singleKeys.value ? "on" : "off");
}

export async function switchNotify() {
  if (notify.value) notify.value = false;
  else if (typeof Notification !== "undefined") notify.value = (await Notification.requestPermission()) === "granted";
  keep("notify", notify.value ? "on" : "off");
}
