// One place that names the vendored modules.
import { h } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

export { Fragment, render } from "./vendor/preact.mjs";
export { useEffect, useId, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./vendor/hooks.mjs";
export { batch, computed, effect, signal, untracked, useSignal } from "./vendor/signals.mjs";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(/** @type {any} */ (h));

/**
 * Joins class names; falsy ones are left out.
 * @param {...(string | false | null | undefined)} names
 */
export const cx = (...names) => names.filter(Boolean).join(" ");
