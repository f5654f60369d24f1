// Requests to the API.

/** An error of the API with its code and hint. */
export class ApiError extends Error {
  /** @param {Problem} problem */
  constructor(problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

const UNREACHABLE = { title: "unreachable", status: 0, detail: "the server does not answer", code: "OFFLINE", hint: "the page goes on when it is back" };

/** Data of an exported page; requests are answered from it. @type {Record<string, any> | null} */
let embedded = null;

/** @param {Record<string, any>} data */
export const embed = (data) => { embedded = data; };
export const isExport = () => embedded !== null;

/**
 * Sends a request and returns its JSON.
 * @param {string} path below `/v1`
 * @param {{ method?: string, body?: unknown, key?: string, signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export async function api(path, { method = "GET", body, key, signal } = {}) {
  if (embedded) return answerEmbedded(path);
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response;
  try {
    response = await fetch(`/v1${path}`, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  } catch (e) {
    if (signal?.aborted) throw e;
    throw new ApiError(UNREACHABLE);
  }
  if (response.status === 204) return null;
  const text = await response.text();
  /** @type {any} */
  let value = null;
  try { value = text === "" ? null : JSON.parse(text); } catch { /* a proxy's page */ }
  if (!response.ok) {
    throw new ApiError({ title: response.statusText, detail: `the server answered ${response.status}`, code: `HTTP_${response.status}`, ...value, status: response.status });
  }
  return value;
}

/** @param {string} path */
function answerEmbedded(path) {
  const plain = path.split("?")[0];
  const value = embedded?.[path] ?? embedded?.[plain];
  if (value === undefined) throw new ApiError({ title: "not exported", status: 404, detail: "this export does not hold that", code: "NOT_EXPORTED" });
  return value;
}

/** @param {string} path @param {unknown} [body] @param {string} [key] */
export const post = (path, body = {}, key) => api(path, { method: "POST", body, key });

/** Makes a key that repeats of one action share. */
export const newKey = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

/** Joins query parameters; empty ones are left out. @param {Record<string, string | number | boolean | null | undefined>} values */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")}`;
}

/**
 * Reads a list to its end, or to `most` items.
 * @param {string} path @param {Record<string, any>} filters @param {number} most
 * @returns {Promise<{ items: any[], more: boolean }>}
 */
export async function readAll(path, filters, most) {
  /** @type {any[]} */
  const items = [];
  let cursor = null;
  do {
    const page = await api(`${path}${query({ ...filters, limit: Math.min(500, most), cursor })}`);
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < most);
  return { items, more: cursor !== null };
}

/**
 * Follows a stream of server-sent events until it ends or fails.
 * @param {string} path
 * @param {{ after: string | null, signal: AbortSignal, onOpen: () => void, onEvent: (kind: string, data: string, id: string | null) => void, onByte: () => void }} options
 */
export async function follow(path, { after, signal, onOpen, onEvent, onByte }) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "text/event-stream" };
  if (after) headers["Last-Event-ID"] = after;
  const response = await fetch(`/v1${path}`, { headers, signal, credentials: "same-origin", cache: "no-store" });
  if (!response.ok || !response.body) throw new ApiError({ title: response.statusText, detail: `the stream answered ${response.status}`, code: `HTTP_${response.status}`, status: response.status });
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onByte();
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) readBlock(block, onEvent);
  }
}

/** @param {string} block @param {(kind: string, data: string, id: string | null) => void} onEvent */
function readBlock(block, onEvent) {
  let kind = "message", data = "", id = null;
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") kind = value;
    else if (name === "id") id = value;
    else if (name === "data") data += (data ? "\n" : "") + value;
  }
  if (data !== "" || kind !== "message") onEvent(kind, data, id);
}
