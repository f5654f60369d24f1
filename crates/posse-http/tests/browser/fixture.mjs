// A server that speaks the API from a story, for the tests of the dashboard alone. It keeps no promise beyond the contract of `docs/http.md`.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const WEB = fileURLToPath(new URL("../../web/", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function serve(state, { port = 0, scopes = ["read", "approve", "steer", "write"] } = {}) {
  const fixture = new Fixture(state, scopes);
  const server = createServer((request, response) => void fixture.handle(request, response).catch((e) => { response.writeHead(500); response.end(String(e.stack)); }));
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  fixture.server = server;
  fixture.url = `http://127.0.0.1:${server.address().port}`;
  return fixture;
}

class Fixture {
  constructor(state, scopes) {
    Object.assign(this, { state, scopes, streams: new Set(), log: [], sent: [], transferred: 0, calls: [], position: 0, loggedIn: false });
  }

  async handle(request, response) {
    const url = new URL(request.url, "http://x");
    this.calls.push(`${request.method} ${url.pathname}${url.search}`);
    if (!url.pathname.startsWith("/v1/")) return this.file(url.pathname, response);
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = text === "" ? {} : JSON.parse(text);
    if (url.pathname === "/v1/login") return body.code === "good" ? this.login(response) : this.problem(response, 401, "UNAUTHORIZED", "this code was used or is unknown", "print a new link with `posse tokens login`");
    if (!this.loggedIn && !/posse=1/.test(request.headers.cookie ?? "")) return this.problem(response, 401, "UNAUTHORIZED", "no token");
    if (url.pathname === "/v1/stream") return this.stream(request, response);
    const [method, path] = [request.method, url.pathname.slice(3)];
    const answer = await this.route(method, path, url.searchParams, body);
    if (answer === undefined) return this.problem(response, 404, "NOT_FOUND", `no such route: ${method} ${path}`);
    if (answer.problem) return this.problem(response, ...answer.problem);
    this.json(response, 200, answer);
  }

  async file(path, response) {
    const name = path === "/" ? "index.html" : normalize(path.replace(/^\/assets\//, "")).replace(/^(\.\.[/\\])+/, "");
    try {
      const bytes = gzipSync(await readFile(join(WEB, name)));
      this.transferred += bytes.length;
      response.writeHead(200, { "Content-Type": TYPES[extname(name)] ?? "application/octet-stream", "Content-Encoding": "gzip", "Content-Security-Policy": CSP, "Cache-Control": "no-cache" });
      response.end(bytes);
    } catch {
      response.writeHead(404);
      response.end();
    }
  }

  login(response) {
    response.setHeader("Set-Cookie", "posse=1; HttpOnly; SameSite=Strict; Path=/");
    this.json(response, 200, this.principal());
  }

  principal() {
    return { name: "laptop", scopes: this.scopes, expires_at: null, version: "0.15.0", workspace: "/home/ana/src/checkout", language: "en" };
  }

  json(response, status, value) {
    const bytes = gzipSync(JSON.stringify(value));
    this.transferred += bytes.length;
    response.writeHead(status, { "Content-Type": status < 400 ? "application/json" : "application/problem+json", "Content-Encoding": "gzip", "Cache-Control": "no-store" });
    response.end(bytes);
  }

  problem(response, status, code, detail, hint) {
    this.json(response, status, { type: `urn:posse:error:${code}`, title: code, status, detail, code, hint });
  }

  stream(request, response) {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 1000\n\n");
    const after = Number(request.headers["last-event-id"] ?? this.position);
    for (const event of this.sent.filter((e) => e.position > after)) response.write(event.text);
    this.streams.add(response);
    request.on("close", () => this.streams.delete(response));
  }

  /** Tells every stream a line, and keeps it in the journal if it has a place there. */
  tell(line, live = false) {
    const events = this.state.events.get(line.task_id) ?? [];
    const full = { v: 1, at: new Date().toISOString(), ...line, ...(live ? {} : { seq: (events.at(-1)?.seq ?? -1) + 1 }) };
    if (!live) {
      events.push(full);
      this.state.events.set(line.task_id, events);
      this.position++;
    }
    const text = `${live ? "" : `id: ${this.position}\n`}data: ${JSON.stringify(full)}\n\n`;
    if (!live) this.sent.push({ position: this.position, text });
    for (const stream of this.streams) stream.write(text);
  }

  drop() {
    for (const stream of this.streams) stream.destroy();
  }

  change(id, values) {
    const task = { ...this.state.tasks.get(id), ...values, updated_at: new Date().toISOString() };
    this.state.tasks.set(id, task);
    return task;
  }

  async route(method, path, search, body) {
    this.log.push({ method, path, body });
    const { tasks, approvals } = this.state;
    const parts = path.split("/").slice(1).map(decodeURIComponent);
    if (path === "/me") return this.principal();
    if (path === "/tasks") return this.list(search);
    if (path === "/approvals") {
      const items = [...approvals.values()].filter((a) => !search.get("status") || a.status === search.get("status"));
      return { items, next_cursor: null };
    }
    if (parts[0] === "approvals") return this.approval(method, parts[1], body);
    if (path === "/leases") return { items: this.state.leases, next_cursor: null };
    if (parts[0] === "leases") { this.state.leases = this.state.leases.filter((l) => l.task_id !== parts[1]); return { released: true }; }
    if (path === "/agents") return { items: this.state.agents, workspace: "/home/ana/src/checkout" };
    if (parts[0] === "agents") return { agent: this.state.agents.find((a) => a.name === parts[1]), system_prompt: "You find out what is true. Change nothing.", report: {} };
    if (path === "/usage") return usage(search.get("by") ?? "agent", this.state);
    if (path === "/sessions") return { items: [...new Set([...tasks.values()].map((t) => t.session_id))].map((id) => this.session(id)), next_cursor: null };
    if (parts[0] === "sessions") return this.context(method, parts, body);
    if (parts[0] === "tasks" && tasks.has(parts[1])) return this.task(method, parts, search, body);
    return undefined;
  }

  list(search) {
    const limit = Number(search.get("limit") ?? 50), from = Number(search.get("cursor") ?? 0);
    const all = [...this.state.tasks.values()].filter((t) => (!search.get("group") || t.group === search.get("group")) && (search.get("roots") !== "true" || !t.parent)).sort((a, b) => b.created_at.localeCompare(a.created_at));
    return { items: all.slice(from, from + limit).map(summary), next_cursor: from + limit < all.length ? String(from + limit) : null };
  }

  approval(method, id, body) {
    const approval = this.state.approvals.get(id);
    if (!approval) return { problem: [404, "APPROVAL_NOT_FOUND", `no approval is called \`${id}\``] };
    if (method === "GET") return approval;
    if (!this.scopes.includes("approve")) return { problem: [403, "FORBIDDEN", "this token cannot approve"] };
    if (approval.status !== "open") return { problem: [409, "APPROVAL_CLOSED", "it was answered before", "read it again"] };
    if (body.hash !== approval.hash) return { problem: [409, "APPROVAL_MISMATCH", "it is another call by now", "read it again"] };
    approval.status = body.verdict === "approve" ? "approved" : "denied";
    approval.answer = { scope: body.scope ?? "once", reason: body.reason ?? null, by: "laptop", answered_at: new Date().toISOString(), expires_at: null };
    this.change(approval.task_id, { approval: null, group: "working", activity: { kind: "tool", since: new Date().toISOString(), tool: approval.tool, summary: "runs", until: null } });
    this.tell({ task_id: approval.task_id, type: "approval_resolved", call: approval.call, approval: id, tool: approval.tool, approved: body.verdict === "approve", scope: body.scope ?? "once", by: "laptop" });
    return approval;
  }

  session(id) {
    const keys = this.state.context.get(id) ?? [];
    const root = this.state.tasks.get(id);
    return { session_id: id, title: root?.title ?? "", workspace: root?.workspace ?? "", archived: false, tasks: [...this.state.tasks.values()].filter((t) => t.session_id === id).length, keys: keys.length, total_size_tokens: keys.reduce((n, k) => n + k.size_tokens, 0), limit_tokens: 20000, created_at: root?.created_at ?? "", archived_at: null };
  }

  context(method, [, id, , key, history], body) {
    const keys = this.state.context.get(id) ?? [];
    if (key === undefined) return { session_id: id, keys: keys.map((k) => ({ ...k, value: null })), total_size_tokens: keys.reduce((n, k) => n + k.size_tokens, 0), limit_tokens: 20000, snapshots: [] };
    const entry = keys.find((k) => k.key === key);
    if (!entry) return { problem: [404, "KEY_NOT_FOUND", `no key is called \`${key}\``] };
    if (history) return { key, versions: Array.from({ length: entry.version }, (_, i) => ({ ...entry, version: entry.version - i, action: "written", value: i === 0 ? entry.value : `${entry.value} (draft ${entry.version - i})` })) };
    if (method === "PUT") { Object.assign(entry, { value: body.value, version: entry.version + 1, written_by: "operator" }); return { key, version: entry.version, previous_version: entry.version - 1, warning: null }; }
    return entry;
  }

  task(method, [, id, verb, extra], search, body) {
    const { tasks, events, transcripts, changes, messages } = this.state;
    const task = tasks.get(id);
    const below = (root) => { const out = [tasks.get(root)]; for (const t of tasks.values()) if (t.parent === root) out.push(...below(t.task_id)); return out; };
    const now = new Date().toISOString();
    switch (method === "GET" ? (verb ?? "detail") : `${method} ${verb}`) {
      case "detail": return this.detail(task);
      case "tree": return { items: below(id).map(summary), next_cursor: null };
      case "events": {
        const all = events.get(id) ?? [], since = Number(search.get("since") ?? 0), limit = Number(search.get("limit") ?? 200);
        const page = all.filter((e) => e.seq >= since).slice(0, limit);
        const next = page.length > 0 ? page.at(-1).seq + 1 : since;
        return { task_id: id, events: page, next, at_end: next > (all.at(-1)?.seq ?? -1) };
      }
      case "transcript": {
        const all = transcripts.get(id) ?? [], from = Number(search.get("cursor") ?? 0);
        return { items: all.slice(from, from + 500), next_cursor: from + 500 < all.length ? String(from + 500) : null, total: all.length };
      }
      case "calls": return { task_id: id, call: extra, tool: "bash", arguments: {}, result: "the whole result", full_result: "the whole result", is_error: false, in_doubt: false, duration_ms: 12, changed_files: [] };
      case "budget": return budget(below(id));
      case "diff": return { task_id: id, worktree: false, applied: false, files: [], notes: [], patch: "", ...changes.get(id) };
      case "messages": return { items: messages.get(id) ?? [], next_cursor: null };
      case "POST messages": {
        const sent = { key: `m${this.log.length}`, receipt: "queued", turn: null, undriven: false };
        messages.set(id, [sent, ...(messages.get(id) ?? [])]);
        return sent;
      }
      case "POST answer": {
        const question = task.question;
        this.change(id, { question: null, group: "working", activity: { kind: "model", since: now, tool: null, summary: null, until: null } });
        this.tell({ task_id: id, type: "question_closed", id: question?.id ?? 1 }, true);
        return { task_id: id, answered: question !== null, question };
      }
      case "POST cancel":
        for (const t of below(id)) if (t.group !== "completed") { this.change(t.task_id, { status: "cancelled", group: "completed", activity: null, question: null, approval: null, ended_at: now, headline: "cancelled by laptop", driver: null }); this.tell({ task_id: t.task_id, type: "finished", status: "cancelled", reason: "cancelled", turns: t.turns, tool_calls: 0, usage: {} }); }
        return { receipt: "cancelled", task: tasks.get(id) };
      case "POST resume":
        this.change(id, { status: "running", group: "working", ended_at: null, activity: { kind: "model", since: now, tool: null, summary: null, until: null }, driver: { process: "w", epoch: 2, seen_at: now } });
        this.tell({ task_id: id, type: "resumed", agent: task.agent, model: task.model, epoch: 2 });
        return { claimed: true, task: tasks.get(id) };
      case "POST apply": changes.set(id, { ...changes.get(id), applied: true }); return { task_id: id, applied_before: false, applied_to: task.workspace, written: ["src/auth/session.rs"], merged: [], unchanged: [] };
      case "POST discard": changes.delete(id); return { task_id: id, had_applied: false };
      default: return undefined;
    }
  }

  detail(task) {
    const ended = task.ended_at !== null;
    const evidence = task.verified ? Array.from({ length: task.verified.total }, (_, i) => ({ command: ["cargo test --workspace", "cargo clippy", "cargo fmt --check"][i], passed: i < task.verified.passed, ending: i < task.verified.passed ? "exit 0" : "exit 101", duration_ms: 9200 - i * 2000, output: "running 214 tests\ntest result: ok. 214 passed; 0 failed\n" })) : [];
    return {
      task: summary(task), descendants: {}, failed_calls: task.task_id.endsWith("t_02") ? [{ call: "3.0", tool: "bash", why: "could not resolve host: metrics.internal", refused: false }] : [],
      request: { task: this.state.texts?.get(task.task_id) ?? `${task.title}. Say what you verified, and name what you could not.`, model: task.model, mode: "ask", tools: ["read", "grep", "bash"], sandbox: "t1", directory: task.workspace, worktree: this.state.changes.get(task.task_id)?.worktree ?? false, write_paths: [], depends_on: [], verify: evidence.map((e) => e.command), detached: false, turns_max: task.turns_max ?? 12, tool_calls_max: 40, wall_ms_max: 3_600_000, caps: { input_tokens: null, output_tokens: null, cost_usd: 1.5 }, notes: [] },
      outcome: ended ? { status: task.status, reason: task.reason ?? "answered", detail: task.status === "failed" ? "verify failed twice" : null, text: this.state.answers?.get(task.task_id) ?? `${task.headline}.\n\n- What I did: **changed** \`src/auth/session.rs\`\n- What I verified: all tests pass`, text_chars: 120, data: null, schema_errors: [], evidence, turns: task.turns, tool_calls: 21, usage: { input_tokens: 81000, output_tokens: 4100, cache_read_tokens: 70000, cache_write_tokens: 0, reasoning_tokens: 0, estimated: false, cost_usd: task.spending.cost_usd }, changed_files: this.state.changes.has(task.task_id) ? ["src/auth/session.rs"] : [], in_doubt: task.in_doubt ? [{ call: "3.1", tool: "bash", about: "gh release create v0.14" }] : [], refused_tools: [], warnings: [] } : null,
    };
  }
}

/** Takes out of a task what the story tells beside the contract. */
const summary = ({ headline, reason, verified, in_doubt, ...task }) => task;

function budget(list) {
  const caps = new Map([["k3f9a2c7", 6], ["k3f9a2c7.t_01", 1.6], ["k3f9a2c7.t_02", 1.5], ["k3f9a2c7.t_07", 0.4], ["k3f9a2c7.t_06", 0.6], ["m7q2x1zz", 30], ["m7q2x1zz.t_21", 2]]);
  const nodes = list.map((task) => {
    const cap = caps.get(task.task_id) ?? null, spent = task.tree.cost_usd ?? 0;
    const reserved = cap === null ? 0 : Math.min(cap - spent, spent * 0.25);
    const all = (cost_usd) => ({ input_tokens: 0, output_tokens: 0, cost_usd });
    return { task_id: task.task_id, parent: task.parent, agent: task.agent, status: task.status, caps: { input_tokens: null, output_tokens: null, cost_usd: cap }, spent: all(spent), reserved: all(reserved), left: { input_tokens: null, output_tokens: null, cost_usd: cap === null ? null : cap - spent - reserved } };
  });
  return { nodes };
}

function usage(by, state) {
  const line = (name, cost_usd, tokens = 120_000) => ({ name, spending: { tasks: 3, turns: 20, input_tokens: tokens, output_tokens: tokens / 20, cost_usd }, cached_tokens: tokens * 0.8 });
  const lists = {
    agent: [["migrator", 9.7], ["orchestrator", 4.22], ["schema-checker", 2], ["link-checker", 1.15], ["researcher", 0.41], ["remediator", 0.52]],
    model: [["anthropic:sonnet-4.5", 10.63], ["anthropic:opus-4.5", 4.22], ["openai:gpt-5-mini", 3.24], ["google:gemini-2.5-pro", 0.27], ["anthropic:haiku-4.5", 0.06], ["ollama:qwen-3", null]],
    day: Array.from({ length: 14 }, (_, i) => [new Date(state.started - (13 - i) * 86_400_000).toISOString().slice(0, 10), [21, 30, 27, 9, 6, 33, 40, 37, 43, 28, 10, 6, 35, 18.42][i]]),
    workspace: [["/home/ana/src/ledger", 14.66], ["/home/ana/src/checkout", 2.61], ["/home/ana/src/docs-site", 1.15]], tree: [["m7q2x1zz", 14.66], ["k3f9a2c7", 2.61]],
  };
  const items = (lists[by] ?? []).map(([name, cost]) => line(name, cost));
  return { by, items, total: line("", 18.42, 1_400_000) };
}
