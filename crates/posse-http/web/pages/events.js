// Events of a task: the journal's facts in order, with those that arrive.

import { Choice, Clock, Skeleton } from "../components.js";
import { api, query } from "../api.js";
import { VirtualList } from "../virtual.js";
import { count, duration, tokens, visible } from "../format.js";
import { onLine } from "../store.js";
import { html, useEffect, useMemo, useReducer, useRef, useState } from "../lib.js";

const PAGE = 1000;

/**
 * Reads the events of a task, and appends those that arrive.
 * @param {string} id @param {number} pages most pages of 1,000
 * @returns {{ events: EventLine[], atEnd: boolean, more: () => void, length: number }}
 */
export function useEvents(id, pages) {
  const held = useRef(/** @type {{ events: EventLine[], seq: number, next: number, atEnd: boolean, reading: boolean, pages: number }} */ (fresh()));
  const [length, redraw] = useReducer((/** @type {number} */ n, _) => n + 1, 0);
  const more = async (/** @type {number} */ most) => {
    const h = held.current;
    if (h.reading) return;
    h.reading = true;
    try {
      while (h === held.current && !h.atEnd && h.pages < most) {
        const page = await api(`/tasks/${id}/events${query({ since: h.next, limit: PAGE })}`);
        if (h !== held.current) return;
        for (const line of page.events) append(h, line);
        h.next = page.next;
        h.atEnd = page.at_end;
        h.pages++;
        redraw(0);
      }
    } catch { /* shown by the page around it; the next event reads on */ }
    h.reading = false;
  };
  useEffect(() => {
    held.current = fresh();
    redraw(0);
    void more(pages);
    return onLine(id, (line) => {
      if (!held.current.atEnd) return void more(held.current.pages + 1);
      append(held.current, line);
      redraw(0);
    });
  }, [id]);
  return { events: held.current.events, atEnd: held.current.atEnd, more: () => void more(held.current.pages + 1), length };
}

const fresh = () => ({ events: [], seq: -1, next: 0, atEnd: false, reading: false, pages: 0 });

/** @param {{ events: EventLine[], seq: number }} held @param {EventLine} line */
function append(held, line) {
  if (line.seq === undefined) return;
  // Several events may come from one record; their types differ.
  if (line.seq < held.seq) return;
  if (line.seq === held.seq && held.events.slice(-8).some((old) => old.seq === line.seq && old.type === line.type && old.call === line.call)) return;
  held.seq = line.seq;
  held.events.push(line);
}

const KINDS = [["all", "All"], ["tools", "Tools"], ["model", "Model"], ["trouble", "Trouble"]];
/** @type {Record<string, RegExp>} */
const FILTERS = { all: /./, tools: /^(tool_|approval)/, model: /^(turn|replied|model_|elided|wrapping)/, trouble: /^(model_retry|model_failed|tool_refused|note|waiting|interrupted)|doubt/ };

/** @param {{ id: string }} props */
export function Events({ id }) {
  const { events, atEnd, more, length } = useEvents(id, 2);
  const [kind, setKind] = useState("all");
  const shown = useMemo(() => (kind === "all" ? events.slice() : events.filter((e) => FILTERS[kind].test(e.type) || (kind === "trouble" && (e.is_error || e.in_doubt)))), [length, kind, id]);
  if (events.length === 0 && !atEnd) return html`<${Skeleton} />`;
  return html`<div class="row evh"><${Choice} label="Kind of events" value=${kind} options=${KINDS} onChange=${setKind} /><span class="sp"></span><span class="num t3 s12">${count(shown.length)}${atEnd ? "" : "+"} events</span></div>
    <${VirtualList} items=${shown} keyOf=${(/** @type {EventLine} */ e) => `${e.seq}:${e.type}:${e.call ?? ""}`} estimate=${() => 25} onEnd=${atEnd ? undefined : more} role="list" label="Events"
      render=${(/** @type {EventLine} */ e) => html`<div class=${`er ${e.is_error || e.type === "model_failed" ? "bad" : ""}`} role="listitem"><${Clock} at=${e.at} /><span class="ty">${e.type.replace(/_/g, " ")}</span><span class="ell t2" title=${describe(e)}>${describe(e)}</span></div>`} />`;
}

/** Says an event in a few words. @param {EventLine} e @returns {string} */
export function describe(e) {
  const parts = [];
  if (e.turn !== undefined) parts.push(e.turns_max ? `turn ${e.turn} of ${e.turns_max}` : `turn ${e.turn}`);
  if (e.tool) parts.push(`${e.tool} ${e.summary ?? ""}`.trim());
  for (const name of ["agent", "model", "why", "note", "command", "ending", "message", "reason", "status", "scope", "by", "question"]) if (typeof e[name] === "string" && e[name] !== "") parts.push(e[name]);
  if (typeof e.approved === "boolean") parts.push(e.approved ? "approved" : "denied");
  if (e.in_doubt === true) parts.push("in doubt");
  if (typeof e.wait_ms === "number") parts.push(`waits ${duration(e.wait_ms)}`);
  if (typeof e.duration_ms === "number") parts.push(duration(e.duration_ms, true));
  if (e.usage) parts.push(`${tokens(e.usage.input_tokens ?? 0)} in · ${tokens(e.usage.output_tokens ?? 0)} out`);
  if (Array.isArray(e.changed) && e.changed.length > 0) parts.push(e.changed.join(", "));
  return visible(parts.join(" · "));
}
