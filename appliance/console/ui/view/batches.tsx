// Batches: one pattern over many inputs, how far they are, and their results.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, call, get, post, seg } from "../api/client.ts";
import type { BatchBody, BatchDetail, BatchList, BatchResult, BatchRow } from "../api/types.gen.ts";
import { Confirm, Dialog, useAct, useKeyOf } from "../part/dialog.tsx";
import { csv, download, jsonLines } from "../part/export.ts";
import { Copy, ID } from "../part/id.tsx";
import { indented } from "../part/json.tsx";
import { Command, Empty, Failure, Meanwhile, Waiting } from "../part/notice.tsx";
import { PatternField } from "../part/patternfield.tsx";
import { Rows } from "../part/rows.tsx";
import { State, kindOf } from "../part/state.tsx";
import { Choice } from "../part/tabs.tsx";
import { Text, count, plural } from "../part/text.tsx";
import { Lasted, When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { go, href, onward, queryOf, setQuery } from "../route.ts";
import { curlOf } from "../store/curl.ts";
import { readInputs } from "../store/inputs.ts";
import { useLoad } from "../store/load.ts";
import { readRows, usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";

const states = ["running", "completed", "failed", "cancelled"];
const live = { topics: ["batches"], pause: 1000 };

/** How far a batch is, as a bar and in words. */
function Progress({ b }: { b: BatchBody }) {
  const left = b.total - b.completed - b.failed - b.cancelled;
  const words = `${count(b.completed)} completed, ${count(b.failed)} failed, ${count(b.cancelled)} cancelled, ${count(left)} left of ${count(b.total)}`;
  const part = (n: number, kind: string) => n > 0 && <span class={kind} style={{ flexGrow: n }} />;
  return <span class="progress" role="img" aria-label={words} title={words}>{part(b.completed, "done")}{part(b.failed, "failed")}{part(b.cancelled, "stopped")}{part(left, "left")}</span>;
}

export function BatchesView() {
  useTitle("Batches");
  const status = queryOf("status");
  const pattern = queryOf("pattern");
  const l = usePages(`batches?${status}&${pattern}`, (cursor, signal) => get<BatchList>("/api/batches", { status, pattern, limit: 100, cursor }, signal), (p) => p.batches, live);
  const [starting, setStarting] = useState(false);
  return <div class="page full">
    <header class="head"><div class="line"><h1>Batches</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}<span class="push" />
      {may("executions.create") && <button type="button" class="button main" onClick={() => setStarting(true)}>Start one&hellip;</button>}</div>
      <div class="bar"><Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={[["", "any"], ...states.map((s): [string, string] => [s, s])]} />
        <PatternField label="Pattern" value={pattern} set={(p) => setQuery({ pattern: p })} /></div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && (status || pattern ? <Empty title="No batch fits these filters"><button type="button" class="button" onClick={() => setQuery({ status: "", pattern: "" })}>Show all</button></Empty>
      : <Empty title="No batches yet">One pattern over many inputs: <Command text="wardroom batch run inputs.jsonl --pattern NAME" /></Empty>)}
    {l.rows && l.rows.length > 0 && <Rows label="Batches" of={l.of} rows={l.rows} id={(b: BatchRow) => b.batchId} to={(b) => "/batches/" + b.batchId} total={l.total} more={l.more} rest={l.full && "wardroom batch list --all"} columns={[
      { head: "State", cell: (b) => <State status={b.status} /> },
      { head: "Pattern", class: "grow", cell: (b) => <><Text>{b.pattern.name}</Text> <span class="soft">{b.pattern.version}</span></> },
      { head: "Items", class: "num", cell: (b) => <>{count(b.completed + b.failed + b.cancelled)}/{count(b.total)}</> },
      { head: "Progress", class: "mid", cell: (b) => <Progress b={b} /> },
      { head: "Failed", class: "num mid", cell: (b) => b.failed ? <span class="removed">{count(b.failed)}</span> : <span class="soft">0</span> },
      { head: "Made", cell: (b) => <When at={b.createdAt} /> },
      { head: "Took", class: "num mid", cell: (b) => <Lasted from={b.createdAt} to={b.completedAt} /> },
      { head: "Creator", class: "wide", cell: (b) => <Text class="soft">{b.createdBy}</Text> },
      { head: "Id", class: "mid", cell: (b) => <ID id={b.batchId} to={"/batches/" + b.batchId} /> },
    ]} />}
    {starting && <Start pattern={pattern} close={() => setStarting(false)} />}
  </div>;
}

const order = ["failed", "running", "cancelled", "pending", "completed"];
const mapped = 1000;

/** The items as a map: a square each, by index. What a pointer is on is said, and opened by a click; others have the list. */
function ItemMap({ items }: { items: BatchResult[] }) {
  const columns = 50;
  const side = 12;
  const shown = items.slice(0, mapped);
  const counts = order.map((s) => [s, shown.filter((i) => i.status === s).length] as const).filter(([, n]) => n > 0);
  const [at, setAt] = useState<BatchResult | undefined>();
  const item = (e: PointerEvent | MouseEvent): BatchResult | undefined => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    const scale = (columns * side) / r.width;
    return shown[Math.floor(((e.clientY - r.top) * scale) / side) * columns + Math.floor(((e.clientX - r.left) * scale) / side)];
  };
  return <div class="item-map"><svg viewBox={`0 0 ${columns * side} ${Math.max(1, Math.ceil(shown.length / columns)) * side}`} role="img" aria-label={"Items: " + counts.map(([s, n]) => `${count(n)} ${s}`).join(", ") + ". The list below opens them."}
    onPointerMove={(e) => setAt(item(e))} onPointerLeave={() => setAt(undefined)} onClick={(e) => { const i = item(e); if (i?.executionId) go("/executions/" + i.executionId); }}>
    {order.map((s) => <path key={s} class={kindOf(s)} d={shown.map((i, n) => (i.status === s ? `M${(n % columns) * side + 1} ${Math.floor(n / columns) * side + 1}h${side - 2}v${side - 2}h-${side - 2}z` : "")).join("")} />)}
  </svg><span class="soft nums" aria-hidden="true">{at ? `${at.index}: ${at.status}${at.error ? " " + at.error.code : ""}` : "\u00a0"}</span></div>;
}

const maxRead = 10_000;

/** Reads the results of a batch up to a number of items. */
async function readBatch(id: string, most: number, signal: AbortSignal): Promise<BatchDetail> {
  let first: BatchDetail | undefined;
  const read = async (cursor: string | undefined) => {
    const page = await get<BatchDetail>("/api/batch/" + seg(id), { limit: 100, cursor }, signal);
    first ??= page;
    return page;
  };
  const { rows, more } = await readRows(read, (p) => p.results, most);
  return { ...first!, results: rows, hasMore: more };
}

export function BatchView({ id }: { id: string }) {
  const b = useLoad("batch:" + id, (signal) => readBatch(id, mapped, signal), { ...live, on: (e) => e.topics.includes("batches") && (e.subject ?? id) === id });
  const [asking, setAsking] = useState("");
  const [short, setShort] = useState(0); // how many results a file has that has not all of them
  const a = useAct();
  useTitle(b.data ? `Batch of ${b.data.pattern.name}` : "Batch");
  const only = queryOf("status");
  const items = useMemo(() => {
    const list = (b.data?.results ?? []).filter((i) => !only || i.status === only);
    return list.sort((x, y) => order.indexOf(x.status) - order.indexOf(y.status) || x.index - y.index);
  }, [b.data, only]);
  if (!b.data) return b.error ? <div class="page"><Failure error={b.error} again={b.reload} /></div> : <Waiting />;
  const d = b.data;
  const save = (form: "jsonl" | "csv") => void a.act(async () => {
    const whole = await readBatch(id, maxRead, AbortSignal.timeout(120_000));
    const rows = whole.results;
    if (form === "csv") download(`${id}.csv`, "text/csv", csv(rows.map((r) => ({ ...r, error: r.error?.code, message: r.error?.message })), ["index", "status", "executionId", "error", "message", "result"]));
    else download(`${id}.jsonl`, "application/x-ndjson", jsonLines(rows));
    setShort(whole.hasMore ? rows.length : 0);
  });
  const counted = order.map((s) => [s, d.results.filter((i) => i.status === s).length] as const);
  return <div class="page full">
    <header class="head">
      <div class="line"><h1>Batch of <a href={href("/patterns/" + seg(d.pattern.name))}><Text>{d.pattern.name}</Text></a><span class="soft">@{d.pattern.version}</span></h1><ID id={id} /><Copy text={id} label="Copy the id" /><State status={d.status} /><Lasted from={d.createdAt} to={d.completedAt} /><span class="push" />
        <button type="button" class="button" disabled={a.busy} onClick={() => save("jsonl")}>Results as JSON lines</button><button type="button" class="button" disabled={a.busy} onClick={() => save("csv")}>CSV</button>
        {d.status === "running" && may("executions.cancel") && <button type="button" class="button" onClick={() => setAsking("cancel")}>Cancel&hellip;</button>}</div>
      <div class="line soft"><span class="nums">{count(d.completed)} completed</span><span class={"nums" + (d.failed ? " removed" : "")}>{count(d.failed)} failed</span><span class="nums">{count(d.cancelled)} cancelled</span><span class="nums">of {count(d.total)}</span><span>made <When at={d.createdAt} /></span>{d.createdBy && <span>by <Text>{d.createdBy}</Text></span>}
        <a href={href("/executions?batchId=" + id)}>its executions</a>{d.failed > 0 && <a href={href(`/executions?batchId=${id}&status=failed`)}>failed ones</a>}<span class="push" /><Copy text={`wardroom batch get ${id}`} label="Copy as CLI">CLI</Copy><Copy text={() => curlOf("/api/batch/" + seg(id))} label="Copy as curl">curl</Copy></div>
      <Progress b={d} /><ItemMap items={d.results} />
      <div class="bar"><div class="chips" role="group" aria-label="State">{counted.filter(([s, n]) => n > 0 || s === only).map(([s, n]) => <button type="button" key={s} class="chip" aria-pressed={only === s} onClick={() => setQuery({ status: only === s ? "" : s })}>{s} {count(n)}</button>)}</div>
        {d.hasMore && <><span class="soft">The first {count(d.results.length)} items are here, and each <a href={href("/executions?batchId=" + id)}>among its executions</a>. All are shown by</span> <Command text={`wardroom batch get ${id} --rows -1`} /></>}</div>
    </header>
    {b.error && <Failure error={b.error} old again={b.reload} />}{a.error && <Failure error={a.error} />}
    {short > 0 && <div class="notice" role="status"><div>The file has the first {count(short)} of {count(d.total)} results. All are written by <Command text={`wardroom batch get ${id} -o json`} /></div></div>}
    {items.length === 0 ? <Empty title="No item is in this state" /> : <Rows label="Items" rows={items} id={(i) => String(i.index)} to={(i) => (i.executionId ? "/executions/" + i.executionId : "/batches/" + id)} pick={(i) => { if (i.executionId) go("/executions/" + i.executionId); }} columns={[
      { head: "Item", class: "num", cell: (i) => count(i.index) },
      { head: "State", cell: (i) => <State status={i.status} /> },
      { head: "Outcome", class: "grow", cell: (i) => i.error ? <><span class="mono removed">{i.error.code}</span> <Text>{i.error.message}</Text></> : i.result === undefined ? null : <span class="mono"><Text>{(typeof i.result === "string" ? i.result : JSON.stringify(i.result)).slice(0, 300)}</Text></span> },
      { head: "Execution", cell: (i) => i.executionId ? <ID id={i.executionId} to={"/executions/" + i.executionId} /> : <span class="soft">none</span> },
    ]} />}
    {asking === "cancel" && <Confirm title="Cancel this batch?" action="Cancel the batch" danger close={() => setAsking("")} run={() => post(`/api/batch/${seg(id)}/cancel`, {}).then(b.reload)}>
      <p>Its running items end at once, and those that did not begin never will. What is completed stays.</p></Confirm>}
  </div>;
}

const sample = '{"text": "It burns"}\n{"text": "Thanks a lot"}';

const usualAtOnce = "5"; // of a batch that asks for no number

/** Starts a batch from a file or from typed lines, each of which is looked at before. */
function Start({ pattern, close }: { pattern: string; close: () => void }) {
  const [name, setName] = useState(pattern);
  const [text, setText] = useState("");
  const [atOnce, setAtOnce] = useState(usualAtOnce);
  const [stop, setStop] = useState(false);
  const keyOf = useKeyOf();
  const file = useRef<HTMLInputElement>(null);
  const a = useAct();
  const [read, setRead] = useState(() => readInputs(""));
  useEffect(() => {
    const t = setTimeout(() => setRead(readInputs(text)), 150);
    return () => clearTimeout(t);
  }, [text]);
  const latest = useRef("");
  latest.current = JSON.stringify([name, text, atOnce, stop]);
  const [started, setStarted] = useState("");
  const begin = () => void a.act(async () => {
    const typed = latest.current;
    setStarted("");
    const open = onward((id: string) => "/batches/" + id);
    const now = readInputs(text);
    setRead(now);
    if (now.problems.length > 0 || now.inputs.length === 0) throw new ApiError("VALIDATION_ERROR", now.inputs.length === 0 ? "There are no inputs." : "Some lines cannot be read; nothing was started.", 400, "");
    const body = { pattern: name, inputs: now.inputs, options: { concurrency: Number(atOnce || usualAtOnce), stopOnError: stop } };
    const made = await call<BatchBody>("POST", "/api/batch/execute", { body, once: keyOf(body), timeout: 120_000 });
    if (latest.current !== typed) { setStarted(made.batchId); return; }
    close();
    open(made.batchId);
  });
  return <Dialog title="Start a batch" close={close} wide><form onSubmit={(e) => { e.preventDefault(); begin(); }}><div class="body form">
    <PatternField form label="Pattern" value={name} set={setName} />
    <label><span>Inputs: JSON lines, or CSV with a line of names first, whose cells are text unless a name says otherwise, as for the command line: amount:number, urgent:boolean, tags:json</span><textarea class="mono" rows={8} value={text} placeholder={sample} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} /></label>
    <p class="line"><button type="button" class="button" onClick={() => file.current!.click()}>From a file&hellip;</button><input ref={file} type="file" class="sr" tabIndex={-1} aria-label="File with inputs" accept=".jsonl,.ndjson,.csv,.json,text/csv" onChange={(e) => { const f = e.currentTarget.files?.[0]; e.currentTarget.value = ""; /* the same file, mended, is one more choice */ if (f) void a.act(async () => { if (f.size > 16 << 20) throw new ApiError("VALIDATION_ERROR", "The file is larger than 16 MiB; the command line takes it.", 400, ""); setText(await f.text()); }); }} />
      <span role="status">{read.inputs.length > 0 && `${plural(read.inputs.length, "input")} read as ${read.form}`}{read.problems.length > 0 && <span class="hot">{read.inputs.length > 0 ? "; " : ""}{plural(read.problems.length, "line")} cannot be read</span>}</span></p>
    {read.problems.length > 0 && <ul class="problems">{read.problems.slice(0, 20).map((p) => <li key={p.line}><span class="mono">line {p.line}</span> <Text>{p.reason}</Text></li>)}</ul>}
    {read.inputs.length > 0 && <details><summary>The first as it is sent</summary><pre class="text" tabIndex={0} aria-label="First input" role="region">{indented(read.inputs[0])}</pre></details>}
    <div class="pair"><label><span>Items at once</span><input type="number" min={1} max={50} title="from 1 to 50" placeholder={usualAtOnce} value={atOnce} onInput={(e) => setAtOnce(e.currentTarget.value)} /></label><label class="check"><input type="checkbox" checked={stop} onChange={(e) => setStop(e.currentTarget.checked)} /> The first failure ends it</label></div>
    {a.error && <Failure error={a.error} />}{started && <Meanwhile>It was started: <ID id={started} to={"/batches/" + started} /></Meanwhile>}
  </div><footer><button type="button" class="button" onClick={close}>Close</button><button type="submit" class="button main" disabled={a.busy || !name || read.problems.length > 0 || !text.trim()}>Start {read.inputs.length > 0 ? plural(read.inputs.length, "item") : ""}</button></footer></form></Dialog>;
}
