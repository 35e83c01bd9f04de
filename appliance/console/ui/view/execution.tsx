import { useEffect, useMemo, useState } from "preact/hooks";
import { address, get, post, seg } from "../api/client.ts";
import type { EventRow, ExecutionBody, ExecutionRetried, QuestionList, ThreadList, Timeline, TimelineEntry } from "../api/types.gen.ts";
import { watch } from "../live/live.ts";
import { Confirm } from "../part/dialog.tsx";
import { download } from "../part/export.ts";
import { Copy, ID } from "../part/id.tsx";
import { Value, indented } from "../part/json.tsx";
import { Command, Empty, Failure, Read, Waiting } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Tabs } from "../part/tabs.tsx";
import { Text, plural, reveal } from "../part/text.tsx";
import { At, Lasted, When, lasted } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { href, onward, queryOf, setQuery } from "../route.ts";
import { curlOf } from "../store/curl.ts";
import { readJournal } from "../store/journal.ts";
import { recall, useLoad } from "../store/load.ts";
import { byStep, keyOf, madeOf } from "../store/timeline.ts";
import { readTimeline } from "../store/timelineread.ts";
import { may } from "../store/session.ts";
import { further, more } from "./lazy.tsx";
import { ThreadRows } from "./threads.tsx";
import { TimelineTab } from "./timeline.tsx";
import { Drawing } from "./drawing.tsx";

const CompareExecutions = more((m) => m.CompareExecutions);
const RunDialog = more((m) => m.RunDialog);
const ThreadScreens = further((m) => m.ThreadScreens);

export function ExecutionView({ id }: { id: string }) {
  useEffect(() => watch(id), [id]);
  const mine = { on: (e: { type: string; subject?: string; data: Record<string, unknown> }) => (e.subject === id || e.data.executionId === id) && e.type !== "task.progress" };
  const execution = useLoad("execution:" + id, (signal) => get<ExecutionBody>("/api/executions/" + seg(id), {}, signal), { on: (e) => mine.on(e) && !/^message\.(sent|replied)$/.test(e.type) });
  const timeline = useLoad("timeline:" + id, (signal) => readTimeline(id, recall<Timeline>("timeline:" + id), signal), mine);
  // Questions and threads change with events of their own: a busy execution has many others.
  const questions = useLoad("questions:" + id, (signal) => get<QuestionList>(`/api/executions/${seg(id)}/questions`, { status: "open", limit: 100 }, signal),
    { on: (e) => mine.on(e) && /^(question|execution)\.|^message\.closed$/.test(e.type) });
  const threads = useLoad("threads:" + id, (signal) => get<ThreadList>(`/api/managed-threads/executions/${seg(id)}`, { limit: 100 }, signal),
    { on: (e) => mine.on(e) && (e.subject !== id || /^(role|execution)\./.test(e.type)) });
  const tab = queryOf("tab") || "timeline";
  const [asking, setAsking] = useState("");
  const x = execution.data;
  const messages = useMemo(() => saidIn(timeline.data?.entries ?? []), [timeline.data]);
  const longest = useMemo(() => longestOf(timeline.data), [timeline.data]);
  useTitle(x ? `${x.pattern.name} ${x.status}` : "Execution");
  if (!x) return execution.error ? <div class="page"><Failure error={execution.error} again={execution.reload} /></div> : <Waiting />;
  const over = ["completed", "failed", "cancelled"].includes(x.status);
  const open = questions.data?.questions.length ?? 0;
  const cause = x.error ? causeOf(timeline.data, x) : undefined;
  return <div class="page full">
    <header class="head">
      <div class="line">
        <h1><a href={href("/patterns/" + seg(x.pattern.name))}><Text>{x.pattern.name}</Text></a><span class="soft">@{x.pattern.version}</span></h1>
        <ID id={id} /><Copy text={id} label="Copy the id" />
        <State status={x.status} /> <Lasted from={x.startedAt ?? x.createdAt} to={x.completedAt ?? x.cancelledAt} />{" "}
        {x.waiting && !over && <span class="badge needs">waits for {x.waiting.for === "people" ? "you" : x.waiting.for}{open > 0 ? ": " + plural(open, "question") : ""}</span>}
        <span class="push" />
        {open > 0 && <a class="button main" href={href("/inbox?execution=" + id)}>Answer {plural(open, "question")}</a>}
        {!over && may("executions.cancel") && <button type="button" class="button" onClick={() => setAsking("cancel")}>Cancel&hellip;</button>}
        {over && may("executions.create") && <button type="button" class="button" onClick={() => setAsking("retry")}>Run again&hellip;</button>}
        {may("executions.create") && <button type="button" class="button" onClick={() => setAsking("run")}>Run with changes&hellip;</button>}
      </div>
      {x.error && <div class="cause" role="status"><State status="failed" word={x.error.code} /> <span><Text>{x.error.message}</Text>
        {cause && <> &mdash; <a href={href(`/executions/${id}?sel=${encodeURIComponent(cause.key)}`)}>{cause.words}</a></>}</span></div>}
      {x.cancelReason && <div class="cause"><State status="cancelled" /> <Text>{x.cancelReason}</Text></div>}
      <div class="line soft">
        <span>made <When at={x.createdAt} /></span>{x.createdBy && <span>by <Text>{x.createdBy}</Text></span>}
        {x.options?.priority && x.options.priority !== "normal" && <span class="badge">{x.options.priority}</span>}
        {x.batchId && <span>item {x.batchIndex} of <ID id={x.batchId} to={"/batches/" + x.batchId} /></span>}
        {x.retryOf && <span>repeats <ID id={x.retryOf} to={"/executions/" + x.retryOf} />{x.rerunFrom ? " from step " + x.rerunFrom : ""}</span>}
        {longest && <a href={href(`/executions/${id}?sel=${encodeURIComponent(keyOf(longest))}`)}><Text>{`longest task ${[longest.step, longest.role || longest.name].filter(Boolean).join(" ")}, ${lasted(madeOf(longest).to - madeOf(longest).from)}`}</Text></a>}
        {x.partial && <span class="badge needs">ended with what it had</span>}
        <span class="push" />
        <Copy text={() => `wardroom execution timeline ${id}`} label="Copy as CLI">CLI</Copy>
        <Copy text={() => curlOf("/api/executions/" + seg(id))} label="Copy as curl">curl</Copy>
        <Copy text={() => location.href} label="Copy a link to this">link</Copy>
        <button type="button" class="button" onClick={() => download(id + ".json", "application/json", indented(x))}>Download</button>
      </div>
      <Tabs of="Execution" tabs={[
        { key: "timeline", name: "Timeline" }, { key: "workflow", name: "Workflow" }, { key: "messages", name: "Messages", n: messages },
        { key: "threads", name: "Threads", n: threads.data?.total }, { key: "data", name: "Data" }, { key: "journal", name: "Journal" },
      ]} />
    </header>
    {execution.error ? <Failure error={execution.error} old again={execution.reload} /> : questions.error && <Failure error={questions.error} old={questions.data !== undefined} again={questions.reload} />}
    {tab === "timeline" && <Read of={timeline}>{(t) => <TimelineTab execution={x} timeline={t} />}</Read>}
    {tab === "workflow" && <div tabIndex={0} class="scrolls"><Drawing name={x.pattern.name} version={x.pattern.version} timeline={timeline.data} /></div>}
    {tab === "messages" && <Messages id={id} />}
    {tab === "threads" && <Read of={threads}>{(l) => l.threads.length ? <><ThreadRows threads={l.threads} label="Threads of the execution" total={l.total} rest={l.hasMore && `wardroom thread list --execution ${id} --all`} />{may("agents.read") && <ThreadScreens threads={l.threads} />}</>
      : <Empty title="No managed threads">Agents that connect by themselves work without them.</Empty>}</Read>}
    {tab === "data" && <div tabIndex={0} class="scrolls two-columns">
      <section><h2>Input <Copy text={() => indented(x.input)} label="Copy the input" /></h2><Value value={x.input} label="Input" /></section>
      <section><h2>Result {x.result !== undefined && <Copy text={() => indented(x.result)} label="Copy the result" />}</h2>
        {over ? <Value value={x.result ?? null} label="Result" markdown /> : <p class="soft">Not yet.</p>}</section>
      {Object.keys(x.options?.metadata ?? {}).length > 0 && <section><h2>Metadata</h2><Value value={x.options!.metadata} label="Metadata" /></section>}
      {x.agents.length > 0 && <section><h2>Agents</h2>{byStep(x.agents).map((a, i) => <div key={i} class="card"><div class="line"><ID id={a.id} to={"/agents/" + a.id} />{a.step && <span class="mono">{a.step}</span>}{a.status && <State status={a.status} />}</div><Value value={a.result ?? null} label={"Answer of " + a.id} markdown /></div>)}</section>}
      <CompareExecutions execution={x} />
    </div>}
    {tab === "journal" && <JournalTab id={id} />}
    {asking === "cancel" && <Confirm title="Cancel this execution?" action="Cancel the execution" danger close={() => setAsking("")} run={() => post(`/api/executions/${seg(id)}/cancel`, { reason: "cancelled in the console" })}>
      <p><span class="mono">{id}</span> ends at once; what its agents do is given up. This cannot be undone, but it can be run again.</p></Confirm>}
    {asking === "retry" && <Confirm title="Run this execution again?" action="Run again" close={() => setAsking("")} run={(key) => post<ExecutionRetried>(`/api/executions/${seg(id)}/retry`, {}, key).then(onward((r) => "/executions/" + r.newExecutionId))}>
      <p>A new execution with the same input begins. To keep the results of earlier steps, select a step in the timeline and run again from there.</p></Confirm>}
    {asking === "run" && <RunDialog name={x.pattern.name} version={x.pattern.version} input={x.input} close={() => setAsking("")} />}
  </div>;
}

/** The entry that failed first of those that are to blame. */
function causeOf(t: Timeline | undefined, x: ExecutionBody): { key: string; words: string } | undefined {
  if (!t) return undefined;
  const step = x.error?.details?.step;
  const failed = t.entries.filter((e) => ["failed", "timeout", "lost", "expired"].includes(e.status));
  const e = failed.findLast((f) => f.kind === "task" && (step === undefined || f.step === step)) ?? failed.findLast((f) => f.kind !== "step") ?? failed.at(-1);
  if (!e) return undefined;
  return { key: keyOf(e), words: `${e.kind}${e.step ? " of step " + e.step : ""}${e.name ? " at " + e.name : ""}` };
}

/** The task that took the longest of those that are over, where there are several. */
function longestOf(t: Timeline | undefined): TimelineEntry | undefined {
  let longest: TimelineEntry | undefined;
  let most = -1;
  let tasks = 0;
  for (const e of t?.entries ?? []) {
    if (e.kind !== "task" || !e.endedAt) continue;
    const took = madeOf(e).to - madeOf(e).from;
    tasks++;
    if (took > most) [longest, most] = [e, took];
  }
  return tasks > 1 ? longest : undefined;
}

/** How many messages and questions there are. The question of a message that came to people, at once or by escalation, is that message. */
function saidIn(entries: TimelineEntry[]): number {
  const place = (e: TimelineEntry) => `${e.step} ${e.role} ${e.startedAt}`;
  const toPeople = new Set(entries.filter((e) => (e.kind === "message" || e.kind === "escalation") && e.to === "user").map(place));
  return entries.filter((e) => e.kind === "message" || e.kind === "question" && !toPeople.has(place(e))).length;
}

/** What roles and people said to one another. */
function Messages({ id }: { id: string }) {
  const journal = useLoad("journal:" + id, (signal) => readJournal(id, signal), { on: (e) => e.subject === id });
  const said = useMemo(() => {
    const events = journal.data?.events ?? [];
    const question = (e: EventRow) => (e.data as { question?: { role?: string; text?: string; messageId?: string } }).question;
    const asked = new Set<unknown>(events.map((e) => question(e)?.messageId)); // messages that people are asked
    const shown = new Set<unknown>(); // those that are shown, with that they came to people: their questions repeat them
    const sent = new Set<unknown>();
    const answered = new Set<unknown>(); // messages that people answered: the reply to them repeats it
    return events.flatMap((e) => {
      const d = e.data as Record<string, unknown>;
      const q = question(e);
      const toPeople = e.type === "message.sent" && !d.to && asked.has(d.messageId);
      if (e.type === "message.sent") sent.add(d.messageId);
      if (toPeople || e.type === "message.escalated" && !d.to && sent.has(d.messageId)) shown.add(d.messageId);
      if (e.type === "question.answered" && d.messageId) answered.add(d.messageId);
      if (e.type === "question.asked" && shown.has(q?.messageId) || e.type === "message.replied" && answered.has(d.messageId)) return [];
      switch (e.type) {
        case "message.sent": return [{ e, from: String(d.role ?? ""), to: String(d.to || !toPeople && d.wish || "people"), what: String(d.messageType ?? ""), content: d.content }];
        case "message.replied": return [{ e, from: String(d.from ?? ""), to: "", what: "reply", content: d.content }];
        case "message.escalated": return [{ e, from: "", to: String(d.to || (asked.has(d.messageId) ? "people" : "")), what: "escalated", content: d.reason }];
        case "question.asked": return [{ e, from: String(q?.role ?? ""), to: "people", what: "question", content: q?.text }];
        case "question.answered": return [{ e, from: String(d.by ?? "people"), to: "", what: "answer", content: d.answer }];
        default: return [];
      }
    });
  }, [journal.data]);
  if (!journal.data) return journal.error ? <Failure error={journal.error} again={journal.reload} /> : <Waiting />;
  const cut = !journal.data.whole && <p class="bar soft">Of the first 5,000 events of the journal.</p>;
  if (said.length === 0) return <>{cut}<Empty title="Nobody said anything">Agents of an org chart ask their managers, and people where nobody else can answer.</Empty></>;
  return <>{journal.error && <Failure error={journal.error} old again={journal.reload} />}{cut}<ol tabIndex={0} class="talk scrolls">{said.slice(0, 500).map((m) => <li key={m.e.sequence}>
    <div class="line"><strong><Text>{m.from || "\u2192"}</Text></strong>{m.to && <span class="soft">to <Text>{m.to}</Text></span>}<span class="badge">{m.what}</span><span class="push" /><span class="soft"><At at={m.e.timestamp} /></span></div>
    <Value value={m.content} label={m.what} markdown />
  </li>)}{said.length > 500 && <li class="soft">{said.length - 500} more: see the journal.</li>}</ol></>;
}

function JournalTab({ id }: { id: string }) {
  const journal = useLoad("journal:" + id, (signal) => readJournal(id, signal), { on: (e) => e.subject === id });
  const from = Number(queryOf("from") || 0);
  if (!journal.data) return journal.error ? <Failure error={journal.error} again={journal.reload} /> : <Waiting />;
  const events = journal.data.events;
  const shown = events.slice(from, from + 100);
  return <div tabIndex={0} class="scrolls">{journal.error && <Failure error={journal.error} old again={journal.reload} />}
    <div class="bar"><span class="soft">{from + 1}&ndash;{from + shown.length} of {events.length}{journal.data.whole ? "" : " that were read"}</span><span class="push" />
      <button type="button" class="button" disabled={from === 0} onClick={() => setQuery({ from: String(Math.max(0, from - 100) || "") })}>Before</button>
      <button type="button" class="button" disabled={from + 100 >= events.length} onClick={() => setQuery({ from: String(from + 100) })}>After</button>
      <a class="button" href={address(`/api/executions/${id}/events`, { since: events[from]?.sequence ? events[from]!.sequence - 1 : 0 })} target="_blank" rel="noopener">JSON</a></div>
    {!journal.data.whole && <p class="line"><span class="soft">The first 5,000 events are here. From there goes on</span> <Command text={curlOf(`/api/executions/${seg(id)}/events`, { since: events.at(-1)?.sequence ?? 0 })} /></p>}
    <ol class="journal">{shown.map((e) => <li key={e.sequence}><details><summary><span class="soft nums">{e.sequence}</span> <At at={e.timestamp} /> <strong class="mono">{reveal(e.type)}</strong></summary><Value value={e.data} label={e.type} /></details></li>)}</ol>
  </div>;
}
