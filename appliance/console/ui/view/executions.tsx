import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, freshKey, get, now, post, seg } from "../api/client.ts";
import type { ExecutionList, ExecutionRow, ExecutionRetried } from "../api/types.gen.ts";
import { listen } from "../live/live.ts";
import type { FeedEvent } from "../live/hub.ts";
import { Dialog, useAct, useEach } from "../part/dialog.tsx";
import { csv, download, jsonLines } from "../part/export.ts";
import { ID, shortID } from "../part/id.tsx";
import { Empty, Failure, Waiting, Command } from "../part/notice.tsx";
import { PatternField } from "../part/patternfield.tsx";
import { Rows, type Column } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice } from "../part/tabs.tsx";
import { Text, count, plural, revealed } from "../part/text.tsx";
import { Lasted, When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { href, isID, place, queryOf, setQuery } from "../route.ts";
import { filtersIn, keyOfFilter, queryOfFilter, spans, statuses } from "../store/filter.ts";
import { SavedViews } from "../part/views.tsx";
import { setting } from "../setting.ts";
import { keep, newKept, pauseAfter, readFor, recall } from "../store/load.ts";
import { readRows } from "../store/pages.ts";
import { may } from "../store/session.ts";
import { more } from "./lazy.tsx";

const pageSize = 100;
const maxRows = 5000;

interface List { rows: ExecutionRow[]; total: number; atLeast?: boolean; cursor?: string; more: boolean; pages: { from: number; cursor?: string }[] }

const begun = (page: ExecutionList): List => ({ rows: page.executions, total: page.total, atLeast: page.totalAtLeast, cursor: page.nextCursor, more: page.hasMore, pages: [{ from: 0 }] });

type Col = Column<ExecutionRow> & { key: string };

const always: Col[] = [
  { key: "state", head: "State", cell: (x) => <State status={x.status} word={x.waiting && x.status === "running" ? "waits for " + x.waiting.for : undefined} /> },
  { key: "pattern", head: "Pattern", class: "grow", cell: (x) => <><Text>{x.pattern}</Text> <span class="soft">{x.version}</span></> },
  { key: "began", head: "Began", cell: (x) => <When at={x.startedAt ?? x.createdAt} /> },
  { key: "duration", head: "Duration", class: "num mid", cell: (x) => x.startedAt ? <Lasted from={x.startedAt} to={x.completedAt} ms={x.duration} /> : <span class="soft">--</span> },
];

const id: Col = { key: "id", head: "Id", class: "mid", cell: (x) => <ID id={x.executionId} to={"/executions/" + x.executionId} /> };

/** The first agents by name, and how many more there are. */
function Team({ x }: { x: ExecutionRow }) {
  const names = x.agentNames ?? [];
  if (names.length === 0) return <span class="soft">--</span>;
  const more = (x.agentCount ?? 0) - names.length;
  return <span class="team" title={revealed(names.join(", ")) + (more > 0 ? ` and ${count(more)} more` : "")}><Text>{names.map((n) => (isID(n) ? shortID(n) : n)).join(", ")}</Text>{more > 0 && <span class="soft"> +{count(more)}</span>}</span>;
}

// Columns that a person chooses, beside metadata.
const chosen: Col[] = [
  { key: "agents", head: "Agents", class: "mid", cell: (x) => <Team x={x} /> },
  { key: "error", head: "Why", class: "mid", cell: (x) => x.errorCode ? <span class="mono removed"><Text>{x.errorCode}</Text></span> : x.openQuestions ? <span class="hot">{plural(x.openQuestions, "question")}</span> : null },
  { key: "creator", head: "Creator", class: "mid", cell: (x) => <Text>{x.createdBy}</Text> },
  { key: "priority", head: "Priority", class: "mid", cell: (x) => <span class={x.priority ? "" : "soft"}>{x.priority ?? "normal"}</span> },
  { key: "batch", head: "Batch", class: "mid", cell: (x) => x.batchId ? <ID id={x.batchId} to={"/batches/" + x.batchId} /> : null },
];

const usual = "agents,error";

/** The columns that an address names; of metadata by its keys. */
function columnsOf(names: string): Column<ExecutionRow>[] {
  const more = names.split(",").flatMap((n): Col[] => n.startsWith("metadata.")
    ? [{ key: n, head: n.slice(9), class: "mid", cell: (x) => <Text>{x.metadata?.[n.slice(9)]}</Text> }] : chosen.filter((c) => c.key === n));
  return [...always, ...more, id];
}

export const executionColumns: Column<ExecutionRow>[] = columnsOf(usual);

/** Reads pages of the list, keeps its rows as they change, and counts what is new. */
function useList(filter: URLSearchParams) {
  const key = "executions?" + keyOfFilter(filter);
  const [state, setState] = useState<{ key: string; list?: List; error?: ApiError; fresh: number }>({ key, list: recall<List>(key), fresh: 0 });
  const busy = useRef(false);
  const anew = useRef(false); // what is read is the list from its beginning
  const due = useRef(new Set<string>()); // reads that were asked for meanwhile, once what is read is there
  const heard = useRef(new Map<string, FeedEvent>()); // what happened while the read that goes on was under way: its answer may be older
  const skipped = useRef(false); // events of executions were left out since the last look
  const again = useRef<ReturnType<typeof setTimeout>>(undefined); // of a read that failed for now
  const view = useRef<[number, number]>([0, 0]);
  const turn = useRef(0); // of the last read that began anew: what those before it bring late is of no use
  const query = (cursor?: string) => ({ ...queryOfFilter(filter, now()), limit: pageSize, cursor });
  const read = async (signal: AbortSignal | undefined, how: "fresh" | "more" | "check") => {
    if (busy.current && how !== "fresh") {
      due.current.add(how);
      return;
    }
    busy.current = true;
    anew.current = how === "fresh";
    clearTimeout(again.current);
    heard.current.clear();
    const behind = skipped.current;
    const mine = how === "fresh" ? ++turn.current : turn.current;
    const reader = readFor();
    const late = () => signal?.aborted || mine !== turn.current || reader !== readFor();
    try {
      const page = await get<ExecutionList>("/api/executions", query(how === "more" ? recall<List>(key)?.cursor : undefined), signal);
      if (late()) return;
      page.executions = page.executions.map((r) => happened(r, heard.current.get(r.executionId)));
      const before = how === "fresh" ? undefined : recall<List>(key); // as it is now: rows changed meanwhile
      let list: List;
      let fresh = 0;
      if (!before || how === "fresh") list = begun(page);
      else if (how === "more") {
        const have = new Set(before.rows.map((r) => r.executionId));
        list = { rows: [...before.rows, ...page.executions.filter((r) => !have.has(r.executionId))], total: page.total, atLeast: page.totalAtLeast, cursor: page.nextCursor, more: page.hasMore,
          pages: [...before.pages, { from: before.rows.length, cursor: before.cursor }] };
      } else { // rows change in place; new ones wait
        const newer = new Map(page.executions.map((r) => [r.executionId, r]));
        if (skipped.current) { // events were left out: what is looked at further down may be over
          skipped.current = false;
          for (const cursor of inView(before, view.current)) {
            const further = await get<ExecutionList>("/api/executions", query(cursor), signal);
            if (late()) return;
            for (const r of further.executions) newer.set(r.executionId, happened(r, heard.current.get(r.executionId)));
          }
        }
        const now = recall<List>(key) ?? before;
        list = { ...now, rows: now.rows.map((r) => newer.get(r.executionId) ?? r) };
        const have = new Set(before.rows.map((r) => r.executionId));
        const oldest = before.rows.at(-1)?.executionId ?? "";
        fresh = page.executions.filter((r) => r.executionId > oldest && !have.has(r.executionId)).length; // also what came between: it changed, and fits now
        if (fresh >= pageSize) fresh = Math.max(fresh, page.total - before.total);
        if (before.rows.length === 0 && fresh > 0) { list = begun(page); fresh = 0; }
      }
      keep(key, list);
      setState((s) => ({ key, list, fresh: how === "more" ? (s.key === key ? s.fresh : 0) : fresh }));
    } catch (err) {
      if (late()) return;
      const error = err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "");
      setState((s) => ({ ...s, key, list: recall<List>(key), error }));
      skipped.current ||= behind;
      const pause = pauseAfter(error);
      if (pause !== undefined) again.current = setTimeout(() => void latest.current(signal, how), pause);
    } finally {
      if (mine === turn.current) {
        busy.current = anew.current = false;
        const next = due.current;
        due.current = new Set();
        if (!signal?.aborted && next.has("more") && how !== "more") more();
        if (!signal?.aborted && next.has("check")) void read(signal, "check");
      }
    }
  };
  const more = () => { const l = recall<List>(key); if (l?.more && l.rows.length < maxRows) void read(undefined, "more"); };
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    void read(abort.signal, recall<List>(key) ? "check" : "fresh");
    const later = () => { timer ??= setTimeout(() => { timer = undefined; void latest.current(abort.signal, "check"); }, 700); };
    const stop = listen({ gap: later, events: (events) => {
      const mine = events.filter((e) => e.topics.includes("executions"));
      if (mine.length === 0) return;
      skipped.current ||= mine.some((e) => e.type === "execution.skipped");
      if (busy.current) for (const e of mine) if (e.subject && statusAfter[e.type] && heard.current.size < maxRows) heard.current.set(e.subject, e);
      patch(key, mine, setState);
      later();
    } });
    return () => { abort.abort(); clearTimeout(timer); clearTimeout(again.current); stop(); busy.current = anew.current = false; due.current.clear(); turn.current++; };
  }, [key]);
  const own = state.key === key ? state : { key, list: recall<List>(key), fresh: 0, error: undefined };
  return {
    ...own,
    refresh: () => { if (!anew.current) void read(undefined, "fresh"); }, // one more click takes nothing of the first one away
    more,
    seen: (first: number, last: number) => { view.current = [first, last]; },
  };
}

/** The cursors of the pages, but for the first one, that have rows in view which are not over. */
function inView(list: List, [first, last]: [number, number]): string[] {
  const open = (r: ExecutionRow) => r.status === "pending" || r.status === "running";
  return list.pages.flatMap(({ from, cursor }, i) => {
    const to = list.pages[i + 1]?.from ?? list.rows.length;
    return cursor && list.rows.slice(Math.max(from, first), Math.min(to, last)).some(open) ? [cursor] : [];
  });
}

// What an execution is after an event.
const statusAfter: Record<string, ExecutionRow["status"] | undefined> = { "execution.started": "running", "execution.completed": "completed", "execution.failed": "failed", "execution.cancelled": "cancelled" };

/** A row after what happened to it, if that is news. What is over stays so. */
function happened(r: ExecutionRow, e: FeedEvent | undefined): ExecutionRow {
  const status = e && statusAfter[e.type];
  if (!status || r.status === status || status === "running" && r.status !== "pending") return r;
  const over = status !== "running";
  return { ...r, status, startedAt: r.startedAt ?? (over ? r.startedAt : e.timestamp), completedAt: over ? e.timestamp : r.completedAt, waiting: undefined };
}

/** Changes rows in place by what happened to them. */
function patch(key: string, events: FeedEvent[], set: (f: (s: { key: string; list?: List; error?: ApiError; fresh: number }) => { key: string; list?: List; error?: ApiError; fresh: number }) => void): void {
  const list = recall<List>(key);
  if (!list) return;
  const byID = new Map<string, FeedEvent>();
  for (const e of events) if (e.subject && statusAfter[e.type]) byID.set(e.subject, e);
  const rows = list.rows.map((r) => happened(r, byID.get(r.executionId)));
  if (rows.every((r, i) => r === list.rows[i])) return;
  const next = { ...list, rows };
  keep(key, next);
  set((s) => (s.key === key ? { ...s, list: next } : s));
}

const Histogram = more((m) => m.Histogram);

/** A time as an input of the browser has it, in the zone that times are shown in. */
const local = (iso: string): string => {
  const t = Date.parse(iso);
  const ahead = setting.peek().zone === "utc" ? 0 : new Date(t).getTimezoneOffset() * 60_000;
  return Number.isNaN(t) ? "" : new Date(t - ahead).toISOString().slice(0, 16);
};

const latest = "9999-12-31T23:59"; // a field of the browser takes years of six digits, which are none of the API's

/** The filters that have no place in the bar. */
function MoreFilters({ filter, close }: { filter: URLSearchParams; close: () => void }) {
  const [key, setKey] = useState("");
  const field = (name: string, label: string, hint: string) => <label><span>{label}</span><input name={name} defaultValue={filter.get(name) ?? ""} placeholder={hint} spellcheck={false} autocomplete="off" /></label>;
  return <Dialog title="Filters" close={close}><form onSubmit={(e) => {
    e.preventDefault();
    const f = new FormData(e.currentTarget);
    const text = (n: string) => String(f.get(n) ?? "").trim();
    const time = (n: string) => { // one that nobody changed stays to the millisecond, and in the hour that a clock shows twice
      const before = filter.get(n) ?? "";
      if (text(n) === local(before)) return before;
      return text(n) ? new Date(text(n) + (setting.peek().zone === "utc" ? "Z" : "")).toISOString() : "";
    };
    close();
    setQuery({ errorCode: text("errorCode"), createdBy: text("createdBy"), batchId: text("batchId"), since: time("since"), until: time("until"), ended: text("ended"), ...(key.trim() && { ["metadata." + key.trim()]: text("value") }) }, false);
  }}><div class="body form">
    {field("errorCode", "Failed with", "TIMEOUT")}{field("createdBy", "Creator", "as records have it")}{field("batchId", "Batch", "batch_...")}
    <div class="pair"><label><span>Metadata</span><input value={key} onInput={(e) => setKey(e.currentTarget.value)} placeholder="key" spellcheck={false} autocomplete="off" /></label><label><span>is</span><input name="value" placeholder="value" spellcheck={false} autocomplete="off" /></label></div>
    <div class="pair"><label><span>Made from</span><input type="datetime-local" name="since" max={latest} defaultValue={local(filter.get("since") ?? "")} /></label><label><span>until</span><input type="datetime-local" name="until" max={latest} defaultValue={local(filter.get("until") ?? "")} /></label></div>
    <label><span>Ended within</span><select name="ended" defaultValue={filter.get("ended") ?? ""}>{spans.map(([v, name]) => <option key={v} value={v} selected={v === (filter.get("ended") ?? "")}>{name}</option>)}</select></label>
  </div><footer><button type="button" class="button" onClick={close}>Close</button><button type="submit" class="button main">Filter</button></footer></form></Dialog>;
}

/** What the table shows beside what it always shows. */
function Columns({ names, close }: { names: string[]; close: () => void }) {
  const [key, setKey] = useState("");
  const set = (list: string[]) => setQuery({ cols: list.join(",") === usual ? "" : list.join(",") || "none" });
  const metadata = names.filter((n) => n.startsWith("metadata."));
  return <Dialog title="Columns" close={close}><form onSubmit={(e) => { e.preventDefault(); if (key.trim()) { set([...names, "metadata." + key.trim()]); setKey(""); } else close(); }}><div class="body form">
    {[...chosen.map((c): [string, string] => [c.key, c.head]), ...metadata.map((n): [string, string] => [n, n])].map(([n, head]) => <label key={n} class="check"><input type="checkbox" checked={names.includes(n)} onChange={() => set(names.includes(n) ? names.filter((x) => x !== n) : [...names, n])} /> <Text>{head}</Text></label>)}
    <label><span>Metadata</span><input value={key} onInput={(e) => setKey(e.currentTarget.value)} placeholder="key" spellcheck={false} autocomplete="off" /></label>
  </div><footer><button type="submit" class="button main">{key.trim() ? "Add" : "Done"}</button></footer></form></Dialog>;
}

const maxExported = 10_000;

/** Reads what the filters select, and offers it as a file. */
function Export({ filter, total, atLeast, close }: { filter: URLSearchParams; total: number; atLeast?: boolean; close: () => void }) {
  const [read, setRead] = useState(0);
  const [short, setShort] = useState(false); // the file has not all of them
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);
  const a = useAct();
  const run = (form: "jsonl" | "csv") => void a.act(async () => {
    const query = queryOfFilter(filter, now());
    query.until ||= new Date(now()).toISOString(); // what is made meanwhile does not move the pages
    const { rows, more } = await readRows((cursor) => get<ExecutionList>("/api/executions", { ...query, limit: pageSize, cursor }, abort.current.signal), (p) => p.executions, maxExported, setRead);
    if (form === "csv") download("executions.csv", "text/csv", csv(rows as unknown as Record<string, unknown>[], ["executionId", "status", "pattern", "version", "createdAt", "startedAt", "completedAt", "duration", "errorCode", "createdBy"]));
    else download("executions.jsonl", "application/x-ndjson", jsonLines(rows));
    setShort(more);
  });
  return <Dialog title="Export" close={close}><div class="body"><p>{total > maxExported ? `The first ${count(maxExported)} of ` : ""}{atLeast ? `${count(total)} executions or more` : plural(total, "execution")} that these filters select, newest first.{(total > maxExported || short) && <>{short && ` The file has the first ${count(maxExported)}.`} All are written by <Command text="wardroom execution list --all -o json" /></>}</p>
    <p role="status">{a.busy || read > 0 ? `${count(read)} read${a.busy ? "\u2026" : "."}` : "\u00a0"}</p>{a.error && <Failure error={a.error} />}</div>
    <footer><button type="button" class="button" onClick={close}>Close</button><button type="button" class="button" disabled={a.busy} onClick={() => run("csv")}>CSV</button><button type="button" class="button main" disabled={a.busy} onClick={() => run("jsonl")}>JSON lines</button></footer></Dialog>;
}

const names: Record<string, string> = { errorCode: "failed with", createdBy: "creator", batchId: "batch", since: "from", until: "until", ended: "ended within", endedSince: "ended from", endedUntil: "ended until" };

export function ExecutionsView() {
  useTitle("Executions");
  const filter = place.value.query;
  const l = useList(filter);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [doing, setDoing] = useState("");
  useEffect(() => setMarked(new Set()), [l.key]);
  useEffect(() => {
    const press = (e: Event) => { if ((e as CustomEvent<string>).detail === "refresh") l.refresh(); };
    addEventListener("wardroom-key", press);
    return () => removeEventListener("wardroom-key", press);
  });
  const pattern = queryOf("pattern");
  const mark = (id: string) => setMarked((s) => { const n = new Set(s); if (!n.delete(id)) n.add(id); return n; });
  const states = queryOf("status").split(",").filter(Boolean);
  const active = filtersIn(filter);
  const further = active.filter((n) => n in names || n.startsWith("metadata."));
  const cols = queryOf("cols") ? queryOf("cols").split(",").filter((n) => n !== "none") : usual.split(",");
  const columns = useMemo(() => columnsOf(cols.join(",")), [cols.join(",")]);
  const clear = () => setQuery(Object.fromEntries(active.map((n) => [n, ""])));
  const list = l.list;
  return <div class="page full">
    <header class="head"><div class="line"><h1>Executions</h1>{list && <span class="soft nums">{count(list.total)}{list.atLeast ? " or more" : ""}</span>}
      <span class="push" />
      {l.fresh > 0 && <button type="button" class="button main" onClick={l.refresh}>{count(l.fresh)} new <kbd>r</kbd></button>}
      <SavedViews screen="executions" path="/executions" />
      <button type="button" class="button" aria-pressed={queryOf("time") === "1"} onClick={() => setQuery({ time: queryOf("time") === "1" ? "" : "1" })}>Over time</button>
      <button type="button" class="button" onClick={() => setDoing("columns")}>Columns</button>
      <button type="button" class="button" disabled={!list || list.rows.length === 0} onClick={() => setDoing("export")}>Export&hellip;</button>
    </div>
    <div class="bar">
      <div class="chips" role="group" aria-label="State">{statuses.map((s) => <button type="button" key={s} class="chip" aria-pressed={states.includes(s)} onClick={() => setQuery({ status: statuses.filter((o) => states.includes(o) !== (o === s)).join(",") })}>{s}</button>)}</div>
      <PatternField label="Pattern" value={pattern} set={(p) => setQuery({ pattern: p })} />
      <Choice label="Made in" value={queryOf("range")} set={(range) => setQuery({ range, since: "", until: "" })} options={spans.map(([v, name]) => [v, name])} />
      {further.map((n) => <button type="button" key={n} class="chip" aria-pressed="true" onClick={() => setQuery({ [n]: "" })}>{names[n] ?? n} {/^(ended)?(since|until)$/i.test(n) ? <When at={filter.get(n)} /> : <Text>{n === "batchId" ? shortID(filter.get(n)!) : filter.get(n)!}</Text>} &times;<span class="sr"> take this filter away</span></button>)}
      <button type="button" class="link" onClick={() => setDoing("filters")}>+ filter</button>
      {active.length > 0 && <button type="button" class="link" onClick={clear}>clear</button>}
      <span class="push" />
      {marked.size > 0 && <><span class="nums">{count(marked.size)} selected</span>
        {may("executions.create") && <button type="button" class="button" onClick={() => setDoing("retry")}>Run again&hellip;</button>}{may("executions.cancel") && <button type="button" class="button" onClick={() => setDoing("cancel")}>Cancel&hellip;</button>}
        <button type="button" class="link" onClick={() => setMarked(new Set())}>none</button></>}
    </div></header>
    {queryOf("time") === "1" && <div class="histogram-room"><Histogram filter={filter} /></div>}
    {l.error && <Failure error={l.error} old={Boolean(list)} again={l.refresh} />}
    {!list && !l.error && <Waiting />}
    {list && list.rows.length === 0 && (active.length > 0 ? <Empty title="Nothing fits these filters"><button type="button" class="button" onClick={clear}>Show all</button></Empty>
      : <Empty title="Nothing has run yet">Open a <a href={href("/patterns")}>pattern</a> and run it, or <Command text={"wardroom run startup-team --input '{\"task\": \"a word counter\"}'"} /></Empty>)}
    {list && list.rows.length > 0 && <Rows label="Executions" of={l.key} columns={columns} rows={list.rows} id={(x) => x.executionId} to={(x) => "/executions/" + x.executionId}
      total={list.total} more={l.more} seen={l.seen} marked={marked} mark={may("executions.create") || may("executions.cancel") ? mark : undefined} />}
    {list && list.rows.length >= maxRows && list.more && <p class="bar"><span class="soft">{count(list.rows.length)} of {count(list.total)} are shown.</span>
      <button type="button" class="button" onClick={() => setQuery({ until: list.rows.at(-1)!.createdAt }, false)}>Older ones</button></p>}
    {(doing === "retry" || doing === "cancel") && <Several what={doing} ids={[...marked]} rows={list?.rows ?? []} close={(done) => { setDoing(""); setMarked((s) => new Set([...s].filter((id) => !done.has(id)))); }} />}
    {doing === "filters" && <MoreFilters filter={filter} close={() => setDoing("")} />}
    {doing === "columns" && <Columns names={cols} close={() => setDoing("")} />}
    {doing === "export" && <Export filter={new URLSearchParams(filter)} total={list?.total ?? 0} atLeast={list?.atLeast} close={() => setDoing("")} />}
  </div>;
}

// Idempotency-Keys of repetitions whose answer was lost, by execution: the next try repeats nothing twice.
const lost = newKept<string>(maxRows);

/** Runs an execution again, and returns the id of the new one. */
async function again(id: string): Promise<string> {
  const key = lost.get(id) ?? freshKey();
  lost.set(id, key);
  try {
    const made = await post<ExecutionRetried>(`/api/executions/${seg(id)}/retry`, {}, key);
    lost.delete(id);
    return made.newExecutionId;
  } catch (err) {
    if (err instanceof ApiError && pauseAfter(err) === undefined) lost.delete(id);
    throw err;
  }
}

/** Does the same to each of a selection: shows the ids first, then the outcome of each. */
function Several({ what, ids, rows, close }: { what: string; ids: string[]; rows: ExecutionRow[]; close: (done: ReadonlySet<string>) => void }) {
  const { state, said, out, run, end } = useEach(close);
  const words = what === "retry" ? "Run again" : "Cancel";
  const each = async (id: string) => {
    if (what === "cancel") {
      await post(`/api/executions/${seg(id)}/cancel`, { reason: "cancelled in the console" });
      return "cancelled";
    }
    const made = await again(id);
    return <>runs again as <ID id={made} to={"/executions/" + made} /></>;
  };
  return <Dialog title={`${words}: ${plural(ids.length, "execution")}`} close={end} wide>
    <div class="body"><table class="plain"><thead><tr><th scope="col">Id</th><th scope="col">Pattern</th><th scope="col">State</th><th scope="col">Outcome</th></tr></thead><tbody>
      {ids.map((id) => { const r = rows.find((x) => x.executionId === id); return <tr key={id}><td class="mono">{id}</td><td><Text>{r?.pattern ?? ""}</Text></td><td>{r && <State status={r.status} />}</td><td>{out[id]}</td></tr>; })}
    </tbody></table></div>
    <footer><span class="soft" role="status">{said}</span>{state === "over" ? <button type="button" class="button main" onClick={end}>Close</button> : <><button type="button" class="button" onClick={end}>{state === "busy" ? "Stop" : "Keep as they are"}</button>
      <button type="button" class={"button " + (what === "cancel" ? "danger" : "main")} disabled={state === "busy"} onClick={() => void run(ids, each)}>{words} {count(ids.length)}</button></>}</footer>
  </Dialog>;
}
