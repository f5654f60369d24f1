// A task as one file: the same pages, answered from the data in the file.

import { embed } from "./api.js";
import { start } from "./main.js";
import { lastFact, loaded, me, now, put } from "./store.js";

/** @type {{ exported_at: string, version: string, root: string, tasks: Task[], answers: Record<string, any> }} */
const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? "{}");

embed(data.answers);
put(data.tasks);
now.value = lastFact.value = Date.parse(data.exported_at);
me.value = { name: "export", scopes: ["read"], expires_at: null, version: data.version, workspace: "", language: "en" };
loaded.value = true;
if (location.hash === "") location.hash = `#/tasks/${data.root}`;
start();
