import { useEffect, useState } from "preact/hooks";
import { call, freshKey, get, now } from "../api/client.ts";
import type { ExecutionAccepted, ExecutionList, HealthBody, Overview } from "../api/types.gen.ts";
import { counts, watchTopics } from "../live/live.ts";
import { useAct } from "../part/dialog.tsx";
import { Command, Failure, Waiting } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Text, count } from "../part/text.tsx";
import { Lasted, When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { href, onward, queryOf, setQuery } from "../route.ts";
import { changesInbox, readInbox } from "../store/ask.ts";
import { queryOfFilter } from "../store/filter.ts";
import { useEvery, useLoad } from "../store/load.ts";
import { chartOf, of, ranges } from "../store/overview.ts";
import { may } from "../store/session.ts";
import { more } from "./lazy.tsx";

const executions = { on: (e: { topics: string[] }) => e.topics.includes("executions"), pause: 1000 };

const failedLately = "status=failed&ended=1h";

const Throughput = more((m) => m.Throughput);
const Durations = more((m) => m.Durations);

export function OverviewView() {
  useTitle("Overview");
  const all = useLoad("overview", (signal) => get<Overview>("/api/overview", {}, signal), { on: executions.on, pause: 5000 }); // for what happened per minute
  useEffect(() => watchTopics("counts"), []);
  const health = useLoad(may("health.read") ? "health" : "", (signal) => get<HealthBody>("/api/health", { detailed: true }, signal), { on: (e) => e.topics.includes("health"), pause: 2000 });
  const inbox = useLoad("inbox", readInbox, { on: changesInbox });
  const running = useLoad("overview-running", (signal) => get<ExecutionList>("/api/executions", { status: "running", limit: 8 }, signal), executions);
  const failed = useLoad("overview-failed", (signal) => get<ExecutionList>("/api/executions", { status: "failed", limit: 10 }, signal), executions);
  // The same question as the list that the tile leads to.
  const failures = useLoad("overview-failures", (signal) => get<ExecutionList>("/api/executions", { ...queryOfFilter(new URLSearchParams(failedLately), now()), limit: 1 }, signal), executions);
  useEvery(60_000, failures.renew);
  const o = all.data;
  const there = counts.value && (!o || Date.parse(counts.value.at) >= Date.parse(o.at)) ? counts.value : o; // what there is
  const h = health.data;
  const checks = (h?.checks ?? []).filter((c) => c.status !== "ok");
  const never = there && Object.values(there.executions).every((n) => n === 0);
  const range = ranges.some((r) => r[0] === queryOf("range")) ? queryOf("range") : "1h";
  const c = o && chartOf(o, range);
  const tile = (to: string, n: number | undefined, name: string, kind: string) => <Tile to={to} n={n} name={name} kind={n ? kind : ""} />;
  return <div class="page">
    <header class="head"><div class="line"><h1>Overview</h1>{h && <State status={h.status} />}</div></header>
    {all.error && <Failure error={all.error} old={Boolean(o)} again={all.reload} />}
    {never && <First />}
    <div class="tiles">
      {tile("/inbox", inbox.data?.total ?? there?.waiting.people, "need you", "needs")}
      {tile("/executions?status=running", there && of(there.executions, "running"), "running", "runs")}
      {tile("/executions?status=pending", there?.waiting.queue, "waiting for their turn", "")}
      {tile("/executions?" + failedLately, failures.data?.total, "failed in an hour", "failed")}
      <a class="tile" href={href("/agents?status=connected")}><strong class="nums">{there ? `${count(there.agents.healthy)}/${count(there.agents.connected)}` : "\u2013"}</strong><span>agents healthy</span></a>
      {tile("/agents?tab=managed&status=busy", there && of(there.managedAgents, "busy"), "managed agents busy", "runs")}
      {tile("/webhooks", there?.waiting.deliveries, "deliveries waiting", "")}
    </div>
    {c && <section class="card charts" aria-label="Over time"><div class="chips" role="group" aria-label="Range">{ranges.map(([key, words]) => <button type="button" key={key} class="chip" aria-pressed={key === range} title={"The last " + words} onClick={() => setQuery({ range: key === "1h" ? "" : key })}>{key}</button>)}</div>
      <div class="columns"><Throughput range={c.range} from={c.from} to={c.to} step={c.step} spans={c.spans} /><Durations range={c.range} from={c.from} to={c.to} step={c.fine.step} spans={c.fine.spans} /></div></section>}
    <div class="columns">
      <section class="card"><h2>Needs you, the most urgent first</h2>
        {!inbox.data ? inbox.error ? <Failure error={inbox.error} again={inbox.reload} /> : <Waiting /> : inbox.data.asks.length === 0 ? <p class="soft">Nothing waits for you.</p> :
          <ul class="links-list">{inbox.data.asks.slice(0, 8).map((a) => <li key={a.key}><a href={href("/inbox?ask=" + encodeURIComponent(a.key))}><span class="clip"><Text>{a.tool ? a.tool + ": " + a.text : a.text}</Text></span><span class="soft"><Text>{a.who}</Text></span><When at={a.since} suffix="" /></a></li>)}</ul>}
      </section>
      <section class="card"><h2>Running</h2>
        {!running.data ? running.error ? <Failure error={running.error} again={running.reload} /> : <Waiting /> : running.data.executions.length === 0 ? <p class="soft">Nothing runs.</p> :
          <ul class="links-list">{running.data.executions.map((x) => <li key={x.executionId}><a href={href("/executions/" + x.executionId)}><span class="clip"><State status="running" short /> <Text>{x.pattern}</Text></span>{x.waiting && <span class="badge needs">waits for {x.waiting.for}</span>}<Lasted from={x.startedAt ?? x.createdAt} /></a></li>)}</ul>}
      </section>
      <section class="card"><h2>Failed last</h2>
        {!failed.data ? failed.error ? <Failure error={failed.error} again={failed.reload} /> : <Waiting /> : failed.data.executions.length === 0 ? <p class="soft">Nothing failed.</p> :
          <ul class="links-list">{failed.data.executions.map((x) => <li key={x.executionId}><a href={href("/executions/" + x.executionId)}><span class="clip"><State status="failed" short /> <Text>{x.pattern}</Text> <span class="soft">{x.version}</span></span>{x.errorCode && <span class="mono removed"><Text>{x.errorCode}</Text></span>}<When at={x.completedAt ?? x.createdAt} /></a></li>)}</ul>}
      </section>
      {(checks.length > 0 || health.error && !all.error) && <section class="card"><h2>Not ok</h2>{health.error && !all.error && <Failure error={health.error} old={h !== undefined} again={health.reload} />}<ul class="plain">{checks.map((k) => <li key={k.name}><div class="line"><State status={k.status} /><strong><Text>{k.name}</Text></strong><span class="push" /><When at={k.since} /></div>{k.message && <p><Text>{k.message}</Text></p>}{k.hint && <p class="soft"><Text>{k.hint}</Text></p>}</li>)}</ul></section>}
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
  const [key] = useState(freshKey); // a repeat after a lost answer runs nothing twice
  const run = () => void a.act(() => call<ExecutionAccepted>("POST", `/api/patterns/${example}/execute`, { query: { async: true }, body: { input: { task: "a command that counts lines and words" } }, once: key }).then(onward((m) => "/executions/" + m.executionId)));
  return <section class="card first"><h2>Nothing has run yet</h2><p>An org chart comes with the product: an architect plans, engineers build, and people are asked where nobody else can answer. It runs on agents that are connected, or on coding tools that a runtime offers.</p>
    {a.error && <Failure error={a.error} />}
    {may("executions.create") && <button type="button" class="button main" disabled={a.busy} onClick={run}>Run startup-team</button>} <Command text={"wardroom run startup-team --input '{\"task\": \"a command that counts lines and words\"}'"} /></section>;
}
