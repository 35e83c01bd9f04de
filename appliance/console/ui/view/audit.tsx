// The audit trail: who did what, and how the trail itself is.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { address, apiKey, call, get, now, quote } from "../api/client.ts";
import type { AuditPage, AuditRecord, AuditStatus } from "../api/types.gen.ts";
import { useAct } from "../part/dialog.tsx";
import { Entered } from "../part/entered.tsx";
import { csv, download, jsonLines, lines } from "../part/export.ts";
import { Copy } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Command, Empty, Failure, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice } from "../part/tabs.tsx";
import { Text, bytes, count, plural } from "../part/text.tsx";
import { When, absolute } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { href, isID, queryOf, setQuery, timeOfID } from "../route.ts";
import { forOne, useLoad } from "../store/load.ts";
import { readRows, usePages } from "../store/pages.ts";

const categories = ["authentication", "authorization", "patterns", "executions", "agents", "admin"];
const outcomes = ["attempt", "success", "failure", "denied"];
const fields = ["action", "actor", "resource"];
const narrowing = ["category", "outcome", ...fields];
const words: Record<string, string> = { success: "completed", failure: "failed", denied: "denied", attempt: "attempt" };

export function AuditView() {
  useTitle("Audit");
  const query = Object.fromEntries([...narrowing, "since", "until"].map((n) => [n, queryOf(n)]));
  const sel = queryOf("sel");
  const at = isID(sel) && !query.since && !query.until ? timeOfID(sel) : 0; // of one that was opened by its id: the records of its time are shown
  if (at) [query.since, query.until] = [new Date(at - 1000).toISOString(), new Date(at + 60_000).toISOString()];
  const l = usePages("audit?" + JSON.stringify(query), (cursor, signal) => get<AuditPage>("/api/audit", { ...query, limit: 100, cursor }, signal), (p) => p.records);
  const status = useLoad("audit-status", (signal) => get<AuditStatus>("/api/audit/status", {}, signal));
  const filtered = Object.values(query).some(Boolean);
  const e = useExport(query);
  const listed = l.rows?.find((r) => r.eventId === sel || String(r.sequence) === sel);
  const number = /^[1-9]\d{0,14}$/.test(sel) ? Number(sel) : 0;
  const alone = useLoad(number > 0 && l.rows && !listed ? "audit-record:" + number : "", async (signal) => { // a link to what lies further down
    const record = (await get<AuditPage>("/api/audit", { before: number + 1, limit: 1 }, signal)).records[0];
    return record?.sequence === number ? record : null;
  });
  const chosen = listed ?? alone.data ?? undefined;
  useEffect(() => { if (sel && !number && l.rows && !chosen) l.more(); }, [sel, l.rows]); // of an id: in the time that it has
  return <div class="page full">
    <header class="head"><div class="line"><h1>Audit</h1>{status.data && <Trail s={status.data} />}<span class="push" />
      <button type="button" class="button" onClick={() => { l.reload(); status.reload(); }}>Read again</button>
      {forms.map(([form, words]) => e.link ? <a key={form} class="button" href={e.link(form)} download={names[form]}>{words}</a> : <button type="button" key={form} class="button" disabled={e.busy} onClick={() => e.save(form)}>{words}</button>)}</div>
      <form class="bar" onSubmit={(e) => { e.preventDefault(); const f = new FormData(e.currentTarget); setQuery({ ...Object.fromEntries(fields.map((n) => [n, String(f.get(n) ?? "").trim()])), sel: "" }, false); }}>
        <Choice label="Category" value={query.category!} set={(v) => setQuery({ category: v, sel: "" })} options={[["", "any"], ...categories.map((c): [string, string] => [c, c])]} />
        <Choice label="Outcome" value={query.outcome!} set={(v) => setQuery({ outcome: v, sel: "" })} options={[["", "any"], ...outcomes.map((c): [string, string] => [c, c])]} />
        {fields.map((n) => <label key={n} class="choice"><span>{n}</span><Entered name={n} hint={n === "action" ? "keys.*" : n === "resource" ? "patterns/classify" : ""} /></label>)}
        <button type="submit" class="button">Filter</button>{filtered && <button type="button" class="link" onClick={() => setQuery({ category: "", outcome: "", since: "", until: "", action: "", actor: "", resource: "", sel: "" })}>clear</button>}
      </form></header>
    {status.data && <Sinks s={status.data} />}
    {e.error && <Failure error={e.error} />}{e.said}
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}{status.error && <Failure error={status.error} />}{alone.error && <Failure error={alone.error} again={alone.reload} />}{!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && !chosen && (filtered ? <Empty title="Nothing fits these filters" /> : <Empty title="Nothing is recorded yet">What is recorded is set by <code>audit</code> in the configuration.</Empty>)}
    {sel && l.rows && !chosen && (number ? alone.data === null : l.whole || l.full) && <div class="notice bad" role="alert"><div><strong>The record <Text>{sel}</Text> is not here.</strong><div class="soft">{l.full && !number ? <>It may lie behind what is shown: <Command text="wardroom audit list --all" /></> : "It does not fit the filters, or is older than what is kept."}</div></div></div>}
    {l.rows && (l.rows.length > 0 || chosen) && <div class={"split" + (chosen ? " two" : "")}><div class="pane"><Rows label="Records" of={l.of} rows={l.rows} id={(r) => String(r.sequence)} pick={(r) => setQuery({ sel: String(r.sequence), ...(at && { since: query.since!, until: query.until! }) })} chosen={chosen ? String(chosen.sequence) : ""} more={l.more} rest={l.full && "wardroom audit list --all"} columns={[
      { head: "Outcome", cell: (r) => <State status={words[r.outcome]!} word={r.outcome} /> },
      { head: "At", cell: (r) => <When at={r.timestamp} /> },
      { head: "Action", cell: (r) => <span class="mono"><Text>{r.action}</Text></span> },
      { head: "Who", class: "mid", cell: (r) => <Text>{r.actor.id || r.actor.type}</Text> },
      { head: "What", class: "grow", cell: (r) => <><Text>{r.resource.type}</Text>{r.resource.id && <span class="soft"> <Text>{r.resource.id}</Text></span>}</> },
      { head: "From", class: "wide", cell: (r) => <Text class="soft">{r.actor.ip}</Text> },
      { head: "Number", class: "num wide", cell: (r) => r.sequence },
    ]} /></div>{chosen && <Record r={chosen} />}</div>}
  </div>;
}

const maxExported = 10_000;
const maxBytes = 128 << 20;
const toldBytes = 1 << 20; // between two words of how much was read
type Form = "json" | "csv";
const forms: [Form, string][] = [["json", "Export JSON lines"], ["csv", "CSV"]];
const names = { json: "audit.jsonl", csv: "audit.csv" };
const types = { json: "application/x-ndjson", csv: "text/csv" };

/** A record as the export of the server has it in CSV. */
const flat = ({ actor, resource, request, ...r }: AuditRecord): Record<string, unknown> => ({
  ...r, actorType: actor.type, actorId: actor.id, actorIp: actor.ip, actorUserAgent: actor.userAgent, resourceType: resource.type, resourceId: resource.id, resourceVersion: resource.version,
  method: request.method, path: request.path, requestId: request.requestId,
});
const columns = ["sequence", "eventId", "timestamp", "category", "action", "outcome", "actorType", "actorId", "actorIp", "actorUserAgent", "resourceType", "resourceId", "resourceVersion", "details", "method", "path", "requestId", "previousHash", "hash"];

/**
 * Offers what the filters select as a file. All records of a time come from the server, oldest first, with no gap in their chain; of others
 * the pages are read, newest first, up to a number of records. Where a key takes the place of a session the page reads all records itself,
 * up to a number of bytes: it cannot write to a file as it reads there, since such addresses are not secure ones.
 */
function useExport(query: Record<string, string>) {
  const a = useAct();
  const [read, setRead] = useState<ComponentChildren>("");
  const narrowed = narrowing.some((n) => query[n]);
  const times = { since: query.since, until: query.until };
  const path = (form: Form) => address("/api/audit/export", { format: form, ...times });
  const flags = (of: Record<string, string | undefined>) => Object.entries(of).map(([n, v]) => (v ? ` --${n} ${quote(v)}` : "")).join("");
  const whole = async (form: Form) => {
    const check = forOne();
    let told = 0;
    const heard = (n: number) => {
      check();
      if (n >= told + toldBytes) setRead(`${bytes(told = n)} read\u2026`);
    };
    const file = await call("GET", "/api/audit/export", { query: { format: form, ...times }, accept: types[form], take: (answer) => lines(answer, maxBytes, heard) });
    download(names[form], types[form], file.holds);
    setRead(file.whole ? "" : <>The file has the oldest {bytes(maxBytes)} of the records. All are written by <Command text={`wardroom audit export --file ${names[form]} --format ${form}` + flags(times)} /></>);
  };
  const save = (form: Form) => void a.act(async () => {
    setRead("");
    if (!narrowed) return whole(form);
    const until = query.until || new Date(now()).toISOString(); // what is recorded meanwhile does not move the pages
    const { rows, more } = await readRows((cursor) => get<AuditPage>("/api/audit", { ...query, until, limit: 100, cursor }), (p) => p.records, maxExported, (n) => setRead(`${count(n)} records read\u2026`));
    download(names[form], types[form], form === "json" ? jsonLines(rows) : csv(rows.map(flat), columns));
    setRead(more ? <>The file has the newest {count(rows.length)} records that fit. All are written by <Command text={"wardroom audit list --all -o json" + flags(query)} /></> : `The file has the ${plural(rows.length, "record")} that fit.`);
  });
  const said = read && !a.error && <div class="notice" role="status"><div>{read}</div></div>;
  // The browser can ask by itself where it has a session, and keeps nothing of the file in memory.
  return { busy: a.busy, error: a.error, save, said, link: narrowed || apiKey.value ? undefined : path };
}

/** How the trail is, in a line. */
function Trail({ s }: { s: AuditStatus }) {
  if (!s.enabled) return <State status="disabled" word="nothing is recorded" />;
  return <span class="line"><State status={s.lost > 0 ? "degraded" : "ok"} word={s.lost > 0 ? `${count(s.lost)} records were lost` : "chained and signed"} /><span class="soft nums">records {s.first}&ndash;{s.last}, {bytes(s.bytes)}</span></span>;
}

/** Where records go beside this server, and how to prove the trail. */
function Sinks({ s }: { s: AuditStatus }) {
  if (!s.enabled) return null;
  return <details class="bar"><summary>Proof and sinks{s.sinks.some((k) => k.state !== "ok") && <span class="hot"> not all sinks have all records</span>}</summary>
    <dl class="facts"><div><dt>Key</dt><dd class="mono"><Text>{s.keyId}</Text> <Copy text={s.publicKey} label="Copy the public key" /></dd></div><div><dt>Newest hash</dt><dd class="mono"><Text>{s.hash}</Text> <Copy text={s.hash} label="Copy the hash" /></dd></div><div><dt>Prove it</dt><dd><Command text="wardroom audit verify --config /etc/wardroom/wardroom.yaml" /></dd></div></dl>
    {s.sinks.length > 0 && <table class="plain"><thead><tr><th scope="col">Sink</th><th scope="col">State</th><th scope="col">Lacks</th><th scope="col">Says</th></tr></thead><tbody>{s.sinks.map((k) => <tr key={k.name}><td><Text>{k.name}</Text></td><td><State status={k.state === "ok" ? "ok" : k.state === "failing" ? "failed" : "degraded"} word={k.state} /></td><td>{count(k.behind)}{k.rejected > 0 && `, ${count(k.rejected)} refused for good`}</td><td><Text>{k.error ?? ""}</Text></td></tr>)}</tbody></table>}
  </details>;
}

function Record({ r }: { r: AuditRecord }) {
  const fact = (name: string, value?: string) => value ? <div><dt>{name}</dt><dd class="mono"><Text>{value}</Text></dd></div> : null;
  return <aside class="detail" aria-label="Selected record"><header><h2 class="mono"><Text>{r.action}</Text></h2><span class="push" /><Copy text={location.origin + href("/audit?sel=" + r.eventId)} label="Copy a link to this record" /><button type="button" class="quiet" aria-label="Close" onClick={() => setQuery({ sel: "" })}>&times;</button></header>
    <div class="body" tabIndex={0}><dl class="facts">{fact("Id", r.eventId)}{fact("Number", String(r.sequence))}{fact("At", absolute(r.timestamp))}{fact("Outcome", r.outcome)}{fact("Category", r.category)}{fact("Who", r.actor.id)}{fact("Known as", r.actor.type)}{fact("From", r.actor.ip)}{fact("By", r.actor.userAgent)}
      {fact("What", r.resource.type)}{fact("Which", r.resource.id)}{fact("Version", r.resource.version)}{fact("Request", r.request.requestId)}{fact("Path", [r.request.method, r.request.path].filter(Boolean).join(" "))}{fact("Hash", r.hash)}{fact("Before it", r.previousHash)}</dl>
      <h3>Details</h3><Value value={r.details} label="Details" /></div></aside>;
}
