import { call, freshKey, get } from "../api/client.ts";
import type { ExecutionAccepted, ExecutionList, HealthBody, ManagedAgentList } from "../api/types.gen.ts";
import { useAct } from "../part/dialog.tsx";
import { Command, Failure, Waiting } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Text, count } from "../part/text.tsx";
import { Lasted, When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { go, href } from "../route.ts";
import { changesInbox, readInbox } from "../store/ask.ts";
import { useLoad } from "../store/load.ts";
import { may } from "../store/session.ts";

const executions = { on: (e: { topics: string[] }) => e.topics.includes("executions"), pause: 1000 };

export function OverviewView() {
  useTitle("Overview");
  const health = useLoad("health", (signal) => get<HealthBody>("/api/health", { detailed: true }, signal), { on: (e) => e.topics.includes("health") || e.topics.includes("executions") || e.topics.includes("agents"), pause: 2000 });
  const inbox = useLoad("inbox", readInbox, { on: changesInbox });
  const running = useLoad("overview-running", (signal) => get<ExecutionList>("/api/executions", { status: "running", limit: 8 }, signal), executions);
  const failed = useLoad("overview-failed", (signal) => get<ExecutionList>("/api/executions", { status: "failed", limit: 10 }, signal), executions);
  const busy = useLoad("overview-busy", (signal) => get<ManagedAgentList>("/api/managed-agents", { status: "busy", limit: 1 }, signal), { on: (e) => e.topics.includes("agents"), pause: 1000 });
  const h = health.data;
  const checks = (h?.checks ?? []).filter((c) => c.status !== "ok");
  const never = h?.metrics?.executionsTotal === 0;
  return <div class="page">
    <header class="head"><div class="line"><h1>Overview</h1>{h && <State status={h.status} />}</div></header>
    {health.error && health.error.status !== 403 && <Failure error={health.error} old={Boolean(h)} again={health.reload} />}
    {never && <First />}
    <div class="tiles">
      <Tile to="/inbox" n={inbox.data?.total} name="need you" kind={inbox.data?.total ? "needs" : ""} />
      <Tile to="/executions?status=running" n={running.data?.total} name="running" kind={running.data?.total ? "runs" : ""} />
      <Tile to="/executions?status=failed" n={failed.data?.total} name="failed" kind={failed.data?.total ? "failed" : ""} />
      <Tile to="/executions" n={h?.metrics?.executionsTotal} name="executions" kind="" />
      <Tile to="/agents?status=connected" n={h?.components?.agents.connected} name="agents connected" kind="" />
      <Tile to="/agents?tab=managed&status=busy" n={busy.data?.total} name="managed agents busy" kind={busy.data?.total ? "runs" : ""} />
    </div>
    <div class="columns">
      <section class="card"><h2>Needs you, oldest first</h2>
        {!inbox.data ? inbox.error ? <Failure error={inbox.error} again={inbox.reload} /> : <Waiting /> : inbox.data.asks.length === 0 ? <p class="soft">Nothing waits for you.</p> :
          <ul class="links-list">{inbox.data.asks.slice(0, 8).map((a) => <li key={a.key}><a href={href("/inbox?ask=" + encodeURIComponent(a.key))}><span class="clip"><Text>{a.tool ? a.tool + ": " + a.text : a.text}</Text></span><span class="soft"><Text>{a.who}</Text></span><When at={a.since} suffix="" /></a></li>)}</ul>}
      </section>
      <section class="card"><h2>Running</h2>
        {!running.data ? running.error ? <Failure error={running.error} again={running.reload} /> : <Waiting /> : running.data.executions.length === 0 ? <p class="soft">Nothing runs.</p> :
          <ul class="links-list">{running.data.executions.map((x) => <li key={x.executionId}><a href={href("/executions/" + x.executionId)}><span class="clip"><State status="running" short /> <Text>{x.pattern}</Text></span>{x.waiting && <span class="badge needs">waits for {x.waiting.for}</span>}<Lasted from={x.startedAt ?? x.createdAt} /></a></li>)}</ul>}
      </section>
      <section class="card"><h2>Failed last</h2>
        {!failed.data ? failed.error ? <Failure error={failed.error} again={failed.reload} /> : <Waiting /> : failed.data.executions.length === 0 ? <p class="soft">Nothing failed.</p> :
          <ul class="links-list">{failed.data.executions.map((x) => <li key={x.executionId}><a href={href("/executions/" + x.executionId)}><span class="clip"><State status="failed" short /> <Text>{x.pattern}</Text> <span class="soft">{x.version}</span></span><When at={x.completedAt ?? x.createdAt} /></a></li>)}</ul>}
      </section>
      {checks.length > 0 && <section class="card"><h2>Not ok</h2><ul class="plain">{checks.map((c) => <li key={c.name}><div class="line"><State status={c.status} /><strong><Text>{c.name}</Text></strong><span class="push" /><When at={c.since} /></div>{c.message && <p><Text>{c.message}</Text></p>}{c.hint && <p class="soft"><Text>{c.hint}</Text></p>}</li>)}</ul></section>}
    </div>
  </div>;
}

function Tile({ to, n, name, kind }: { to: string; n?: number; name: string; kind: string }) {
  return <a class={"tile " + kind} href={href(to)}><strong class="nums">{n === undefined ? "\u2013" : count(n)}</strong><span>{name}</span></a>;
}

const example = "startup-team"; // an org chart that comes with the product

/** A first start: one click shows the product at work. */
function First() {
  const a = useAct();
  const run = () => void a.act(() => call<ExecutionAccepted>("POST", `/api/patterns/${example}/execute`, { query: { async: true }, body: { input: { task: "a command that counts lines and words" } }, once: freshKey() }).then((m) => go("/executions/" + m.executionId)));
  return <section class="card first"><h2>Nothing has run yet</h2><p>An org chart comes with the product: an architect plans, engineers build, and people are asked where nobody else can answer. It runs on agents that are connected, or on coding tools that a runtime offers.</p>
    {a.error && <Failure error={a.error} />}
    {may("executions.create") && <button class="button main" disabled={a.busy} onClick={run}>Run startup-team</button>} <Command text={"wardroom run startup-team --input '{\"task\": \"a command that counts lines and words\"}'"} /></section>;
}
