// Schedules: what is started by the clock, when next, and what became of it.

import { useState } from "preact/hooks";
import { get, post, del, seg } from "../api/client.ts";
import type { RunBody, Schedule, ScheduleList, ScheduleTicks, Target } from "../api/types.gen.ts";
import { Confirm, useAct } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Command, Empty, Failure, Gone, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { useSteady } from "../part/steady.ts";
import { Choice } from "../part/tabs.tsx";
import { Text, count } from "../part/text.tsx";
import { When, absolute, lasted } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { href, onward, queryOf, setQuery } from "../route.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";

const live = { on: (e: { topics: string[] }) => e.topics.includes("schedules") };

/** What is started, in a line. */
export function TargetLine({ target }: { target: Target }) {
  if (target.execution) return <><a href={href("/patterns/" + seg(target.execution.pattern))}><Text>{target.execution.pattern}</Text></a>{target.execution.version && <span class="soft"> {target.execution.version}</span>}</>;
  return <>a thread of <Text>{target.thread?.agentType ?? ""}</Text>{target.thread?.role && <span class="soft"> as <Text>{target.thread.role}</Text></span>}</>;
}

/** What a run led to. */
export function RunLink({ run }: { run: { executionId?: string; threadId?: string } }) {
  if (run.executionId) return <ID id={run.executionId} to={"/executions/" + run.executionId} />;
  return run.threadId ? <ID id={run.threadId} to={"/threads/" + run.threadId} /> : null;
}

export const pathOfRun = (run: { executionId?: string; threadId?: string }, else_: string): string => (run.executionId ? "/executions/" + run.executionId : run.threadId ? "/threads/" + run.threadId : else_);

export function SchedulesView() {
  useTitle("Schedules");
  const status = queryOf("status");
  const l = usePages("schedules?" + status, (cursor, signal) => get<ScheduleList>("/api/schedules", { status, limit: 100, cursor }, signal), (p) => p.schedules, live);
  return <div class="page full">
    <header class="head"><div class="line"><h1>Schedules</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}<span class="push" />
      <Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={[["", "any"], ["active", "active"], ["paused", "paused"], ["blocked", "blocked"], ["ended", "ended"]]} /></div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}{!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && (status ? <Empty title="No schedule is in this state" /> : <Empty title="No schedules yet">What is to run by the clock: <Command text="wardroom schedule create --name nightly --cron '0 3 * * *' --pattern NAME --input '{}'" /></Empty>)}
    {l.rows && l.rows.length > 0 && <Rows label="Schedules" of={l.of} rows={l.rows} id={(s) => s.id} to={(s) => "/schedules/" + s.id} total={l.total} more={l.more} rest={l.full && "wardroom schedule list --all"} columns={[
      { head: "State", cell: (s) => <State status={s.status} /> },
      { head: "Name", class: "grow", cell: (s) => <strong><Text>{s.name}</Text></strong> },
      { head: "When", cell: (s) => <><span class="mono"><Text>{s.cron}</Text></span> <span class="soft">{s.timeZone}</span></> },
      { head: "Starts", class: "mid", cell: (s) => <TargetLine target={s.target} /> },
      { head: "Next", cell: (s) => <When at={s.nextAt} /> },
      { head: "Last", class: "mid", cell: (s) => s.lastRun ? <><State status={s.lastRun.outcome} /> <When at={s.lastRun.at} /></> : <span class="soft">never</span> },
    ]} />}
  </div>;
}

export function ScheduleView({ id }: { id: string }) {
  const s = useLoad("schedule:" + id, (signal) => get<Schedule>("/api/schedules/" + seg(id), {}, signal), live);
  const ticks = useLoad(`ticks:${id}:${s.data?.updatedAt ?? ""}:${s.data?.nextAt ?? ""}`, (signal) => get<ScheduleTicks>(`/api/schedules/${seg(id)}/ticks`, { limit: 5 }, signal));
  const [asking, setAsking] = useState("");
  const steady = useSteady(s.data?.status ?? "");
  const a = useAct();
  useTitle(s.data?.name ?? "Schedule");
  if (!s.data) return s.error ? <div class="page"><Failure error={s.error} again={s.reload} /></div> : <Waiting />;
  const d = s.data;
  const gone = s.error?.status === 404;
  return <div class="page full">
    <header class="head">
      <div class="line"><h1><Text>{d.name}</Text></h1><ID id={id} /><Copy text={id} label="Copy the id" /><State status={d.status} /><span class="push" />
        {may("schedules.run") && !gone && d.status !== "ended" && <button type="button" class="button" onClick={() => setAsking("run")}>Run now&hellip;</button>}
        {d.status === "active" && !gone && may("schedules.pause") && <button type="button" class="button" disabled={a.busy} aria-disabled={!steady} onClick={() => { if (steady) void a.act(() => post(`/api/schedules/${seg(id)}/pause`, { reason: "paused in the console" })).then(s.reload); }}>Pause</button>}
        {(d.status === "paused" || d.status === "blocked") && !gone && may("schedules.resume") && <button type="button" class="button main" disabled={a.busy} aria-disabled={!steady} onClick={() => { if (steady) void a.act(() => post(`/api/schedules/${seg(id)}/resume`, {})).then(s.reload); }}>Resume</button>}
        {may("schedules.delete") && !gone && <button type="button" class="button" onClick={() => setAsking("delete")}>Remove&hellip;</button>}</div>
      {d.statusReason && <p class="hot"><Text>{d.statusReason}</Text></p>}
      <div class="line soft"><span class="mono"><Text>{d.cron}</Text></span><span>{d.timeZone}</span><span>starts <TargetLine target={d.target} /></span><span>by the rights of <Text>{d.runsAs}</Text></span><span class="push" /><Copy text={`wardroom schedule get ${id}`} label="Copy as CLI">CLI</Copy></div>
    </header>
    {gone ? <Gone what="This schedule" to="/schedules" /> : s.error && <Failure error={s.error} old again={s.reload} />}{a.error && <Failure error={a.error} />}
    <div tabIndex={0} class="scrolls two-columns">
      <section><h2>Last runs</h2><Runs runs={d.runs ?? []} none="It has not run yet." /></section>
      <section><h2>Next</h2>{ticks.data ? ticks.data.ticks.length ? <ol class="plain">{ticks.data.ticks.map((t) => <li key={t.at}><When at={t.at} /> <span class="soft mono"><Text>{t.local}</Text></span></li>)}</ol> : <p class="soft">None.</p> : ticks.error ? <Failure error={ticks.error} again={ticks.reload} /> : <Waiting />}
        <h2>How</h2><dl class="facts">
          <div><dt>Run before</dt><dd>{({ skip: "while it goes on, a tick is skipped", queue: "while it goes on, a tick waits", allow: "may go on beside", "cancel-previous": "is cancelled by the next tick" })[d.overlap]}</dd></div>
          <div><dt>Missed ticks</dt><dd>{({ none: "are not made up for", last: "the last is made up for", all: `up to ${d.catchUpLimit} are made up for` })[d.catchUp]}</dd></div>
          {d.jitter > 0 && <div><dt>Put off</dt><dd>by up to {lasted(d.jitter)}</dd></div>}
          {d.startAt && <div><dt>From</dt><dd>{absolute(d.startAt)}</dd></div>}{d.endAt && <div><dt>Until</dt><dd>{absolute(d.endAt)}</dd></div>}
          <div><dt>So far</dt><dd>{count(d.counts.started)} started, {count(d.counts.skipped)} skipped, {count(d.counts.missed)} missed, {count(d.counts.failed)} failed, {count(d.counts.blocked)} blocked</dd></div>
          {d.queued > 0 && <div><dt>Wait</dt><dd>{count(d.queued)}</dd></div>}
          <div><dt>Made</dt><dd><When at={d.createdAt} /> by <Text>{d.createdBy}</Text></dd></div></dl>
        <h2>Starts</h2><Value value={d.target.execution ?? d.target.thread} label="Target" /></section>
    </div>
    {asking === "run" && <Confirm title="Run it now?" action="Run now" close={() => setAsking("")} run={(key) => post<RunBody>(`/api/schedules/${seg(id)}/run`, {}, key).then(onward((r) => pathOfRun(r, "/schedules/" + id)))}><p>It begins at once, whatever else runs, with the rights of <Text>{d.runsAs}</Text>. The next tick stays where it is.</p></Confirm>}
    {asking === "delete" && <Confirm title="Remove this schedule?" action="Remove the schedule" danger close={() => setAsking("")} run={() => del("/api/schedules/" + seg(id)).then(onward(() => "/schedules"))}><p><Text>{d.name}</Text> has no further ticks. What it started goes on.</p></Confirm>}
  </div>;
}

interface AnyRun { at: string; outcome: string; executionId?: string; threadId?: string; reason?: string; code?: string; tick?: string; count?: number; late?: boolean; event?: string; delivery?: string }

/** What became of ticks and requests. none is what is there before the first. */
export function Runs({ runs, none }: { runs: AnyRun[]; none: string }) {
  if (runs.length === 0) return <p class="soft">{none}</p>;
  return <table class="plain"><thead><tr><th scope="col">Outcome</th><th scope="col">At</th><th scope="col">Started</th><th scope="col">Why</th></tr></thead><tbody>{runs.map((r, i) => <tr key={i}>
    <td><State status={r.outcome} />{r.late && <span class="badge">late</span>}{r.count && r.count > 1 ? <span class="badge">{count(r.count)} ticks</span> : null}</td><td><When at={r.at} /></td><td><RunLink run={r} />{r.event && <span class="badge"><Text>{r.event}</Text></span>}</td><td>{r.code && <span class="mono removed">{r.code} </span>}<Text>{r.reason ?? ""}</Text></td></tr>)}</tbody></table>;
}
