// A story for the tests and the pictures: an incident in `checkout`, a migration in `ledger`, checks in `docs-site`.

const MINUTE = 60_000;

/** The state that the fixture server answers from. */
export function story({ now = Date.now() } = {}) {
  const ago = (minutes, seconds = 0) => new Date(now - minutes * MINUTE - seconds * 1000).toISOString();
  const ahead = (minutes, seconds = 0) => new Date(now + minutes * MINUTE + seconds * 1000).toISOString();
  const sum = (cost_usd, turns, tasks = 1, input = turns * 9000, output = turns * 480) => ({ tasks, turns, input_tokens: input, output_tokens: output, cost_usd });
  const tasks = new Map();
  const add = (id, parent, agent, title, values) => {
    const workspace = values.workspace ?? (parent ? tasks.get(parent).workspace : "/home/ana/src/docs-site");
    const status = values.status ?? "running";
    const ended = ["completed", "partial", "failed", "cancelled"].includes(status);
    tasks.set(id, {
      task_id: id, session_id: id.split(".")[0], parent, agent, title, workspace, status,
      group: ended ? "completed" : values.approval || values.question ? "needs_input" : "working",
      activity: ended ? null : (values.activity ?? { kind: "working", since: ago(0, 1), tool: null, summary: null, until: null }),
      approval: values.approval ?? null, question: values.question ?? null, model: values.model ?? "anthropic:sonnet-4.5",
      turns: values.turns ?? 0, turns_max: ended ? null : (values.turns_max ?? 12),
      context: values.context ? { used_tokens: values.context[0] * 1000, window_tokens: values.context[1] * 1000 } : null,
      spending: sum(values.own ?? values.cost ?? 0, values.turns ?? 0), tree: sum(values.cost ?? 0, values.turns ?? 0, values.tasks ?? 1),
      cancel_requested: false, driver: ended || status !== "running" ? null : { process: "host-4711", epoch: values.epoch ?? 1, seen_at: ago(0, 1) },
      created_at: values.created, updated_at: ago(0, 1), ended_at: ended ? values.ended : null,
      headline: values.headline ?? null, reason: values.reason ?? null, verified: values.verified ?? null, in_doubt: values.in_doubt ?? 0,
    });
  };
  const doing = (kind, tool, summary, seconds = 4, until = null) => ({ kind, since: ago(0, seconds), tool, summary, until });

  const C = "/home/ana/src/checkout", L = "/home/ana/src/ledger";
  add("k3f9a2c7", null, "orchestrator", "Incident 4127: checkout throughput dropped 30 %", { workspace: C, model: "anthropic:opus-4.5", turns: 4, turns_max: 50, context: [42, 200], cost: 2.61, own: 1.26, tasks: 8, created: ago(18, 20), activity: doing("tool", "subagent", "wait", 63) });
  add("k3f9a2c7.t_01", "k3f9a2c7", "researcher", "Find what changed before 09:14", { turns: 7, context: [62, 200], cost: 0.74, own: 0.41, tasks: 4, created: ago(17, 10), activity: doing("tool", "grep", "“pool_size” in deploy/ · 14 matches so far", 9) });
  add("k3f9a2c7.t_04", "k3f9a2c7.t_01", "log-reader", "Read the logs around 09:14", { status: "completed", model: "anthropic:haiku-4.5", turns: 5, context: [18, 200], cost: 0.04, created: ago(14, 40), ended: ago(13, 20), headline: "Timeouts start at 09:14, one minute after the deploy", verified: null });
  add("k3f9a2c7.t_05", "k3f9a2c7.t_01", "metrics-reader", "Compare throughput before and after", { model: "anthropic:haiku-4.5", turns: 2, turns_max: 8, context: [12, 200], cost: 0.02, created: ago(14, 28), activity: doing("rate_limit", null, "anthropic: 429, second in line", 12, ahead(0, 24)) });
  add("k3f9a2c7.t_06", "k3f9a2c7.t_01", "trace-reader", "Follow one slow request", { model: "google:gemini-2.5-pro", turns: 4, turns_max: 8, context: [840, 1000], cost: 0.27, created: ago(14, 20), activity: doing("retry", null, "no byte for 62 s; retry 2 of 3", 62, ahead(0, 38)) });
  add("k3f9a2c7.t_02", "k3f9a2c7", "remediator", "Revert the pool change in staging, verify, then in production", { turns: 6, context: [46, 200], cost: 0.52, created: ago(9, 41), approval: "ap_8f25", activity: doing("approval", "bash", "kubectl -n payments rollout undo deploy/checkout", 134, ahead(12, 46)) });
  add("k3f9a2c7.t_03", "k3f9a2c7", "writer", "Write the incident report", { status: "queued", model: "anthropic:haiku-4.5", created: ago(9, 40), activity: doing("queued", null, "starts after t_02 (remediator)", 580) });
  add("k3f9a2c7.t_07", "k3f9a2c7", "load-tester", "Measure checkout at 4,000 req/s", { model: "openai:gpt-5-mini", turns: 3, turns_max: 10, context: [38, 272], cost: 0.09, epoch: 2, created: ago(6, 40), activity: doing("tool", "bash", "k6 run bench/load/checkout.js", 41) });

  add("m7q2x1zz", null, "orchestrator", "Move 20 services to the v2 ledger client", { workspace: L, model: "anthropic:opus-4.5", turns: 11, turns_max: 50, context: [88, 200], cost: 14.66, own: 2.96, tasks: 22, created: ago(34, 10), activity: doing("tool", "subagent", "wait for 14 of 21", 20) });
  const kinds = "ccwcwmwcwmcwwqrcwsrq";
  for (let i = 1; i <= 20; i++) {
    const id = `m7q2x1zz.t_${String(i).padStart(2, "0")}`;
    const k = kinds[i - 1];
    const base = { turns: k === "q" ? 0 : 5 + (i % 6), context: [i === 18 ? 166 : 20 + i * 4, 200], cost: k === "q" ? 0 : 0.3 + (i % 5) * 0.11, created: ago(31, 44 - i) };
    const title = `Move service ${i} of 20 to the v2 client`;
    if (i === 14) add(id, "m7q2x1zz", "migrator", title, { ...base, question: { task_id: id, id: 1, question: "orders_archive has 3 rows without a currency. Use USD, or skip the rows?", options: ["Use USD", "Skip the rows"] }, activity: doing("question", null, null, 41) });
    else if (k === "c") add(id, "m7q2x1zz", "migrator", title, { ...base, status: "completed", ended: ago(8 + i), headline: `Service ${i} compiles against v2; 214 tests pass`, verified: { passed: 2, total: 2 } });
    else add(id, "m7q2x1zz", "migrator", title, { ...base, status: k === "q" ? "queued" : "running", activity: { w: doing("working", null, null), m: doing("model", null, null, 3), r: doing("rate_limit", null, "anthropic: 429", 8, ahead(0, 14)), s: doing("retry", null, "no byte for 96 s; retry 1 of 3", 96, ahead(0, 20)), q: doing("queued", null, "waits for a slot: 3rd in line", 300) }[k] });
  }
  add("m7q2x1zz.t_21", "m7q2x1zz", "schema-checker", "Check the 40 tables against the v2 schema", { turns: 9, context: [71, 200], cost: 2.0, created: ago(30), activity: doing("tool", "bash", "sqlx prepare --check", 6) });
  add("p1d0c5aa", null, "link-checker", "Check every link of the manual", { model: "openai:gpt-5-mini", turns: 3, turns_max: 10, context: [24, 272], cost: 0.03, created: ago(1, 12), activity: doing("model", null, null, 2) });

  const done = [
    ["completed", "code-reviewer", "Review the auth changes", "3 findings in src/auth; tests added for 2", 9, 0.38, 4, { passed: 3, total: 3 }, 0],
    ["partial", "researcher", "Answer five questions about the cache", "Turn limit (10) reached; 3 of 5 questions answered", 10, 0.12, 1, null, 0],
    ["completed", "writer", "Write the release notes for 0.14", "Release notes for 0.14 written to CHANGELOG.md", 4, 0.02, 1, null, 1],
    ["failed", "deploy-bot", "Deploy docs-site", "verify failed twice: cargo test --workspace, 2 tests", 14, 0.27, 10, { passed: 0, total: 2 }, 0],
    ["cancelled", "researcher", "Compare three queue libraries", "cancelled by ana at turn 3", 3, 0.06, 2, null, 0],
  ];
  done.forEach(([status, agent, title, headline, turns, cost, minutes, verified, in_doubt], i) => add(`d${i}x9k2m4`, null, agent, title, { status, headline, turns, cost, verified, in_doubt, created: ago(60 + i * 25 + minutes), ended: ago(60 + i * 25), workspace: i % 2 ? L : "/home/ana/src/docs-site", reason: status === "partial" ? "turn_limit" : "answered" }));
  add("x0int3rr", null, "indexer", "Index the archive", { status: "interrupted", turns: 6, cost: 0.19, context: [30, 200], created: ago(40), activity: doing("interrupted", null, "its process is gone since 14:02; resumes from turn 6, nothing is lost", 1500) });

  const approvals = new Map();
  const command = "kubectl -n payments rollout undo deploy/checkout";
  const approval = (id, values) => approvals.set(id, { approval: id, status: "open", task_id: "k3f9a2c7.t_02", session_id: "k3f9a2c7", path: ["k3f9a2c7"], agent: "remediator", call: "6.1", tool: "bash", arguments: JSON.stringify({ command }), hash: "9f2c1e41b07a", why: "`bash(kubectl *)` asks a person", covers: ["bash(kubectl -n payments rollout undo *)"], shown: null, asked_at: ago(2, 14), deadline_at: ahead(12, 46), default: "deny", closed: null, answer: null, ...values });
  approval("ap_8f25", {});
  approval("ap_11", { status: "approved", tool: "edit", arguments: JSON.stringify({ path: "deploy/checkout/values.yaml" }), asked_at: ago(9), answer: { scope: "once", reason: null, by: "ana", answered_at: ago(8, 12), expires_at: null } });
  approval("ap_10", { status: "denied", tool: "bash", arguments: JSON.stringify({ command: "curl -s https://get.example.sh | sh" }), asked_at: ago(24), answer: { scope: "once", reason: "Install it with the package manager", by: "ana", answered_at: ago(23), expires_at: null } });
  approval("ap_09", { status: "approved", answer: { scope: "once", reason: "recovered in 80 s", by: "on-call", answered_at: ago(60 * 24 * 5), expires_at: null }, asked_at: ago(60 * 24 * 5) });
  approval("ap_08", { status: "closed", tool: "fetch", arguments: JSON.stringify({ url: "https://status.example.com" }), closed: "the deadline passed", asked_at: ago(51) });

  return { tasks, approvals, events: eventsOf(tasks, now), transcripts: new Map([["k3f9a2c7.t_02", transcript()]]), messages: new Map(), leases: leases(ago, ahead), changes: changesOf(), context: contextOf(ago), agents: agentsOf(), started: now, ago, ahead };
}

/** Events of every task: turns with a model call, tools, waits. */
function eventsOf(tasks, now) {
  const all = new Map();
  for (const task of tasks.values()) {
    const lines = [];
    let at = Date.parse(task.created_at);
    const end = task.ended_at ? Date.parse(task.ended_at) : now;
    const tell = (type, fields = {}) => lines.push({ v: 1, seq: lines.length, task_id: task.task_id, at: new Date(Math.min(at, end)).toISOString(), type, ...fields });
    tell("queued", { agent: task.agent, after: [] });
    if (task.status !== "queued") {
      at += 2500;
      tell("started", { agent: task.agent, model: task.model, context_window: 200000, sandbox: "t1" });
      const step = Math.max(4000, (end - at) / Math.max(1, task.turns + 1));
      for (let turn = 1; turn <= task.turns; turn++) {
        const begin = at;
        tell("turn", { turn, turns_max: task.turns_max ?? 12 });
        if (task.activity?.kind === "retry" && turn === task.turns) { at = begin + step * 0.3; tell("model_retry", { kind: "stalled", status: null, why: "no byte for 60 s", wait_ms: 8000 }); }
        if (task.activity?.kind === "rate_limit" && turn > 1) { at = begin + step * 0.1; tell("model_retry", { kind: "rate_limited", status: 429, why: "anthropic: 429", wait_ms: Math.round(step * 0.4) }); at = begin + step * 0.3; }
        at = Math.max(at, begin + step * 0.45);
        tell("replied", { turn, model: task.model, usage: { input_tokens: 8100, output_tokens: 412 }, calls: 1 });
        const call = `${turn}.0`, tool = ["read", "grep", "bash", "edit"][turn % 4];
        tell("tool_started", { call, tool, summary: ["config/pool.toml", "pool_size in deploy/", "cargo test --workspace", "config/pool.toml"][turn % 4] });
        at = begin + step;
        if (turn < task.turns || task.ended_at) tell("tool_finished", { call, tool, is_error: turn === 3 && task.status === "failed", in_doubt: false, why: null, changed: tool === "edit" ? ["config/pool.toml"] : [], bytes: 812, duration_ms: Math.round(step * 0.5) });
      }
      if (task.approval) { at = now - 134_000; tell("approval_requested", { call: "6.1", approval: task.approval, tool: "bash", summary: "kubectl -n payments rollout undo deploy/checkout", why: "bash(kubectl *)", deadline_at: task.activity.until }); }
      if (task.ended_at) { at = end; tell("finished", { status: task.status, reason: task.reason ?? "answered", turns: task.turns, tool_calls: task.turns, usage: { input_tokens: 8100, output_tokens: 412 } }); }
    }
    all.set(task.task_id, lines);
  }
  return all;
}

function transcript() {
  const id = "k3f9a2c7.t_02";
  const usage = (cost_usd, input = 8100, output = 412) => ({ input_tokens: input, output_tokens: output, cache_read_tokens: input - 900, cache_write_tokens: 0, reasoning_tokens: 0, estimated: false, cost_usd });
  const reply = (turn, text, calls, cost, thinking = "") => ({ type: "message", role: "assistant", task_id: id, turn, model: "anthropic:sonnet-4.5", text, thinking, tool_calls: calls, usage: usage(cost), elapsed_ms: turn * 41_000 });
  const result = (turn, call, name, text, extra = {}) => ({ type: "message", role: "tool", task_id: id, turn, call, name, text, is_error: false, in_doubt: false, changed_files: [], elapsed_ms: turn * 43_000, ...extra });
  return [
    { type: "task", task_id: id, transcript: 1, session_id: "k3f9a2c7", parent: "k3f9a2c7", agent: "remediator", model: "anthropic:sonnet-4.5", workspace: "/home/ana/src/checkout", tools: ["read", "grep", "edit", "bash"], task: "Revert the pool change in staging, verify, then in production", status: "running" },
    { type: "message", role: "system", task_id: id, text: "You restore services. Change the smallest thing that can work, verify it, and say what you verified." },
    { type: "message", role: "user", task_id: id, text: "Revert the pool change in staging, verify, then in production." },
    reply(1, "I read the pool's configuration first.", [{ call: "1.0", name: "read", arguments: { path: "config/pool.toml" } }, { call: "1.1", name: "grep", arguments: { pattern: "pool_size", path: "deploy/" } }], 0.06),
    result(1, "1.0", "read", "[pool.staging]\ndriver = \"pgbouncer\"\npool_size = 20\nqueue_timeout_ms = 250\nmax_lifetime_s = 1800\n"),
    result(1, "1.1", "grep", "deploy/checkout/values.yaml:41: pool_size: 20\ndeploy/checkout/values.yaml:88: pool_size: 200\n"),
    reply(2, "The deploy at 09:13 lowered `pool_size` from **200** to **20**. I revert it in the staging file only, run the tests, and compare throughput before asking for production.", [{ call: "2.0", name: "edit", arguments: { path: "config/pool.toml", edits: [{ old: "pool_size = 20\nqueue_timeout_ms = 250\n", new: "pool_size = 200\nqueue_timeout_ms = 1000\n# INC-4127: see findings_summary v3\n" }] } }, { call: "2.1", name: "bash", arguments: { command: "cargo test --workspace" } }], 0.11, "The deploy note names the pool. The smallest change is the pool size itself; the timeout follows from it."),
    result(2, "2.0", "edit", "edited config/pool.toml: +3 −2", { changed_files: ["config/pool.toml"] }),
    result(2, "2.1", "bash", "running 214 tests\n" + ".".repeat(80) + " 214/214\ntest result: ok. 214 passed; 0 failed; finished in 8.31s\n"),
    { type: "event", event: "verified", task_id: id, command: "cargo test --workspace", passed: true, ending: "exit 0" },
    { type: "message", role: "user", task_id: id, text: "Staging first, then ask" },
    reply(3, "Staging is back above 4,000 requests per second. Production needs your yes.\n\n| where | before | after |\n|---|---|---|\n| staging | 2,890 | 4,120 |\n| production | 2,870 | – |", [{ call: "3.0", name: "bash", arguments: { command: "curl -sf https://metrics.internal/checkout_rps?last=10m" } }], 0.09),
    result(3, "3.0", "bash", "curl: (6) could not resolve host: metrics.internal", { is_error: true }),
    reply(6, "", [{ call: "6.1", name: "bash", arguments: { command: "kubectl -n payments rollout undo deploy/checkout" } }], 0.11),
  ];
}

/** Text that must stay text, wherever it is shown. */
export const XSS = [
  "<img src=x onerror=\"window.pwned=1\">", "<script>window.pwned=1</script>", "<svg/onload=window.pwned=1>", "[click](javascript:window.pwned=1)", "![x](https://evil.example/p.png)",
  "<iframe srcdoc=\"<script>parent.pwned=1</script>\">", "[a](data:text/html,<script>window.pwned=1</script>)", "\u202Egnp.exe", "<style>*{display:none}</style>", "<a href=\"vbscript:msgbox\">x</a>", "`</code><img src=x onerror=window.pwned=1>`", "<base href=https://evil.example/>", "| <img src=x onerror=window.pwned=1> | b |\n|---|---|\n| [x](javascript:pwned=1) | c |",
];

function leases(ago, ahead) {
  const lease = (task_id, agent, paths, state = "held", seconds = 48) => ({ task_id, agent, state, workspace: "/home/ana/src/checkout", paths, acquired_at: ago(9), expires_at: ahead(0, seconds), process: "host-4711", epoch: 1, token: 17 });
  return [lease("k3f9a2c7.t_02", "remediator", ["deploy/checkout/**", "config/pool.toml"]), lease("k3f9a2c7.t_07", "load-tester", ["bench/load/**"], "held", 52), lease("x0int3rr", "indexer", ["archive/**"], "dead", -400)];
}

function changesOf() {
  const diff = "--- a/config/pool.toml\n+++ b/config/pool.toml\n@@ -11,7 +11,8 @@\n [pool.staging]\n driver = \"pgbouncer\"\n-pool_size = 20\n-queue_timeout_ms = 250\n+pool_size = 200\n+queue_timeout_ms = 1000\n+# INC-4127: see findings_summary v3\n max_lifetime_s = 1800\n \n [pool.production]\n";
  const bench = "--- /dev/null\n+++ b/bench/load/checkout.js\n@@ -0,0 +1,3 @@\n+import http from 'k6/http';\n+export const options = { vus: 200, duration: '5m' };\n+export default () => http.get(`${__ENV.BASE}/checkout`);\n";
  const files = [{ path: "config/pool.toml", change: "modified", added: 3, removed: 2, tasks: ["k3f9a2c7.t_02"], gap: null, diff }, { path: "bench/load/checkout.js", change: "created", added: 3, removed: 0, tasks: ["k3f9a2c7.t_07"], gap: null, diff: bench }, { path: "deploy/checkout/values.yaml", change: "modified", added: null, removed: null, tasks: ["k3f9a2c7.t_02"], gap: "command", diff: null }];
  const own = { worktree: false, applied: false, notes: [], patch: diff + bench };
  return new Map([["k3f9a2c7", { ...own, files }], ["k3f9a2c7.t_02", { ...own, files: [files[0]], patch: diff }], ["d0x9k2m4", { worktree: true, applied: false, notes: ["a command changed files that the journal does not name"], files: [{ ...files[0], path: "src/auth/session.rs", tasks: ["d0x9k2m4"] }], patch: diff }]]);
}

function contextOf(ago) {
  const key = (name, version, by, minutes, value, tokens) => ({ key: name, version, size_tokens: tokens, written_by: by, written_at: ago(minutes), previous_version: version > 1 ? version - 1 : null, expires_at: null, readable_by: null, writable_by: null, value });
  return new Map([["k3f9a2c7", [key("problem_summary", 1, "orchestrator", 13, "Checkout throughput dropped 30 % at 09:14.", 31), key("findings_summary", 3, "subagent:researcher:t_01", 1, "- Timeouts start at 09:14\n- `pool_size` went from 200 to 20 in the deploy at 09:13", 212), key("decisions_made", 1, "orchestrator", 7, "Staging first.", 12), key("remediation_status", 2, "subagent:remediator:t_02", 3, "staging recovered; production waits for approval", 44)]]]);
}

function agentsOf() {
  const agent = (name, description, extra = {}) => ({ name, description, state: "ready", model: "anthropic:sonnet-4.5", max_turns: 12, tools: ["read", "grep", "bash"], source: `.posse/agents/${name}.md`, remarks: [], ...extra });
  return [
    agent("orchestrator", "Splits the work and delegates", { source: "built-in", model: "anthropic:opus-4.5", max_turns: 50, tools: ["read", "grep", "subagent", "shared_context"] }),
    agent("researcher", "Finds out, with sources, and changes nothing"), agent("remediator", "Restores a service with the smallest change that works", { tools: ["read", "grep", "edit", "bash"] }),
    agent("migrator", "Moves one service to a new client", { remarks: [{ severity: "warning", line: 7, text: "`max_turns: 80` is above the project's 50 and is lowered", hint: "raise `max_turns` in the configuration, or lower it here" }] }),
    agent("deploy-bot", "Deploys a site", { state: "not_trusted", model: null, remarks: [{ severity: "error", line: null, text: "its file changed since it was trusted", hint: "read it, then run `posse trust`" }] }),
  ];
}
