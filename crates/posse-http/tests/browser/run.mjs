// Tests of the dashboard in Chromium, against the fixture server.
// node run.mjs MODULES [--pictures DIRECTORY] [--only WORD] [--program POSSE] [--writer EXAMPLE]; MODULES has playwright-core and axe-core in `node_modules`.

import { createRequire } from "node:module";
import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";
import { XSS, story } from "./story.mjs";
import { serve } from "./fixture.mjs";

const [modules, ...options] = process.argv.slice(2);
const option = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : null);
const require = createRequire(join(resolve(modules), "package.json"));
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const ARGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const DESK = { width: 1440, height: 900 }, PHONE = { width: 390, height: 844 };
const ROOT = "k3f9a2c7", TASK = `${ROOT}.t_02`;

/** Addresses of every page, with a text that must be there. */
const PAGES = [
  ["overview", "Needs input"], ["approvals", "If you approve, it counts for"], [`approvals/${encodeURIComponent("m7q2x1zz.t_14:1")}`, "Use USD"], ["tasks", "orchestrator"], [`tasks/${TASK}`, "Last steps"], [`tasks/${TASK}/transcript`, "Turn 2"],
  ["tasks/d0x9k2m4/evidence", "3 of 3 checks passed"], [`tasks/${TASK}/events`, "tool started"], [`tasks/${TASK}/changes`, "config/pool.toml"], [`timeline/${ROOT}`, "Where did the time go"], ["timeline", "Choose a tree"], [`changes/${ROOT}`, "3 files"],
  [`context/${ROOT}/findings_summary`, "Timeouts start"], ["leases", "deploy/checkout/**"], ["budget", "Budget tree"], [`budget/${ROOT}`, "remediator"], ["agents/migrator", "raise"], ["more", "Timeline"],
];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGS });
const failures = [];
/** Pictures that the documentation shows; `--all` makes every one. */
const DOCUMENTED = ["overview desk light", "overview desk dark", "task desk dark", "approvals desk light", "timeline desk light", "transcript desk light", "budget desk dark", "overview phone dark", "approvals phone light"];
const MEASURED = /within|smooth/;

/** Opens a page that is logged in; console errors fail the test. */
async function open({ state = story(), scopes, hash = "overview", size = DESK, scheme = "light", cookie = true } = {}) {
  const fixture = await serve(state, { scopes });
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, reducedMotion: "reduce", hasTouch: size === PHONE });
  if (cookie) await context.addCookies([{ name: "posse", value: "1", url: fixture.url }]);
  const page = await context.newPage();
  const errors = [];
  page.on("console", (m) => { if (m.type() === "error" && !m.text().includes("Failed to load resource")) errors.push(m.text()); });
  page.on("pageerror", (e) => errors.push(e.message));
  page.setDefaultTimeout(20_000);
  await page.goto(`${fixture.url}/#/${hash}`);
  const close = async () => {
    await context.close();
    fixture.server.closeAllConnections();
    fixture.server.close();
    assert.deepEqual(errors, []);
  };
  return { page, fixture, state, context, close, go: (to) => page.evaluate((h) => { location.hash = `#/${h}`; }, to), has: (text) => page.getByText(text).first().waitFor() };
}

const TESTS = {
  async "login exchanges the code of the fragment and takes it out of the address"() {
    const t = await open({ cookie: false });
    await t.has("Log in");
    await t.page.goto(`${t.fixture.url}/#code=good`);
    await t.page.reload();
    await t.page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(await t.page.evaluate(() => location.hash), "");
    assert.ok(t.fixture.calls.every((call) => !call.includes("good")), "the code is in no address");
    assert.equal((await t.context.cookies())[0].httpOnly, true);
    await t.close();
  },
  async "login says why a code does not work"() {
    const t = await open({ cookie: false });
    await t.page.getByLabel("Link or code").fill("http://127.0.0.1:7717/#code=old");
    await t.page.getByRole("button", { name: "Log in" }).click();
    await t.has("This code was used or is unknown");
    await t.close();
  },
  async "every page shows its facts, axe finds nothing, nothing scrolls sideways"() {
    const t = await open();
    await t.has("Needs input");
    for (const [hash, text] of PAGES) {
      await t.go(hash);
      await t.page.locator("main").getByText(text).first().waitFor().catch((e) => { throw new Error(`${hash} does not show “${text}”: ${e.message}`); });
      await axe(t.page, hash);
      await widths(t.page, hash);
    }
    await t.close();
  },
  async "axe finds nothing in the dark"() {
    const t = await open({ scheme: "dark" });
    await t.has("Needs input");
    for (const [hash, text] of PAGES) {
      await t.go(hash);
      await t.page.locator("main").getByText(text).first().waitFor();
      await axe(t.page, `${hash} dark`, ["color-contrast", "link-in-text-block"]);
    }
    await t.close();
  },
  async "axe finds nothing on a phone"() {
    const t = await open({ size: PHONE });
    await t.has("Needs input");
    for (const [hash] of PAGES.slice(0, 8)) {
      await t.go(hash);
      await t.page.locator("main").waitFor();
      await axe(t.page, `${hash} phone`);
    }
    await t.close();
  },
  async "an event is on the screen within a second"() {
    const t = await open();
    await t.has("k6 run bench/load/checkout.js");
    const started = Date.now();
    t.fixture.tell({ task_id: `${ROOT}.t_07`, type: "tool_started", call: "4.0", tool: "bash", summary: "k6 run --vus 400" });
    t.fixture.change(`${ROOT}.t_07`, { activity: { kind: "tool", since: new Date().toISOString(), tool: "bash", summary: "k6 run --vus 400", until: null } });
    await t.has("k6 run --vus 400");
    assert.ok(Date.now() - started < 1000, `${Date.now() - started} ms`);
    await t.close();
  },
  async "approving sends the hash that was shown, with a receipt"() {
    const t = await open();
    await t.page.getByRole("button", { name: "Approve once" }).click();
    await t.has("Approved once: bash kubectl");
    const sent = t.fixture.log.find((r) => r.path === "/approvals/ap_8f25");
    assert.deepEqual(sent.body, { verdict: "approve", hash: "9f2c1e41b07a", scope: "once" });
    await t.page.getByRole("button", { name: "Approve once" }).waitFor({ state: "detached" });
    await t.close();
  },
  async "a wider scope is approved with a second press, and another call is refused"() {
    const t = await open({ hash: "approvals/ap_8f25" });
    await t.page.getByLabel("Subtree").check();
    t.state.approvals.get("ap_8f25").hash = "changed";
    await t.page.getByRole("button", { name: "Approve for the subtree…" }).click();
    assert.equal(t.fixture.log.filter((r) => r.method === "POST").length, 0);
    await t.page.getByRole("button", { name: "Approve for the subtree" }).click();
    await t.has("APPROVAL_MISMATCH");
    assert.equal(t.fixture.log.find((r) => r.method === "POST").body.scope, "subtree");
    await t.close();
  },
  async "denying with a note sends the note"() {
    const t = await open({ hash: "approvals/ap_8f25" });
    await t.page.getByRole("button", { name: "Deny with a note" }).click();
    await t.page.getByRole("dialog").getByRole("textbox").fill("not during the sale");
    await t.page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
    await t.has("Denied: bash kubectl");
    assert.equal(t.fixture.log.find((r) => r.method === "POST").body.reason, "not during the sale");
    await t.close();
  },
  async "a question is answered with an option and in own words"() {
    const t = await open();
    await t.page.getByRole("button", { name: "Use USD" }).click();
    await t.has("Answered migrator t_14: Use USD");
    assert.deepEqual(t.fixture.log.find((r) => r.method === "POST").body, { answer: "Use USD" });
    t.fixture.change(`${ROOT}.t_01`, { group: "needs_input", question: { task_id: `${ROOT}.t_01`, id: 1, question: "Which branch?", options: [] } });
    t.fixture.tell({ task_id: `${ROOT}.t_01`, type: "question", id: 1, question: "Which branch?", options: [] }, true);
    await t.has("Which branch?");
    await t.page.getByRole("button", { name: "Reply…" }).click();
    await t.page.getByRole("dialog").getByRole("textbox").fill("main");
    await t.page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
    await t.has("Answered researcher t_01: main");
    await t.close();
  },
  async "steering tells queued, then delivered"() {
    const t = await open({ hash: `tasks/${ROOT}.t_07` });
    await t.page.getByRole("textbox", { name: /Steer/ }).fill("use 400 users");
    await t.page.getByRole("button", { name: "Send" }).click();
    await t.has("Steer queued for load-tester t_07");
    const key = t.state.messages.get(`${ROOT}.t_07`)[0].key;
    t.fixture.tell({ task_id: `${ROOT}.t_07`, type: "steer", key, receipt: "delivered", turn: 4 }, true);
    await t.has("Steer delivered: load-tester t_07");
    await t.has("delivered at turn 4");
    await t.close();
  },
  async "cancel names what stops and asks first"() {
    const t = await open({ hash: `tasks/${ROOT}` });
    await t.has("waits for 4 subtasks");
    await t.page.getByRole("button", { name: "Stop tree" }).click();
    await t.has("Cancel orchestrator k3f9a2c7 and 6 subtasks?");
    await t.page.getByRole("button", { name: "Keep it" }).click();
    assert.equal(t.fixture.log.filter((r) => r.method === "POST").length, 0);
    await t.page.getByRole("button", { name: "Stop tree" }).click();
    await t.page.getByRole("dialog").getByRole("button", { name: /^Cancel/ }).click();
    await t.page.locator(".toast").getByText("cancelled", { exact: false }).first().waitFor();
    await t.page.locator("[role=treegrid] .c-cancelled").first().waitFor();
    await t.close();
  },
  async "an interrupted task is resumed, a worktree is applied and discarded"() {
    const t = await open({ hash: "tasks/x0int3rr" });
    await t.page.getByRole("button", { name: "Resume", exact: true }).click();
    await t.has("a process has taken it over");
    await t.go("changes/d0x9k2m4");
    await t.page.getByRole("button", { name: "Apply 1 file to the project" }).click();
    await t.has("1 file written to");
    await t.page.locator(".chip", { hasText: "applied" }).waitFor();
    t.state.changes.get("d0x9k2m4").applied = false;
    await t.page.reload();
    await t.page.getByRole("button", { name: "Discard" }).click();
    await t.page.getByRole("dialog").getByRole("button", { name: "Discard the changes" }).click();
    await t.has("worktree removed");
    await t.has("No file changed");
    await t.close();
  },
  async "a reload in the middle comes back to the same place"() {
    const t = await open({ hash: `tasks/${TASK}/transcript` });
    await t.has("Turn 2");
    await t.page.reload();
    await t.has("Turn 2");
    assert.equal(await t.page.evaluate(() => location.hash), `#/tasks/${TASK}/transcript`);
    await t.close();
  },
  async "a lost connection is said within five seconds, and events are replayed"() {
    const t = await open();
    await t.has("Needs input");
    const port = new URL(t.fixture.url).port;
    t.fixture.tell({ task_id: `${ROOT}.t_07`, type: "tool_started", call: "3.0", tool: "bash", summary: "k6 run --vus 300" });
    await t.has("k6 run --vus 300");
    t.fixture.drop();
    t.fixture.server.close();
    t.fixture.server.closeAllConnections();
    const started = Date.now();
    await t.has("Connection lost");
    assert.ok(Date.now() - started < 5000);
    t.fixture.tell({ task_id: `${ROOT}.t_07`, type: "tool_finished", call: "3.0", tool: "bash", is_error: false, in_doubt: false, duration_ms: 9 });
    await new Promise((resolve) => t.fixture.server.listen(Number(port), "127.0.0.1", resolve));
    await t.page.getByRole("button", { name: "Try now" }).click();
    await t.has("1 event replayed");
    await t.close();
  },
  async "what cannot be read is unknown and what lost its process is interrupted; neither is completed"() {
    const state = story();
    Object.assign(state.tasks.get("x0int3rr"), { agent: "strange", status: "melted", activity: null });
    const t = await open({ state });
    const row = t.page.locator(".tr", { hasText: "strange" });
    await row.getByText("unknown").first().waitFor();
    assert.equal(await row.locator(".c-completed").count(), 0);
    Object.assign(state.tasks.get("x0int3rr"), { status: "interrupted" });
    t.fixture.tell({ task_id: "x0int3rr", type: "interrupted" }, true);
    await row.getByText("interrupted").first().waitFor();
    assert.equal(await row.locator(".c-completed").count(), 0);
    await t.close();
  },
  async "a token that only reads has no actions"() {
    const t = await open({ scopes: ["read"] });
    await t.has("read only");
    for (const [hash, text] of [["overview", "kubectl"], ["approvals", "This token cannot answer"], [`tasks/${TASK}`, "Last steps"], ["tasks/x0int3rr", "Sandbox"], ["changes/d0x9k2m4", "session.rs"], ["leases", "archive/**"], [`context/${ROOT}/findings_summary`, "Timeouts start"]]) {
      await t.go(hash);
      await t.page.locator("main").getByText(text).first().waitFor();
      for (const name of [/^Approve/, /^Deny/, /^Reply/, /^Send/, /^Cancel/, /^Resume/, /^Apply/, /^Discard/, /^Release/, /^Write/, /^Stop/]) assert.equal(await t.page.getByRole("button", { name }).count(), 0, `${hash}: ${name}`);
    }
    await t.close();
  },
  async "the keyboard alone goes from the overview to an approved call, through the tree and the palette"() {
    const t = await open();
    await t.has("Needs input");
    const key = (k) => t.page.keyboard.press(k);
    await key("n");
    await key("Shift+D");
    await t.page.getByRole("dialog").waitFor();
    await key("Escape");
    await t.page.getByRole("dialog").waitFor({ state: "detached" });
    await key("a");
    await t.has("Approved once");
    await key("g");
    await key("t");
    await t.page.getByRole("treegrid").waitFor();
    await t.page.locator("[role=row][tabindex='0']").first().focus();
    await key("ArrowDown");
    await key("Enter");
    await t.page.waitForFunction(() => location.hash.startsWith("#/tasks/"));
    await t.page.locator("section.det[data-keys]").waitFor();
    await key("t");
    await t.page.waitForFunction(() => location.hash.endsWith("/transcript"));
    await t.page.locator("[data-search]").waitFor();
    await key("/");
    assert.equal(await t.page.evaluate(() => document.activeElement?.hasAttribute("data-search")), true);
    await key("Escape");
    await key("Control+k");
    await t.page.keyboard.type("remed");
    await key("Enter");
    await t.page.waitForFunction((id) => location.hash === `#/tasks/${id}`, TASK);
    await key("?");
    await t.has("next thing that needs you");
    await axe(t.page, "keys");
    await t.close();
  },
  async "a single key does nothing in a field"() {
    const t = await open({ hash: `tasks/${TASK}` });
    await t.page.getByRole("textbox", { name: /Steer/ }).fill("");
    await t.page.keyboard.type("a plan dx");
    assert.equal(await t.page.getByRole("textbox", { name: /Steer/ }).inputValue(), "a plan dx");
    assert.equal(t.fixture.log.filter((r) => r.method === "POST").length, 0);
    await t.close();
  },
  async "a phone shows the whole command, and targets are large enough"() {
    const t = await open({ size: PHONE });
    const code = t.page.locator(".ask code").first();
    await code.waitFor();
    assert.equal(await code.evaluate((e) => e.scrollWidth <= e.clientWidth + 1), true);
    for (const button of await t.page.locator(".ask .acts .btn:visible, .tab a").all()) assert.ok((await button.boundingBox()).height >= 44);
    await t.go("approvals/ap_8f25");
    const [deny, approve] = [await t.page.getByRole("button", { name: "Deny" }).boundingBox(), await t.page.getByRole("button", { name: "Approve once" }).boundingBox()];
    assert.ok(approve.width / deny.width > 1.3 && approve.x > deny.x && approve.y + approve.height <= PHONE.height);
    await t.page.getByRole("button", { name: "Approve once" }).tap();
    await t.has("Approved once");
    await t.close();
  },
  async "text of models and tools stays text"() {
    const state = story();
    const all = XSS.join("\n\n");
    const task = state.tasks.get(TASK);
    Object.assign(task, { title: XSS[0], agent: XSS[2] });
    state.texts = new Map([[TASK, all]]);
    state.transcripts.set(TASK, [{ type: "message", role: "user", task_id: TASK, text: all }, { type: "message", role: "assistant", task_id: TASK, turn: 1, model: "m", text: all, thinking: all, tool_calls: [{ call: "1.0", name: XSS[0], arguments: { path: XSS[1], edits: [{ old: all, new: `${all}!` }] } }] }, { type: "message", role: "tool", task_id: TASK, turn: 1, call: "1.0", name: "x", text: all, is_error: true }]);
    state.answers = new Map([["d0x9k2m4", all]]);
    Object.assign(state.approvals.get("ap_8f25"), { tool: XSS[0], arguments: JSON.stringify({ command: all }), why: all, shown: all, covers: XSS });
    Object.assign(state.tasks.get("m7q2x1zz.t_14").question, { question: all, options: XSS.slice(0, 3) });
    Object.assign(state.context.get(ROOT)[1], { value: all, written_by: XSS[0] });
    Object.assign(state.agents[1], { description: XSS[0], remarks: [{ severity: "error", line: 1, text: all, hint: all }] });
    state.changes.get(ROOT).files[0].path = XSS[0];
    const t = await open({ state });
    await t.has("Needs input");
    for (const hash of ["overview", "approvals/ap_8f25", `approvals/${encodeURIComponent("m7q2x1zz.t_14:1")}`, `tasks/${TASK}`, `tasks/${TASK}/transcript`, `tasks/${TASK}/events`, "tasks/d0x9k2m4/evidence", `changes/${ROOT}`, `context/${ROOT}/findings_summary`, "agents/researcher"]) {
      await t.go(hash);
      await t.page.locator("main").getByText("onerror").first().waitFor({ timeout: 3000 }).catch(() => assert.match(hash, /events/));
      assert.equal(await t.page.evaluate(() => window.pwned), undefined, hash);
      const made = await t.page.evaluate(() => [...document.querySelectorAll("#app :is(img,iframe,script,style,base,object,embed)"), ...[...document.querySelectorAll("a")].filter((a) => !/^(https?:|#|$)/.test(a.getAttribute("href") ?? ""))].map((e) => e.outerHTML));
      assert.deepEqual(made, [], hash);
    }
    await t.go(`tasks/${TASK}/transcript`);
    await t.has("⟨202E⟩");
    await t.close();
  },
  ...(option("--writer") ? { "an exported tree opens from a file, asks no server and changes nothing": exportedPage } : {}),
  ...(option("--program") ? { "the program itself: log in by its link, approve a call, read the end"() { return realProgram(resolve(option("--program"))); } } : {}),
  async "a thousand tasks and a hundred thousand events stay smooth"() {
    const state = story();
    const sample = state.tasks.get(`${ROOT}.t_07`);
    for (let i = 0; i < 1000; i++) state.tasks.set(`big${i}`, { ...sample, task_id: `big${i}`, session_id: `big${i}`, parent: null, agent: `worker-${i}`, title: `Task ${i}`, created_at: state.ago(200, i) });
    state.events.set(TASK, Array.from({ length: 100_000 }, (_, seq) => ({ v: 1, seq, task_id: TASK, at: state.ago(9), type: "tool_started", call: `${seq}.0`, tool: "read", summary: `file ${seq}` })));
    const t = await open({ state });
    await t.has("worker-999");
    assert.ok((await t.page.locator("[data-row]").count()) < 120, "rows outside the screen are not rendered");
    // The median: other programs may delay single frames.
    const usual = await t.page.evaluate(async () => {
      const body = document.querySelector("main.body");
      const times = [];
      for (let i = 1; i <= 20; i++) {
        const started = performance.now();
        body.scrollTop = (body.scrollHeight * i) / 20;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        times.push(performance.now() - started);
      }
      return times.sort((a, b) => a - b)[10];
    });
    assert.ok(usual < 150, `two frames take ${usual} ms`);
    await t.go(`tasks/${TASK}/events`);
    await t.page.getByText("file 0", { exact: false }).first().waitFor();
    for (let i = 0; i < 30; i++) await t.page.evaluate(() => { const box = document.querySelector(".db"); box.scrollTop = box.scrollHeight; return new Promise((resolve) => requestAnimationFrame(resolve)); });
    assert.ok((await t.page.locator(".er").count()) < 150);
    await t.close();
  },
  async "the first paint transfers at most 100 KB"() {
    const t = await open();
    await t.has("Needs input");
    assert.ok(t.fixture.transferred <= 100_000, `${t.fixture.transferred} bytes`);
    process.stderr.write(`   first paint: ${t.fixture.transferred} bytes\n`);
    await t.close();
  },
};

/** Opens a page that the writer of exports made of the story. */
async function exportedPage() {
  const fixture = await serve(story());
  const html = await exported(fixture, XSS.join("\n\n"));
  fixture.server.close();
  const directory = mkdtempSync(join(tmpdir(), "posse-export-"));
  const file = join(directory, "task.html");
  writeFileSync(file, html);
  const page = await browser.newPage({ viewport: DESK });
  const errors = [], asked = [];
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) asked.push(r.url()); });
  page.setDefaultTimeout(10_000);
  await page.goto(pathToFileURL(file).href);
  for (const [hash, text] of [[`tasks/${ROOT}`, "Exported page"], [`tasks/${TASK}/transcript`, "Turn 2"], [`changes/${ROOT}`, "3 files"], [`timeline/${ROOT}`, "Where did the time go"], [`budget/${ROOT}`, "Budget tree"], [`tasks/${TASK}`, "Last steps"]]) {
    await page.evaluate((h) => { location.hash = `#/${h}`; }, hash);
    await page.getByText(text).first().waitFor().catch((e) => { throw new Error(`${hash} does not show “${text}”: ${e.message} ${errors}`); });
    for (const name of [/^Approve/, /^Send/, /^Cancel/, /^Stop/, /^Resume/]) assert.equal(await page.getByRole("button", { name }).count(), 0);
  }
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.deepEqual([errors, asked], [[], []]);
  await page.close();
  rmSync(directory, { recursive: true });
}

/** Drives a real server and a real task with a scripted model. */
async function realProgram(program) {
  const directory = mkdtempSync(join(tmpdir(), "posse-dashboard-"));
  const env = { PATH: process.env.PATH, HOME: directory, POSSE_STATE: join(directory, "state"), LANG: "C.UTF-8" };
  const script = join(directory, "script.yaml");
  writeFileSync(script, "- text: I write it.\n  calls:\n    - write: {path: made.txt, content: made}\n- text: Made **made.txt**.\n");
  const start = (...given) => spawn(program, given, { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] });
  const server = start("serve", "--listen", "127.0.0.1:0");
  const task = start("run", "--json", "--mode", "ask", "--approvals", "ask", "--model", `scripted:${script}`, "Make the file");
  const page = await browser.newPage({ viewport: DESK });
  const errors = [];
  page.on("console", (m) => { if (m.type() === "error") errors.push(m.text()); });
  page.on("pageerror", (e) => errors.push(e.message));
  page.setDefaultTimeout(30_000);
  try {
    await page.goto(await said(server.stdout, /http\S+#code=\S+/));
    await page.getByRole("button", { name: "Approve once" }).click();
    await page.getByText("Approved once: write made.txt", { exact: true }).waitFor();
    await page.locator(".tr .c-completed").first().waitFor();
    await page.getByText("Made made.txt.").first().waitFor();
    assert.equal(await page.evaluate(() => location.hash), "");
    assert.equal(readFileSync(join(directory, "made.txt"), "utf8"), "made");
    for (const name of ["Tasks", "Changes", "Timeline", "Context", "Leases", "Budget", "Agents"]) {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor().catch(() => page.getByRole("heading", { level: 1, name: "Shared context" }).waitFor());
    }
    assert.deepEqual(errors, []);
  } finally {
    await page.close();
    const ended = Promise.all([server, task].map((child) => child.exitCode !== null || new Promise((done) => child.once("exit", done))));
    for (const child of [server, task]) child.kill();
    await ended;
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Waits for a text on a pipe. */
function said(pipe, pattern) {
  return new Promise((found, failed) => {
    let text = "";
    pipe.on("data", (chunk) => {
      text += chunk;
      const match = pattern.exec(text);
      if (match) found(match[0]);
    });
    pipe.on("close", () => failed(new Error(`it ended without ${pattern}: ${text}`)));
  });
}

/** Writes the page of a tree as the program does, with the answers of the fixture. */
async function exported(fixture, text) {
  const tree = (await fixture.route("GET", `/tasks/${ROOT}/tree`, new URLSearchParams(), {})).items;
  fixture.state.texts = new Map([[TASK, text]]);
  const answers = {};
  for (const { task_id: id } of tree) for (const part of ["", "/tree", "/events", "/transcript", "/budget", "/diff"]) {
    const path = `/tasks/${id}${part}`;
    answers[path] = await fixture.route("GET", path, new URLSearchParams({ limit: "100000" }), {});
  }
  const data = { exported_at: new Date().toISOString(), version: "0.0.0", root: ROOT, tasks: tree, answers };
  const printing = promisify(execFile)(resolve(option("--writer")), [], { encoding: "utf8", maxBuffer: 64 << 20 });
  printing.child.stdin.end(JSON.stringify(data));
  return (await printing).stdout;
}

async function axe(page, where, rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const found = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly, resultTypes: ["violations"] }), rules);
  const list = found.violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary?.split("\n")[1] ?? ""}`));
  assert.deepEqual(list, [], where);
}

async function widths(page, where) {
  for (const width of [390, 768, 1024, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${where} scrolls sideways by ${over} px at ${width}`);
  }
}

/** Waits until nothing changed for a second. */
async function settled(page) {
  await page.evaluate(() => new Promise((resolve) => {
    let quiet = 0;
    new MutationObserver(() => { quiet = 0; }).observe(document.body, { subtree: true, childList: true });
    const look = () => (++quiet > 60 ? resolve() : requestAnimationFrame(look));
    look();
  }));
}

/** Runs tests until none is left. */
async function work(queue) {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [name, test] = next;
    const started = Date.now();
    try {
      await test();
      process.stderr.write(`ok   ${String(Date.now() - started).padStart(6)} ms  ${name}\n`);
    } catch (e) {
      failures.push(name);
      process.stderr.write(`FAIL ${String(Date.now() - started).padStart(6)} ms  ${name}\n${e.stack}\n`);
    }
  }
}

/** Pictures of the documentation. */
async function pictures(directory) {
  const all = [["overview", "overview"], ["task", `tasks/${TASK}`], ["approvals", "approvals/ap_8f25"], ["transcript", `tasks/${TASK}/transcript`], ["timeline", `timeline/${ROOT}`], ["budget", "budget"], ["changes", `changes/${ROOT}`], ["context", `context/${ROOT}/findings_summary`], ["leases", "leases"], ["agents", "agents/migrator"]];
  for (const scheme of ["light", "dark"]) for (const size of [DESK, PHONE]) {
    const shots = options.includes("--all") ? all : all.filter(([name]) => DOCUMENTED.includes(`${name} ${size === PHONE ? "phone" : "desk"} ${scheme}`));
    for (const [name, hash] of shots) {
      const t = await open({ hash, size, scheme });
      await t.page.locator("main").waitFor();
      await t.page.waitForFunction(() => document.querySelector("main") && !document.querySelector("[aria-busy=true],.sks"));
      await settled(t.page);
      await t.page.screenshot({ path: join(directory, `dashboard-${name}-${size === PHONE ? "phone-" : ""}${scheme}.png`) });
      await t.close();
    }
  }
}

if (option("--pictures")) await pictures(option("--pictures"));
else {
  const chosen = Object.entries(TESTS).filter(([name]) => name.includes(option("--only") ?? ""));
  // Tests that measure run alone; the others side by side.
  const [measured, others] = [chosen.filter(([name]) => MEASURED.test(name)), chosen.filter(([name]) => !MEASURED.test(name))];
  await Promise.all(Array.from({ length: 3 }, () => work(others)));
  await work(measured);
}
await browser.close();
process.exit(failures.length > 0 ? 1 : 0);
