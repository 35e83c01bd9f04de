import { useState } from "preact/hooks";
import { get, post, seg } from "../api/client.ts";
import type { DeliveryList, HealthBody, PluginList, PluginLogList, WebhookList, WorkspaceList } from "../api/types.gen.ts";
import { Confirm, useAct } from "../part/dialog.tsx";
import { ID } from "../part/id.tsx";
import { Command, Empty, Failure, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice, Tabs } from "../part/tabs.tsx";
import { Pre, Text, bytes, count } from "../part/text.tsx";
import { When, lasted, timeOfDay } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { queryOf, setQuery } from "../route.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";
import { choose, setting } from "../setting.ts";

export function SystemView() {
  useTitle("System");
  const tab = queryOf("tab") || "checks";
  return <div class="page full"><header class="head"><div class="line"><h1>System</h1></div>
    <Tabs of="System" tabs={[{ key: "checks", name: "Checks" }, { key: "plugins", name: "Plugins" }, { key: "workspaces", name: "Workspaces" }, { key: "settings", name: "This browser" }]} /></header>
    {tab === "checks" && <Checks />}{tab === "plugins" && <Plugins />}{tab === "workspaces" && <Workspaces />}{tab === "settings" && <Settings />}</div>;
}

function Checks() {
  const h = useLoad("health", (signal) => get<HealthBody>("/api/health", { detailed: true }, signal), { on: (e) => e.topics.includes("health"), pause: 2000 });
  if (!h.data) return h.error ? <Failure error={h.error} again={h.reload} /> : <Waiting />;
  const d = h.data;
  return <div tabIndex={0} class="scrolls">{h.error && <Failure error={h.error} old again={h.reload} />}
    <div class="bar"><State status={d.status} /><span class="soft">version {d.version}, up {lasted(d.uptime * 1000)}</span><span class="push" /><button class="button" onClick={h.reload}>Check now</button></div>
    <table class="plain"><thead><tr><th>State</th><th>Check</th><th>Says</th><th>Since</th></tr></thead><tbody>{(d.checks ?? []).map((c) => <tr key={c.name}><td><State status={c.status} /></td><td><Text>{c.name}</Text></td><td><Text>{c.message ?? ""}</Text>{c.hint && c.status !== "ok" && <div class="soft"><Text>{c.hint}</Text></div>}</td><td><When at={c.since} /></td></tr>)}</tbody></table></div>;
}

function Plugins() {
  const l = useLoad("plugins", (signal) => get<PluginList>("/api/admin/plugins", {}, signal), { on: (e) => e.topics.includes("health"), pause: 2000 });
  const [log, setLog] = useState("");
  const [restart, setRestart] = useState("");
  const logs = useLoad(log ? "plugin-log:" + log : "", (signal) => get<PluginLogList>(`/api/admin/plugins/${seg(log)}/logs`, {}, signal));
  if (!l.data) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  return <div tabIndex={0} class="scrolls">{l.data.plugins.length === 0 && <Empty title="No plugins">They extend where managed agents run, and more.</Empty>}
    <div class="cards">{l.data.plugins.map((p) => <section key={p.name} class="card"><div class="line"><h2><Text>{p.name}</Text></h2><State status={p.state} /><span class="push" /><span class="soft">{p.version}</span></div>
      {p.reason && <p><Text>{p.reason}</Text></p>}{p.hint && <p class="soft"><Text>{p.hint}</Text></p>}
      <p class="soft">{p.kind} since <When at={p.since} />{p.restarts > 0 ? `, ${count(p.restarts)} restarts` : ""}</p>
      <p class="line"><button class="button" aria-pressed={log === p.name} onClick={() => setLog(log === p.name ? "" : p.name)}>Log</button>{may("plugins.restart") && <button class="button" onClick={() => setRestart(p.name)}>Restart&hellip;</button>}</p></section>)}</div>
    {log && (logs.data ? <><div class="bar"><h2>Log of <Text>{log}</Text></h2><span class="push" /><button class="button" onClick={logs.reload}>Read again</button></div><Pre label="Log" text={logs.data.logs.map((x) => `${timeOfDay(x.timestamp)} ${x.level.padEnd(5)} ${x.message}`).join("\n") || "Nothing was logged."} /></> : logs.error ? <Failure error={logs.error} again={logs.reload} /> : <Waiting />)}
    {restart && <Confirm title={"Restart " + restart + "?"} action="Restart" close={() => setRestart("")} run={() => post(`/api/admin/plugins/${seg(restart)}/restart`).then(l.reload)}><p>Agents of a runtime live on while it is restarted.</p></Confirm>}</div>;
}

function Workspaces() {
  const l = usePages("workspaces", (cursor, signal) => get<WorkspaceList>("/api/workspaces", { limit: 100, cursor }, signal), (p) => p.workspaces, { on: (e) => e.topics.includes("threads") });
  if (!l.rows) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  if (l.rows.length === 0) return <Empty title="No workspaces">Threads work in worktrees of their own; they come here by themselves.</Empty>;
  return <><div class="bar"><span class="soft nums">{count(l.total ?? l.rows.length)}</span><span class="push" /><Command text="wardroom workspace prune --dry-run" /></div>
    <Rows label="Workspaces" rows={l.rows} id={(w) => w.workspaceId} to={(w) => w.threadId ? `/threads/${w.threadId}?tab=workspace` : "/system?tab=workspaces"} total={l.total} more={l.more} columns={[
      { head: "State", cell: (w) => <State status={w.status} /> }, { head: "Repository", class: "grow", cell: (w) => <Text>{w.repo ?? ""}</Text> }, { head: "Work branch", class: "mid", cell: (w) => <Text class="mono">{w.workBranch ?? ""}</Text> },
      { head: "Size", class: "num", cell: (w) => w.sizeBytes ? bytes(w.sizeBytes) : <span class="soft">--</span> }, { head: "Kept because", class: "wide", cell: (w) => <Text class="soft">{w.kept ?? ""}</Text> }, { head: "Made", cell: (w) => <When at={w.createdAt} /> },
    ]} /></>;
}

function Settings() {
  const s = setting.value;
  return <div tabIndex={0} class="scrolls form narrow">
    <Choice label="Theme" value={s.theme} set={(v) => choose({ theme: v as typeof s.theme })} options={[["system", "as the system"], ["light", "light"], ["dark", "dark"]]} />
    <Choice label="Rows" value={s.rows} set={(v) => choose({ rows: v as typeof s.rows })} options={[["comfortable", "comfortable"], ["compact", "compact"]]} />
    <Choice label="Times" value={s.zone} set={(v) => choose({ zone: v as typeof s.zone })} options={[["local", "of this machine"], ["utc", "UTC"]]} />
    <Choice label="Single keys" value={s.keys ? "on" : "off"} set={(v) => choose({ keys: v === "on" })} options={[["on", "on"], ["off", "off"]]} />
    <p class="soft">Kept in this browser. No key, token or data of the server is.</p></div>;
}

export function WebhooksView() {
  useTitle("Webhooks");
  const l = usePages("webhooks", (cursor, signal) => get<WebhookList>("/api/webhooks", { limit: 100, cursor }, signal), (p) => p.webhooks);
  return <div class="page full"><header class="head"><div class="line"><h1>Webhooks</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}</div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}{!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && <Empty title="No endpoints">Other systems hear of events by signed callbacks: <Command text="wardroom webhook create --url https://hooks.example.com/wardroom --events execution.completed,execution.failed" /></Empty>}
    {l.rows && l.rows.length > 0 && <Rows label="Webhooks" rows={l.rows} id={(w) => w.id} to={(w) => "/webhooks/" + w.id} total={l.total} more={l.more} columns={[
      { head: "State", cell: (w) => <State status={w.enabled ? "enabled" : "disabled"} /> }, { head: "Address", class: "grow", cell: (w) => <Text class="mono">{w.url}</Text> },
      { head: "Events", class: "mid", cell: (w) => <span class="clip"><Text>{w.events.join(", ")}</Text></span> }, { head: "Why", class: "wide", cell: (w) => <Text class="soft">{w.disabledReason ?? ""}</Text> }, { head: "Changed", cell: (w) => <When at={w.updatedAt} /> },
    ]} />}</div>;
}

export function WebhookView({ id }: { id: string }) {
  const status = queryOf("status");
  const w = useLoad("webhook:" + id, (signal) => get<WebhookList["webhooks"][number]>("/api/webhooks/" + seg(id), {}, signal));
  const l = usePages("deliveries:" + id + status, (cursor, signal) => get<DeliveryList>(`/api/webhooks/${seg(id)}/deliveries`, { limit: 100, cursor, status }, signal), (p) => p.deliveries);
  const a = useAct();
  const [said, setSaid] = useState("");
  useTitle("Webhook");
  if (!w.data) return w.error ? <div class="page"><Failure error={w.error} again={w.reload} /></div> : <Waiting />;
  const d = w.data;
  return <div class="page full"><header class="head"><div class="line"><h1 class="mono"><Text>{d.url}</Text></h1><ID id={id} /><State status={d.enabled ? "enabled" : "disabled"} /><span class="push" />
    {may("webhooks.test") && <button class="button" disabled={a.busy} onClick={() => void a.act(() => post<{ status: string; statusCode: number; lastError?: string }>(`/api/webhooks/${seg(id)}/test`, {}).then((r) => { setSaid(`The test ${r.status}: ${r.statusCode || r.lastError || ""}`); l.reload(); }))}>Send a test</button>}</div>
    {d.disabledReason && <p class="hot"><Text>{d.disabledReason}</Text></p>}
    {d.statistics && <p class="soft line"><span>{count(d.statistics.deliveriesSucceeded)} delivered</span><span>{count(d.statistics.deliveriesFailed)} failed</span><span>{count(d.statistics.deliveriesPending)} wait</span></p>}
    <div class="bar"><Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={[["", "any"], ["pending", "pending"], ["succeeded", "succeeded"], ["failed", "failed"], ["cancelled", "cancelled"]]} /><button class="button" onClick={l.reload}>Read again</button></div></header>
    {a.error && <Failure error={a.error} />}{said && <p role="status" class="notice"><Text>{said}</Text></p>}{l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {l.rows?.length === 0 && <Empty title="No deliveries" />}
    {l.rows && l.rows.length > 0 && <Rows label="Deliveries" rows={l.rows} id={(x) => x.id} total={l.total} more={l.more} columns={[
      { head: "State", cell: (x) => <State status={x.status} /> }, { head: "Event", class: "grow", cell: (x) => <><Text>{x.event}</Text>{x.test && <span class="badge">test</span>}</> }, { head: "Answer", class: "num", cell: (x) => x.statusCode || <span class="soft">--</span> },
      { head: "Attempts", class: "num mid", cell: (x) => x.attempts }, { head: "Error", class: "wide", cell: (x) => <Text class="soft">{x.lastError ?? ""}</Text> }, { head: "At", cell: (x) => <When at={x.timestamp} /> },
      { head: "Again", cell: (x) => x.status === "failed" && may("webhooks.retry") ? <button class="button small" disabled={a.busy} onClick={() => void a.act(() => post(`/api/webhooks/${seg(id)}/deliveries/${seg(x.id)}/retry`, {})).then(l.reload)}>Retry</button> : null },
    ]} />}</div>;
}
