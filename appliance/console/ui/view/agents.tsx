import { useEffect, useState } from "preact/hooks";
import { type ApiError, call, del, get, post, seg } from "../api/client.ts";
import type { AgentDetail, AgentList, AgentTask, AgentTaskList, LogList, ManagedAgentBody, ManagedAgentList, ManagedEventList } from "../api/types.gen.ts";
import type { FeedEvent } from "../live/hub.ts";
import { watch } from "../live/live.ts";
import { AnswerBox } from "../part/answerbox.tsx";
import { Confirm } from "../part/dialog.tsx";
import { Entered } from "../part/entered.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Command, Empty, Failure, Gone, Read, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice, Tabs } from "../part/tabs.tsx";
import { Pre, Text, bytes, count, reveal } from "../part/text.tsx";
import { At, When, lasted, timeOfDay } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { queryOf, setQuery } from "../route.ts";
import { askOfAgent } from "../store/ask.ts";
import { refused, useEvery, useLoad, useRuntimes } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";
import { further } from "./lazy.tsx";
import { TerminalTab } from "./terminal.tsx";

const Wall = further((m) => m.Wall);
const SpawnAgent = further((m) => m.SpawnAgent);

const heartbeatMs = 10_000; // no event tells of heartbeats, nor of tasks as they begin

const metricsMs = 5000; // nor of what its process uses

const changed = { on: (e: { topics: string[] }) => e.topics.includes("agents") };

export function AgentsView() {
  useTitle("Agents");
  const tab = queryOf("tab") || "connected";
  const [spawning, setSpawning] = useState(false);
  return <div class="page full">
    <header class="head"><div class="line"><h1>Agents</h1><span class="push" />{may("agents.spawn") && <button type="button" class="button main" onClick={() => setSpawning(true)}>Start one&hellip;</button>}</div><Tabs of="Agents" tabs={[{ key: "connected", name: "Connected" }, { key: "managed", name: "Managed" }, { key: "wall", name: "Wall" }, { key: "runtimes", name: "Runtimes" }]} /></header>
    {tab === "connected" && <Connected />}{tab === "managed" && <Managed />}{tab === "wall" && <Wall />}{tab === "runtimes" && <Runtimes />}
    {spawning && <SpawnAgent close={() => setSpawning(false)} />}
  </div>;
}

function Connected() {
  const status = queryOf("status");
  const l = usePages("agents?" + status, (cursor, signal) => get<AgentList>("/api/agents", { limit: 100, cursor, status }, signal), (p) => p.agents, changed);
  useEvery(refused(l.error) ? 0 : heartbeatMs, l.renew);
  return <>
    <div class="bar"><Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={[["", "any"], ["connected", "connected"], ["disconnected", "disconnected"]]} />{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}</div>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && <Empty title="No agent is connected">Agents are processes of yours that connect over a WebSocket: <Command text="go run ./sdk/agent/examples/go" /></Empty>}
    {l.rows && l.rows.length > 0 && <Rows label="Connected agents" of={l.of} rows={l.rows} id={(a) => a.id} to={(a) => "/agents/" + a.id} total={l.total} more={l.more} rest={l.full && "wardroom agent list --all"} columns={[
      { head: "State", cell: (a) => <State status={a.status === "connected" && !a.healthy ? "unhealthy" : a.status} /> },
      { head: "Name", class: "grow", cell: (a) => <Text>{a.name}</Text> },
      { head: "Capabilities", class: "mid grow", cell: (a) => a.capabilities.map((c) => <span key={c} class="badge"><Text>{c}</Text></span>) },
      { head: "Tasks", class: "num", cell: (a) => `${count(a.activeTasks)}/${count(a.maxTasks)}` },
      { head: "Done", class: "num wide", cell: (a) => count(a.tasksCompleted) },
      { head: "Heartbeat", class: "mid", cell: (a) => <When at={a.lastHeartbeat} /> },
      { head: "Id", class: "wide", cell: (a) => <ID id={a.id} to={"/agents/" + a.id} /> },
    ]} />}
  </>;
}

// Reasons of states that people look for.
const reasons = ["blocked", "login_required", "exited", "lost", "runtime_away", "agent_away"];

function Managed() {
  const status = queryOf("status");
  const type = queryOf("type");
  const runtime = queryOf("runtime");
  const runtimes = useRuntimes();
  const known = runtimes.data?.runtimes ?? [];
  const names = (list: string[], now: string): [string, string][] => [["", "any"], ...[...new Set(now ? [now, ...list] : list)].map((n): [string, string] => [n, n])];
  const texts = Object.fromEntries(["name", "reason", "executionId"].map((n) => [n, queryOf(n)])) as Record<"name" | "reason" | "executionId", string>;
  const query = { status, type, runtime, ...texts };
  const filtered = Object.values(query).some(Boolean);
  const l = usePages("managed?" + JSON.stringify(query), (cursor, signal) => get<ManagedAgentList>("/api/managed-agents", { limit: 100, cursor, ...query }, signal), (p) => p.agents, changed);
  return <>
    <form class="bar" onSubmit={(e) => { e.preventDefault(); const f = new FormData(e.currentTarget); setQuery(Object.fromEntries(["name", "executionId"].map((n) => [n, String(f.get(n) ?? "").trim()])), false); }}>
      <Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={[["", "any"], ...["starting", "ready", "busy", "unreachable", "error", "stopped"].map((s): [string, string] => [s, s])]} />
      <Choice label="Why" value={texts.reason} set={(v) => setQuery({ reason: v })} options={[["", "any"], ...[...new Set([...reasons, ...(texts.reason ? [texts.reason] : [])])].map((r): [string, string] => [r, r.replaceAll("_", " ")])]} />
      <Choice late label="Type" value={type} set={(v) => setQuery({ type: v })} options={names(known.flatMap((r) => r.types), type)} />
      <label class="choice"><span>Name</span><Entered name="name" find /></label>
      <label class="choice"><span>Execution</span><Entered name="executionId" hint="exec_..." /></label>
      <button type="submit" class="button">Filter</button>{known.length > 1 && <Choice label="Runtime" value={runtime} set={(v) => setQuery({ runtime: v })} options={names(known.map((r) => r.name), runtime)} />}{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}</form>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && filtered && <Empty title="No managed agent fits these filters"><button type="button" class="button" onClick={() => setQuery({ status: "", type: "", runtime: "", name: "", reason: "", executionId: "" })}>Show all</button></Empty>}
    {l.rows?.length === 0 && !filtered && <Empty title="No managed agents">Coding tools in terminals of their own: <Command text={'wardroom agent spawn claude --name helper --workdir "$PWD"'} /></Empty>}
    {l.rows && l.rows.length > 0 && <Rows label="Managed agents" of={l.of} rows={l.rows} id={(a) => a.id} to={(a) => "/agents/" + a.id} total={l.total} more={l.more} rest={l.full && "wardroom agent list --managed --all"} columns={[
      { head: "State", cell: (a) => <State status={a.statusReason === "blocked" || a.statusReason === "login_required" ? a.statusReason : a.status} /> },
      { head: "Name", class: "grow", cell: (a) => <Text>{a.name}</Text> },
      { head: "Type", cell: (a) => <Text>{a.type}</Text> },
      { head: "Runtime", class: "mid", cell: (a) => <Text>{a.runtime}</Text> },
      { head: "Turn", class: "num mid", cell: (a) => a.turn ?? 0 },
      { head: "Active", cell: (a) => <When at={a.lastActivityAt} /> },
      { head: "Id", class: "wide", cell: (a) => <ID id={a.id} to={"/agents/" + a.id} /> },
    ]} />}
  </>;
}

function Runtimes() {
  const l = useRuntimes();
  if (!l.data) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  if (l.data.runtimes.length === 0) return <Empty title="No runtimes are configured">Managed agents run on runtimes: see runtimes in the configuration.</Empty>;
  return <div tabIndex={0} class="scrolls cards">{l.error && <Failure error={l.error} old again={l.reload} />}{l.data.runtimes.map((r) => <section key={r.name} class="card"><div class="line"><h2><Text>{r.name}</Text></h2><State status={r.ready ? "ready" : "failed"} word={r.ready ? "ready" : "not ready"} /></div>
    {r.reason && <p><Text>{r.reason}</Text></p>}<p class="soft">{r.agentsAtLeast ? "at least " : ""}{count(r.agents)} running{r.maxAgents ? " of " + count(r.maxAgents) : ""}, priority {r.priority}</p>
    <p>{r.types.map((t) => <span key={t} class="badge"><Text>{t}</Text>{r.missingTypes?.includes(t) ? ", not installed" : ""}</span>)}</p>
    {r.isolation && <p class="soft">{r.isolation.landlock ? "Landlock " + r.isolation.landlock : "no Landlock"}{r.isolation.noNewPrivs ? ", no new privileges" : ""}{r.isolation.user ? ", as " + r.isolation.user : ""}</p>}</section>)}</div>;
}

export function AgentView({ id }: { id: string }) {
  return id.startsWith("magent_") ? <ManagedView id={id} /> : <ConnectedView id={id} />;
}

function ConnectedView({ id }: { id: string }) {
  const works = (e: FeedEvent) => e.subject === id || e.topics.includes("executions") || e.type.startsWith("task.");
  const a = useLoad("agent:" + id, (signal) => get<AgentDetail>("/api/agents/" + seg(id), {}, signal), { on: works, pause: 1000 });
  const tasks = useLoad("agent-tasks:" + id, (signal) => get<AgentTaskList>(`/api/agents/${seg(id)}/tasks`, {}, signal), { on: works, pause: 1000 });
  const running = [...new Set(tasks.data?.tasks.filter((t) => t.status === "running").map((t) => t.executionId))].join(" ");
  useEffect(() => (running ? watch(...running.split(" ")) : undefined), [running]);
  const gone = a.error?.status === 404;
  useEvery(refused(a.error) ? 0 : heartbeatMs, a.renew);
  const [asking, setAsking] = useState(false);
  useTitle(a.data?.name ?? "Agent");
  if (!a.data) return a.error ? <div class="page"><Failure error={a.error} again={a.reload} /></div> : <Waiting />;
  const d = a.data;
  return <div class="page"><header class="head"><div class="line"><h1><Text>{d.name}</Text></h1><ID id={id} /><Copy text={id} label="Copy the id" /><State status={d.status === "connected" && !d.healthy ? "unhealthy" : d.status} /><span class="push" />
    {d.status === "connected" && !gone && may("agents.disconnect") && <button type="button" class="button" onClick={() => setAsking(true)}>Disconnect&hellip;</button>}</div></header>
    {gone ? <Gone what="This agent" to="/agents" /> : a.error && <Failure error={a.error} old again={a.reload} />}
    <div tabIndex={0} class="scrolls two-columns"><section><h2>Now</h2><dl class="facts">
      <div><dt>Capabilities</dt><dd>{d.capabilities.map((c) => <span key={c} class="badge"><Text>{c}</Text></span>)}</dd></div><div><dt>Tasks</dt><dd>{count(d.activeTasks)} of {count(d.maxTasks)}</dd></div>
      <div><dt>Heartbeat</dt><dd><When at={d.lastHeartbeat} /></dd></div><div><dt>Connected</dt><dd><When at={d.connectedAt} /></dd></div>{d.region && <div><dt>Region</dt><dd><Text>{d.region}</Text></dd></div>}</dl></section>
      <section><h2>Over its life</h2><dl class="facts"><div><dt>Succeeded</dt><dd>{count(d.statistics.tasksSucceeded)}</dd></div><div><dt>Failed</dt><dd>{count(d.statistics.tasksFailed)}</dd></div><div><dt>Mean latency</dt><dd>{lasted(d.statistics.averageLatency)}</dd></div></dl></section>
      <section><h2>Metadata</h2><Value value={d.metadata} label="Metadata" /></section>
      <section class="whole"><h2>Tasks</h2>{tasks.error && !gone && <Failure error={tasks.error} old={Boolean(tasks.data)} again={tasks.reload} />}{tasks.data && <Tasks tasks={tasks.data.tasks} />}</section></div>
    {asking && <Confirm title="Disconnect this agent?" action="Disconnect" danger close={() => setAsking(false)} run={() => post(`/api/agents/${seg(id)}/disconnect`, { reason: "disconnected in the console" }).then(a.reload)}><p>Its session ends; what it works on is handed to others. It may connect again by itself.</p></Confirm>}
  </div>;
}

/** What an agent works on, and worked on last. */
function Tasks({ tasks }: { tasks: AgentTask[] }) {
  if (tasks.length === 0) return <p class="soft">None since the server started, of those that you may see.</p>;
  return <table class="plain"><thead><tr><th scope="col">State</th><th scope="col">Pattern</th><th scope="col">Step</th><th scope="col">Role</th><th scope="col">Began</th><th scope="col">Took</th><th scope="col">Task</th></tr></thead><tbody>{tasks.map((t) => <tr key={t.taskId + t.attempt}>
    <td><State status={t.status} /></td><td><Text>{t.pattern.name}</Text><span class="soft">@{t.pattern.version}</span></td><td><Text>{t.step ?? ""}</Text></td><td><Text>{t.role ?? ""}</Text></td><td><When at={t.startedAt} /></td>
    <td class="nums">{t.endedAt ? lasted(Date.parse(t.endedAt) - Date.parse(t.startedAt)) : ""}</td><td><ID id={t.taskId} to={`/executions/${t.executionId}?sel=${encodeURIComponent("task:" + t.taskId + (t.attempt > 1 ? "#" + t.attempt : ""))}`} /></td></tr>)}</tbody></table>;
}

function ManagedView({ id }: { id: string }) {
  useEffect(() => watch(id), [id]);
  const a = useLoad("managed:" + id, (signal) => get<ManagedAgentBody>("/api/managed-agents/" + seg(id), {}, signal), { on: (e) => e.subject === id });
  const tab = queryOf("tab") || "terminal";
  const log = useLoad(tab === "log" ? "agent-log:" + id : "", (signal) => get<LogList>(`/api/managed-agents/${seg(id)}/logs`, { tail: 1000 }, signal), { on: (e) => e.subject === id, pause: 1000 });
  const events = useLoad(tab === "events" ? "agent-events:" + id : "", (signal) => get<ManagedEventList>(`/api/managed-agents/${seg(id)}/events`, { before: 0, limit: 100 }, signal), { on: (e) => e.subject === id, pause: 1000 });
  const [asking, setAsking] = useState("");
  useTitle(a.data?.name ?? "Agent");
  if (!a.data) return a.error ? <div class="page"><Failure error={a.error} again={a.reload} /></div> : <Waiting />;
  const d = a.data;
  const ask = askOfAgent(d);
  const removed = a.error?.status === 404;
  const gone = Boolean(d.stoppedAt) || removed;
  return <div class="page full">
    <header class="head"><div class="line"><h1><Text>{d.name}</Text></h1><ID id={id} /><Copy text={id} label="Copy the id" /><State status={d.statusReason === "blocked" ? "blocked" : d.status} word={d.statusReason ? `${d.status}: ${d.statusReason.replaceAll("_", " ")}` : undefined} /><span class="push" />
      {d.status === "busy" && !removed && may("agents.send") && <button type="button" class="button" onClick={() => setAsking("interrupt")}>Interrupt&hellip;</button>}
      {may("agents.restart") && !removed && <button type="button" class="button" onClick={() => setAsking("restart")}>Restart&hellip;</button>}
      {!gone && may("agents.stop") && <button type="button" class="button" onClick={() => setAsking("stop")}>Stop&hellip;</button>}</div>
      <div class="line soft"><span><Text>{d.type}</Text></span><span>on <Text>{d.runtime}</Text></span><span>turn {d.turn ?? 0}</span><span>made <When at={d.createdAt} /></span>{d.workdir && <span class="mono clip"><Text>{d.workdir}</Text></span>}{d.exitCode !== undefined && <span>exit code {d.exitCode}</span>}</div>
      <Tabs of="Agent" tabs={[{ key: "terminal", name: "Terminal" }, { key: "log", name: "Log" }, { key: "events", name: "Events" }, { key: "about", name: "About" }]} /></header>
    {removed ? <Gone what="This agent" to="/agents?tab=managed" /> : a.error && <Failure error={a.error} old again={a.reload} />}
    <AnswerBox ask={removed ? undefined : ask} done={a.reload} around={(box) => <article class="said asks-you">{box}</article>} />
    {tab === "terminal" && (gone ? <Empty title="The agent has stopped">Its terminal is gone; the log has what left its screen.</Empty> : <TerminalTab agent={id} />)}
    {tab === "log" && log.data && log.data.logs.length >= log.data.tail && <p class="bar"><span class="soft">The newest {count(log.data.logs.length)} lines are here. More are shown by</span> <Command text={`wardroom agent logs ${id} --tail 10000`} /></p>}
    {tab === "log" && <Read of={log}>{(r) => <div tabIndex={0} class="scrolls"><Pre label="Log" text={r.logs.map((l) => `${timeOfDay(l.timestamp)} ${l.stream.padEnd(8)} ${l.line}`).join("\n")} /></div>}</Read>}
    {tab === "events" && events.data?.hasMore && <p class="bar"><span class="soft">The newest {count(events.data.events.length)} are here. From the first on, 100 at a time, they are shown by</span> <Command text={`wardroom agent events ${id}`} /></p>}
    {tab === "events" && <Read of={events}>{(r) => <ol tabIndex={0} class="journal scrolls">{r.events.map((e) => <li key={e.sequence}><details><summary><span class="soft nums">{e.sequence}</span> <At at={e.timestamp} /> <strong class="mono">{reveal(e.type)}</strong></summary><Value value={e.data} label={e.type} /></details></li>)}</ol>}</Read>}
    {tab === "about" && <About d={d} gone={gone} />}
    {asking === "stop" && <Confirm title="Stop this agent?" action="Stop the agent" danger close={() => setAsking("")} run={() => del(`/api/managed-agents/${seg(id)}`).then(a.reload)}><p>Its process ends. It can be restarted, with its session where the tool can resume one.</p></Confirm>}
    {asking === "restart" && <Confirm title="Restart this agent?" action="Restart" danger close={() => setAsking("")} run={() => call("POST", `/api/managed-agents/${seg(id)}/restart`, { body: {}, timeout: 120_000 }).then(a.reload)}><p>What it does now is lost. It begins again under its id.</p></Confirm>}
    {asking === "interrupt" && <Confirm title="Interrupt its turn?" action="Interrupt" close={() => setAsking("")} run={(key) => post(`/api/managed-agents/${seg(id)}/send`, { interrupt: true }, key).then(a.reload)}><p>The turn that runs stops, as by ESC at the terminal.</p></Confirm>}
  </div>;
}

/** Whether a failure is that there is nothing to measure: the runtime has no figures, or the agent has no process now. */
const hasNoFigures = (error?: ApiError): boolean => ["UNIMPLEMENTED", "NOT_RUNNING"].includes(String(error?.details.runtimeCode));

interface Metrics { cpuPercent: number; memoryBytes: number; uptimeSeconds: number; messagesSent: number }

function About({ d, gone }: { d: ManagedAgentBody; gone: boolean }) {
  const m = useLoad(gone ? "" : "agent-metrics:" + d.id, (signal) => get<Metrics>(`/api/managed-agents/${seg(d.id)}/metrics`, {}, signal));
  useEvery(gone || refused(m.error) ? 0 : metricsMs, m.renew);
  const measured = !gone && !hasNoFigures(m.error);
  return <div tabIndex={0} class="scrolls two-columns"><section><h2>About</h2><dl class="facts">
    {d.pid ? <div><dt>Process</dt><dd class="nums">{d.pid}</dd></div> : null}{d.sessionId && <div><dt>Session</dt><dd class="mono"><Text>{d.sessionId}</Text></dd></div>}
    <div><dt>Capabilities</dt><dd>{d.capabilities.map((c) => <span key={c} class="badge"><Text>{c}</Text></span>)}</dd></div>
    {d.usage && <div><dt>Used</dt><dd>{count(d.usage.inputTokens + d.usage.outputTokens)} tokens</dd></div>}
    {Object.entries(d.labels ?? {}).map(([k, v]) => <div key={k}><dt class="mono"><Text>{k}</Text></dt><dd><Text>{v}</Text></dd></div>)}</dl></section>
    {(m.data || m.error) && measured && <section><h2>Uses now</h2>{m.error && <Failure error={m.error} old={m.data !== undefined} again={m.reload} />}{m.data && <dl class="facts"><div><dt>CPU</dt><dd class="nums">{m.data.cpuPercent.toFixed(1)} %</dd></div><div><dt>Memory</dt><dd class="nums">{bytes(m.data.memoryBytes)}</dd></div><div><dt>Up</dt><dd>{lasted(m.data.uptimeSeconds * 1000)}</dd></div><div><dt>Messages</dt><dd>{count(m.data.messagesSent)}</dd></div></dl>}</section>}</div>;
}
