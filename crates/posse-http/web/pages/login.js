// Login with a single-use code.

import { html, useState } from "../lib.js";
import { capital, Code } from "../components.js";
import { loadError } from "../store.js";
import { Mark } from "../shell.js";

/** @param {{ onCode: (code: string) => Promise<void> }} props */
export function Login({ onCode }) {
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {SubmitEvent} */ e) => {
    e.preventDefault();
    const text = String(new FormData(/** @type {HTMLFormElement} */ (e.target)).get("code") ?? "").trim();
    const code = /code=([^&\s]+)/.exec(text)?.[1] ?? text;
    if (!code) return;
    setBusy(true);
    await onCode(code);
    setBusy(false);
  };
  const problem = loadError.value;
  return html`<main class="center"><form class="card login" onSubmit=${submit}><div class="brand"><${Mark} />Posse</div>
    <h1>Log in</h1><p class="t2">Type this in the terminal of the machine that runs Posse. It prints a link that works once:</p>
    <${Code} text="posse tokens login" label="Copy the command" />
    <label for="code">Link or code</label><input id="code" name="code" class="field" autocomplete="one-time-code" spellcheck="false" required autofocus aria-describedby=${problem ? "why" : undefined} aria-invalid=${problem ? "true" : undefined} />
    ${problem && html`<p id="why" class="c-failed" role="alert">${capital(problem.detail)}${problem.hint ? `. ${capital(problem.hint)}` : ""}</p>`}
    <button class="btn p l" disabled=${busy}>Log in</button></form></main>`;
}
