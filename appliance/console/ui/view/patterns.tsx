import { useRef, useState } from "preact/hooks";
import { get, seg } from "../api/client.ts";
import type { ExecutionList, Pattern, PatternList, PatternRow, PatternVersions } from "../api/types.gen.ts";
import { Copy } from "../part/id.tsx";
import { indented } from "../part/json.tsx";
import { Command, Empty, Failure, Read, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice, Tabs } from "../part/tabs.tsx";
import { Pre, Text, count } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { go, href, place, queryOf, setQuery } from "../route.ts";
import { may } from "../store/session.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { Drawing } from "./drawing.tsx";
import { more } from "./lazy.tsx";
import { executionColumns } from "./executions.tsx";

const PatternEditor = more((m) => m.PatternEditor);
const CompareVersions = more((m) => m.CompareVersions);
const RunDialog = more((m) => m.RunDialog);
const changed = { on: (e: { topics: string[] }) => e.topics.includes("patterns") };

// Use changes with executions; it is counted again after a while at the earliest.
const used = { on: (e: { topics: string[]; type: string }) => e.topics.includes("patterns") || e.type.startsWith("execution."), pause: 5000 };

const older = " "; // in the place of a version: the list of all of them

// What a new pattern begins as.
const template = `name: my-pattern
version: 1.0.0
description: What it is for
input:
  text: {type: string, required: true}
agents:
  capabilities: [general]
  min: 1
aggregation:
  strategy: first
`;

function NewPattern() {
  useTitle("New pattern");
  return <div class="page full"><header class="head"><div class="line"><h1>New pattern</h1></div></header><PatternEditor name="" source={template} fresh /></div>;
}

export function PatternsView() {
  return queryOf("tab") === "new" ? <NewPattern /> : <Overall />;
}

function Overall() {
  useTitle("Patterns");
  const l = usePages("pattern-list", (cursor, signal) => get<PatternList>("/api/patterns", { limit: 100, cursor, use: true }, signal), (p) => p.patterns, used);
  const [run, setRun] = useState("");
  return <div class="page full">
    <header class="head"><div class="line"><h1>Patterns</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}<span class="push" />{may("patterns.create") && <button type="button" class="button main" onClick={() => go("/patterns?tab=new")}>New&hellip;</button>}</div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && <Empty title="No patterns yet"><Command text="wardroom pattern put pattern.yaml" /></Empty>}
    {l.rows && l.rows.length > 0 && <Rows label="Patterns" rows={l.rows} id={(p) => p.name} to={(p) => "/patterns/" + seg(p.name)} total={l.total} more={l.more} rest={l.full && "wardroom pattern list --all"} columns={[
      { head: "Name", class: "grow", cell: (p) => <strong><Text>{p.name}</Text></strong> },
      { head: "Version", cell: (p) => <span class="nums">{p.version}</span> },
      { head: "Description", class: "grow mid", cell: (p) => <Text class="soft">{p.description}</Text> },
      { head: "Last 24 h", class: "mid", cell: (p) => <Use of={p} /> },
      { head: "Changed", class: "wide", cell: (p) => p.readOnly ? <span class="soft">came with the product</span> : <When at={p.updatedAt} /> },
      { head: "Run", cell: (p) => may("executions.create") ? <button type="button" class="button small" onClick={() => setRun(p.name)}>Run&hellip;</button> : null },
    ]} />}
    {run && <RunDialog name={run} close={() => setRun("")} />}
  </div>;
}

/** What became of the executions of the last 24 hours, each number a link to them. */
function Use({ of }: { of: PatternRow }) {
  const u = of.use;
  if (!u) return null;
  const all: [string, number, string][] = [["running", u.active, "pending,running"], ["completed", u.completed, "completed"], ["failed", u.failed, "failed"], ["cancelled", u.cancelled, "cancelled"]];
  const some = all.filter(([, n]) => n > 0);
  if (some.length === 0) return <span class="soft">not used</span>;
  return <span class="line uses">{some.map(([state, n, list]) => <a key={state} class="nums" href={href(`/executions?pattern=${encodeURIComponent(of.name)}&status=${list}&since=${encodeURIComponent(u.since)}`)}><State status={state} word={`${count(n)}${u.atLeast ? "+" : ""} ${state === "running" ? "active" : state}`} /></a>)}</span>;
}

export function PatternView({ name }: { name: string }) {
  const version = queryOf("version");
  const p = useLoad(`pattern:${name}@${version}`, (signal) => get<Pattern>("/api/patterns/" + seg(name), { version }, signal), changed);
  const versions = usePages("versions:" + name, async (cursor, signal) => {
    const page = await get<PatternVersions>(`/api/patterns/${seg(name)}/versions`, { limit: 100, offset: cursor }, signal);
    return { ...page, nextCursor: String(page.offset + page.versions.length) }; // pages go by their number
  }, (r) => r.versions, changed);
  const tab = queryOf("tab") || "drawing";
  const runs = useLoad(tab === "runs" ? "runs:" + name : "", (signal) => get<ExecutionList>("/api/executions", { pattern: name, limit: 100 }, signal), { on: (e) => e.topics.includes("executions"), pause: 1000 });
  const [run, setRun] = useState(false);
  const edited = useRef<{ of: string; pattern: Pattern }>(undefined);
  useTitle(name);
  const last = useRef<Pattern>(undefined); // the head of the page stays while another version is read, with what was pressed in it
  if (p.data) last.current = p.data;
  const d = last.current;
  if (!d) return p.error ? <div class="page"><Failure error={p.error} again={p.reload} /></div> : <Waiting />;
  const there = p.data !== undefined;
  // What is edited stays the version that it began with, also when a newer one is stored meanwhile.
  if (tab !== "edit" || !there) edited.current = undefined;
  else if (edited.current?.of !== version) edited.current = { of: version, pattern: d };
  const began = edited.current?.pattern;
  const chosen = there ? d.version : version;
  const known = versions.rows?.map((v) => v.version) ?? [];
  const list = known.includes(chosen) || !chosen ? known : [...known, chosen];
  return <div class="page full">
    <header class="head">
      <div class="line"><h1><Text>{d.name}</Text></h1>
        <Choice label="Version" value={chosen || known[0] || ""} options={[...list.map((v): [string, string] => [v, v]), ...(versions.whole || !versions.rows ? [] : [[older, `older ones: ${count((versions.total ?? 0) - known.length)}\u2026`] as [string, string]])]}
          set={(v) => (v === older ? setQuery({ tab: "versions" }, false) : setQuery({ version: v === list[0] ? "" : v }, false))} />
        {d.readOnly && <span class="badge">came with the product</span>}<span class="push" />
        {there && <Copy text={() => `wardroom pattern get ${d.name} --version ${d.version}`} label="Copy as CLI">CLI</Copy>}
        {there && may("executions.create") && <button type="button" class="button main" onClick={() => setRun(true)}>Run&hellip;</button>}</div>
      {there && d.description && <p class="soft"><Text>{d.description}</Text></p>}
      <Tabs of="Pattern" tabs={[{ key: "drawing", name: "Drawing" }, { key: "definition", name: "Definition" }, { key: "versions", name: "Versions", n: versions.total }, { key: "runs", name: "Runs" }, ...(may("patterns.create") && d.source ? [{ key: "edit", name: "Edit" }] : [])]} />
    </header>
    {p.error && <Failure error={p.error} old={there} again={p.reload} />}{!there && !p.error && <Waiting />}
    {there && tab === "drawing" && <div tabIndex={0} class="scrolls"><Drawing name={d.name} version={d.version} definition={d.definition} /></div>}
    {there && tab === "definition" && <div tabIndex={0} class="scrolls"><div class="bar"><span class="soft">{d.source ? "The definition as it was stored" : "The definition as JSON"}</span><span class="push" /><Copy text={() => d.source ?? indented(d.definition)} label="Copy the definition">Copy</Copy></div><Pre text={d.source ?? indented(d.definition)} label="Definition" /></div>}
    {began && began.version !== d.version && <p class="bar" role="status"><span class="soft">Version {d.version} was stored meanwhile; this is the text of {began.version}.</span> <button type="button" class="link" onClick={() => setQuery({ version: d.version })}>Edit {d.version}</button></p>}
    {began?.source && <PatternEditor key={began.version} name={began.name + "@" + began.version} source={began.source} />}
    {tab === "versions" && versions.error && <Failure error={versions.error} old={Boolean(versions.rows)} again={versions.reload} />}
    {there && tab === "versions" && <div tabIndex={0} class="versions"><CompareVersions name={d.name} version={d.version} versions={list} /></div>}
    {tab === "versions" && versions.rows && <Rows label="Versions" rows={versions.rows} id={(v) => v.version} to={(v) => place.value.path + "?version=" + encodeURIComponent(v.version)} total={versions.total} more={versions.more} rest={versions.full && `wardroom pattern versions ${d.name}`} columns={[
      { head: "Version", class: "grow", cell: (v) => <span class="nums">{v.version}</span> }, { head: "Made", cell: (v) => <When at={v.createdAt} /> }]} />}
    {tab === "runs" && <Read of={runs}>{(r) => r.executions.length ? <Rows label="Runs" columns={executionColumns} rows={r.executions} id={(x) => x.executionId} to={(x) => "/executions/" + x.executionId} total={r.total} />
      : <Empty title="It has not run yet">{may("executions.create") && <button type="button" class="button" onClick={() => setRun(true)}>Run&hellip;</button>}</Empty>}</Read>}
    {tab === "runs" && runs.data?.hasMore && <p class="bar"><button type="button" class="button" onClick={() => go("/executions?pattern=" + encodeURIComponent(name))}>All {count(runs.data.total)}</button></p>}
    {run && <RunDialog name={d.name} version={d.version} close={() => setRun(false)} />}
  </div>;
}
