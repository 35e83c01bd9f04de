import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, freshKey, get, post, seg } from "../api/client.ts";
import type { ExecutionList, ExecutionRow, PatternList } from "../api/types.gen.ts";
import { listen } from "../live/live.ts";
import type { FeedEvent } from "../live/hub.ts";
import { Dialog } from "../part/dialog.tsx";
import { ID, shortID } from "../part/id.tsx";
import { Empty, Failure, Waiting, Command } from "../part/notice.tsx";
import { Rows, type Column } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice } from "../part/tabs.tsx";
import { Text, count, plural } from "../part/text.tsx";
import { Lasted, When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { queryOf, setQuery } from "../route.ts";
import { keep, recall, useLoad } from "../store/load.ts";

const pageSize = 100;
const maxRows = 5000;

interface List { rows: ExecutionRow[]; total: number; cursor?: string; more: boolean }

const spans: [string, string, number][] = [["", "all time", 0], ["1h", "1 h", 3600e3], ["24h", "24 h", 864e5], ["7d", "7 days", 6048e5], ["30d", "30 days", 2592e6]];

export const executionColumns: Column<ExecutionRow>[] = [
  { head: "State", cell: (x) => <State status={x.status} word={x.waiting && x.status === "running" ? "waits for " + x.waiting.for : undefined} /> },
  { head: "Pattern", class: "grow", cell: (x) => <><Text>{x.pattern}</Text> <span class="soft">{x.version}</span></> },
  { head: "Began", cell: (x) => <When at={x.startedAt ?? x.createdAt} /> },
  { head: "Duration", class: "num", cell: (x) => x.startedAt ? <Lasted from={x.startedAt} to={x.completedAt} ms={x.duration} /> : <span class="soft">--</span> },
  { head: "Id", class: "mid", cell: (x) => <ID id={x.executionId} to={"/executions/" + x.executionId} /> },
];

/** Reads pages of the list, keeps its rows as they change, and counts what is new. */
function useList(filter: { status: string; pattern: string; span: string; before: string }) {
  const key = "executions?" + JSON.stringify(filter);
  const [state, setState] = useState<{ key: string; list?: List; error?: ApiError; fresh: number }>({ key, list: recall<List>(key), fresh: 0 });
  const busy = useRef(false);
  const query = (cursor?: string) => {
    const span = spans.find((s) => s[0] === filter.span)?.[2] ?? 0;
    return { status: filter.status, pattern: filter.pattern, until: filter.before, limit: pageSize, cursor, since: span ? new Date(Date.now() - span).toISOString() : "" };
  };
  const read = async (signal: AbortSignal | undefined, how: "fresh" | "more" | "check") => {
    if (busy.current && how !== "fresh") return;
    busy.current = true;
    try {
      const before = how === "fresh" ? undefined : recall<List>(key);
      const page = await get<ExecutionList>("/api/executions", query(how === "more" ? before?.cursor : undefined), signal);
      if (signal?.aborted) return;
      let list: List;
      let fresh = 0;
      if (!before || how === "fresh") list = { rows: page.executions, total: page.total, cursor: page.nextCursor, more: page.hasMore };
      else if (how === "more") {
        const have = new Set(before.rows.map((r) => r.executionId));
        list = { rows: [...before.rows, ...page.executions.filter((r) => !have.has(r.executionId))], total: page.total, cursor: page.nextCursor, more: page.hasMore };
      } else { // rows change in place; new ones wait
        const now = new Map(page.executions.map((r) => [r.executionId, r]));
        list = { ...before, rows: before.rows.map((r) => now.get(r.executionId) ?? r), total: before.total };
        const newest = before.rows[0]?.executionId ?? "";
        fresh = page.executions.filter((r) => r.executionId > newest).length;
        if (fresh >= pageSize) fresh = Math.max(fresh, page.total - before.total);
        if (before.rows.length === 0 && fresh > 0) { list = { rows: page.executions, total: page.total, cursor: page.nextCursor, more: page.hasMore }; fresh = 0; }
      }
      keep(key, list);
      setState((s) => ({ key, list, fresh: how === "more" ? (s.key === key ? s.fresh : 0) : fresh }));
    } catch (err) {
      if (signal?.aborted) return;
      setState((s) => ({ ...s, key, list: recall<List>(key), error: err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "") }));
    } finally {
      busy.current = false;
    }
  };
  const now = useRef(read);
  now.current = read;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    void read(abort.signal, recall<List>(key) ? "check" : "fresh");
    const later = () => { timer ??= setTimeout(() => { timer = undefined; void now.current(abort.signal, "check"); }, 700); };
    const stop = listen({ gap: later, events: (events) => {
      const mine = events.filter((e) => e.topics.includes("executions"));
      if (mine.length === 0) return;
      patch(key, mine, setState);
      later();
    } });
    return () => { abort.abort(); clearTimeout(timer); stop(); busy.current = false; };
  }, [key]);
  const own = state.key === key ? state : { key, list: recall<List>(key), fresh: 0, error: undefined };
  return {
    ...own,
    refresh: () => void read(undefined, "fresh"),
    more: () => { const l = recall<List>(key); if (l?.more && l.rows.length < maxRows) void read(undefined, "more"); },
  };
}

/** Changes rows in place by what happened to them. */
function patch(key: string, events: FeedEvent[], set: (f: (s: { key: string; list?: List; error?: ApiError; fresh: number }) => { key: string; list?: List; error?: ApiError; fresh: number }) => void): void {
  const list = recall<List>(key);
  if (!list) return;
  const byID = new Map<string, FeedEvent>();
  for (const e of events) if (e.subject) byID.set(e.subject, e);
  let changed = false;
  const rows = list.rows.map((r) => {
    const e = byID.get(r.executionId);
    const status = e && { "execution.started": "running", "execution.completed": "completed", "execution.failed": "failed", "execution.cancelled": "cancelled" }[e.type];
    if (!e || !status || r.status === status) return r;
    changed = true;
    const over = status !== "running";
    return { ...r, status: status as ExecutionRow["status"], startedAt: r.startedAt ?? (over ? r.startedAt : e.timestamp), completedAt: over ? e.timestamp : r.completedAt, waiting: undefined };
  });
  if (!changed) return;
  const next = { ...list, rows };
  keep(key, next);
  set((s) => (s.key === key ? { ...s, list: next } : s));
}

export function ExecutionsView() {
  useTitle("Executions");
  const filter = { status: queryOf("status"), pattern: queryOf("pattern"), span: queryOf("range"), before: queryOf("before") };
  const l = useList(filter);
  const patterns = useLoad("patterns", (signal) => get<PatternList>("/api/patterns", { limit: 100 }, signal), { on: (e) => e.topics.includes("patterns") });
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [doing, setDoing] = useState("");
  useEffect(() => setMarked(new Set()), [l.key]);
  useEffect(() => {
    const press = (e: Event) => { if ((e as CustomEvent<string>).detail === "refresh") l.refresh(); };
    addEventListener("wardroom-key", press);
    return () => removeEventListener("wardroom-key", press);
  });
  const names = useMemo(() => {
    const list = (patterns.data?.patterns ?? []).map((p) => p.name);
    return filter.pattern && !list.includes(filter.pattern) ? [filter.pattern, ...list] : list;
  }, [patterns.data, filter.pattern]);
  const mark = (id: string) => setMarked((s) => { const n = new Set(s); if (!n.delete(id)) n.add(id); return n; });
  const filtered = Boolean(filter.status || filter.pattern || filter.span || filter.before);
  const list = l.list;
  return <div class="page full">
    <header class="head"><div class="line"><h1>Executions</h1>{list && <span class="soft nums">{count(list.total)}</span>}
      <span class="push" />
      {l.fresh > 0 && <button class="button main" onClick={l.refresh}>{count(l.fresh)} new <kbd>r</kbd></button>}
    </div>
    <div class="bar">
      <Choice label="State" value={filter.status} set={(status) => setQuery({ status })} options={[["", "any"], ["pending", "pending"], ["running", "running"], ["completed", "completed"], ["failed", "failed"], ["cancelled", "cancelled"]]} />
      <Choice label="Pattern" value={filter.pattern} set={(pattern) => setQuery({ pattern })} options={[["", "any"], ...names.map((n): [string, string] => [n, n])]} />
      <Choice label="Made in" value={filter.span} set={(range) => setQuery({ range, before: "" })} options={spans.map(([v, name]) => [v, name])} />
      {filter.before && <button class="chip" aria-pressed="true" onClick={() => setQuery({ before: "" })}>before <When at={filter.before} /> &times;</button>}
      {filtered && <button class="link" onClick={() => setQuery({ status: "", pattern: "", range: "", before: "" })}>clear</button>}
      <span class="push" />
      {marked.size > 0 && <><span class="nums">{count(marked.size)} selected</span>
        <button class="button" onClick={() => setDoing("retry")}>Run again&hellip;</button><button class="button" onClick={() => setDoing("cancel")}>Cancel&hellip;</button>
        <button class="link" onClick={() => setMarked(new Set())}>none</button></>}
    </div></header>
    {l.error && <Failure error={l.error} old={Boolean(list)} again={l.refresh} />}
    {!list && !l.error && <Waiting />}
    {list && list.rows.length === 0 && (filtered ? <Empty title="Nothing fits these filters"><button class="button" onClick={() => setQuery({ status: "", pattern: "", range: "", before: "" })}>Show all</button></Empty>
      : <Empty title="Nothing has run yet">Open a <a href={"patterns"}>pattern</a> and run it, or <Command text={"wardroom run startup-team --input '{\"task\": \"a word counter\"}'"} /></Empty>)}
    {list && list.rows.length > 0 && <Rows label="Executions" columns={executionColumns} rows={list.rows} id={(x) => x.executionId} to={(x) => "/executions/" + x.executionId}
      total={list.total} more={l.more} marked={marked} mark={mark} />}
    {list && list.rows.length >= maxRows && list.more && <p class="bar"><span class="soft">{count(list.rows.length)} of {count(list.total)} are shown.</span>
      <button class="button" onClick={() => setQuery({ before: list.rows.at(-1)!.createdAt }, false)}>Older ones</button></p>}
    {doing && <Several what={doing} ids={[...marked]} rows={list?.rows ?? []} close={() => { setDoing(""); setMarked(new Set()); }} />}
  </div>;
}

/** Does the same to each of a selection: shows the ids first, then the outcome of each. */
function Several({ what, ids, rows, close }: { what: string; ids: string[]; rows: ExecutionRow[]; close: () => void }) {
  const [out, setOut] = useState<Record<string, string>>({});
  const [state, setState] = useState<"asked" | "busy" | "over">("asked");
  const words = what === "retry" ? "Run again" : "Cancel";
  const run = async () => {
    setState("busy");
    for (const id of ids) {
      try {
        if (what === "cancel") await post(`/api/executions/${seg(id)}/cancel`, { reason: "cancelled in the console" });
        else await post(`/api/executions/${seg(id)}/retry`, {}, freshKey());
        setOut((o) => ({ ...o, [id]: what === "cancel" ? "cancelled" : "a new one is stored" }));
      } catch (err) {
        setOut((o) => ({ ...o, [id]: err instanceof Error ? err.message : String(err) }));
      }
    }
    setState("over");
  };
  return <Dialog title={`${words}: ${plural(ids.length, "execution")}`} close={close} wide>
    <div class="body"><table class="plain"><thead><tr><th>Id</th><th>Pattern</th><th>State</th><th>Outcome</th></tr></thead><tbody>
      {ids.map((id) => { const r = rows.find((x) => x.executionId === id); return <tr key={id}><td class="mono">{shortID(id)}</td><td><Text>{r?.pattern ?? ""}</Text></td><td>{r && <State status={r.status} />}</td><td>{out[id] ?? ""}</td></tr>; })}
    </tbody></table></div>
    <footer>{state === "over" ? <button class="button main" onClick={close}>Close</button> : <><button class="button" onClick={close} disabled={state === "busy"}>Keep as they are</button>
      <button class={"button " + (what === "cancel" ? "danger" : "main")} disabled={state === "busy"} onClick={() => void run()}>{words} {count(ids.length)}</button></>}</footer>
  </Dialog>;
}
