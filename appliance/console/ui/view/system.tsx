import { useState } from "preact/hooks";
import { get, post, seg } from "../api/client.ts";
import type { HealthBody, PluginList, PluginLogRow } from "../api/types.gen.ts";
import { Confirm } from "../part/dialog.tsx";
import { Empty, Failure, Waiting } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Choice, Tabs } from "../part/tabs.tsx";
import { Tail } from "../part/tail.tsx";
import { Text, count } from "../part/text.tsx";
import { When, lasted, timeOfDay } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { queryOf } from "../route.ts";
import { useFollow } from "../store/follow.ts";
import { useLoad } from "../store/load.ts";
import { may } from "../store/session.ts";
import { choose, setting } from "../setting.ts";
import { notifying, setNotifying } from "../live/notify.ts";
import { further } from "./lazy.tsx";

const ProcessFigures = further((m) => m.ProcessFigures);
const ServerLog = further((m) => m.ServerLog);
const Workspaces = further((m) => m.Workspaces);

export function SystemView() {
  useTitle("System");
  const tab = queryOf("tab") || "checks";
  return <div class="page full"><header class="head"><div class="line"><h1>System</h1></div>
    <Tabs of="System" tabs={[{ key: "checks", name: "Checks" }, { key: "plugins", name: "Plugins" }, ...(may("metrics.read") ? [{ key: "process", name: "Process" }] : []), ...(may("logs.read") ? [{ key: "log", name: "Server log" }] : []), { key: "workspaces", name: "Workspaces" }, { key: "settings", name: "This browser" }]} /></header>
    {tab === "checks" && <Checks />}{tab === "plugins" && <Plugins />}{tab === "process" && <ProcessFigures />}{tab === "log" && <ServerLog />}{tab === "workspaces" && <Workspaces />}{tab === "settings" && <Settings />}</div>;
}

function Checks() {
  const h = useLoad("health", (signal) => get<HealthBody>("/api/health", { detailed: true }, signal), { topics: ["plugins"], on: (e) => e.topics.includes("health") || e.topics.includes("plugins"), pause: 2000 });
  if (!h.data) return h.error ? <Failure error={h.error} again={h.reload} /> : <Waiting />;
  const d = h.data;
  return <div tabIndex={0} class="scrolls">{h.error && <Failure error={h.error} old again={h.reload} />}
    <div class="bar"><State status={d.status} /><span class="soft">version {d.version}, up {lasted(d.uptime * 1000)}</span><span class="push" /><button type="button" class="button" onClick={h.reload}>Check now</button></div>
    <table class="plain"><thead><tr><th scope="col">State</th><th scope="col">Check</th><th scope="col">Says</th><th scope="col">Since</th></tr></thead><tbody>{(d.checks ?? []).map((c) => <tr key={c.name}><td><State status={c.status} /></td><td><Text>{c.name}</Text></td><td><Text>{c.message ?? ""}</Text>{c.hint && c.status !== "ok" && <div class="soft"><Text>{c.hint}</Text></div>}</td><td><When at={c.since} /></td></tr>)}</tbody></table></div>;
}

function Plugins() {
  const l = useLoad("plugins", (signal) => get<PluginList>("/api/admin/plugins", {}, signal), { topics: ["plugins"], pause: 1000 });
  const [log, setLog] = useState("");
  const [restart, setRestart] = useState("");
  const logs = useFollow<PluginLogRow>(log ? `/api/admin/plugins/${seg(log)}/logs` : "", { tail: 1000, follow: true });
  if (!l.data) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  return <div tabIndex={0} class="scrolls">{l.error && <Failure error={l.error} old again={l.reload} />}{l.data.plugins.length === 0 && <Empty title="No plugins">They extend where managed agents run, and more.</Empty>}
    <div class="cards">{l.data.plugins.map((p) => <section key={p.name} class="card"><div class="line"><h2><Text>{p.name}</Text></h2><State status={p.state} /><span class="push" /><span class="soft">{p.version}</span></div>
      {p.reason && <p><Text>{p.reason}</Text></p>}{p.hint && <p class="soft"><Text>{p.hint}</Text></p>}
      <p class="soft">{p.kind}{Date.parse(p.since) > 0 && <> since <When at={p.since} /></>}{p.restarts > 0 ? `, ${count(p.restarts)} restarts` : ""}</p>
      {p.state !== "disabled" && <p class="line"><button type="button" class="button" aria-pressed={log === p.name} onClick={() => setLog(log === p.name ? "" : p.name)}>Log</button>{may("plugins.restart") && <button type="button" class="button" onClick={() => setRestart(p.name)}>Restart&hellip;</button>}</p>}</section>)}</div>
    {log && <><div class="bar"><h2>Log of <Text>{log}</Text></h2><span class="soft" role="status">{logs.live ? "followed as it comes" : "not followed now"}</span></div>{logs.error && <Failure error={logs.error} old={Boolean(logs.rows)} />}
      {logs.rows ? <Tail text={logs.rows.map((x) => (x.lost ? `... ${count(x.lost)} lines were missed\n` : "") + `${timeOfDay(x.timestamp)} ${x.level.padEnd(5)} ${x.message}`).join("\n") || "Nothing was logged."} label={"Log of " + log} /> : !logs.error && <Waiting />}</>}
    {restart && <Confirm title={"Restart " + restart + "?"} action="Restart" close={() => setRestart("")} run={() => post(`/api/admin/plugins/${seg(restart)}/restart`).then(l.reload)}><p>Agents of a runtime live on while it is restarted.</p></Confirm>}</div>;
}

function Settings() {
  const s = setting.value;
  return <div tabIndex={0} class="scrolls form narrow">
    <Choice label="Theme" value={s.theme} set={(v) => choose({ theme: v as typeof s.theme })} options={[["system", "as the system"], ["light", "light"], ["dark", "dark"]]} />
    <Choice label="Rows" value={s.rows} set={(v) => choose({ rows: v as typeof s.rows })} options={[["comfortable", "comfortable"], ["compact", "compact"]]} />
    <Choice label="Times" value={s.zone} set={(v) => choose({ zone: v as typeof s.zone })} options={[["local", "of this machine"], ["utc", "UTC"]]} />
    <Choice label="Times are" value={s.times} set={(v) => choose({ times: v as typeof s.times })} options={[["relative", "how long ago"], ["absolute", "date and time"]]} />
    <Choice label="Single keys" value={s.keys ? "on" : "off"} set={(v) => choose({ keys: v === "on" })} options={[["on", "on"], ["off", "off"]]} />
    <Choice label="Notifications" value={notifying() === "on" ? "on" : "off"} set={(v) => void setNotifying(v === "on")} options={[["off", "off"], ["on", "of what waits for you"]]} />
    {s.notify && notifying() !== "on" && <p class="hot" role="status">{notifying() === "refused" ? "This browser refuses notifications of this page: allow them beside its address." : "This browser shows no notifications to pages of this address."}</p>}
    <p class="soft">Kept in this browser. No key, token or data of the server is.</p></div>;
}
