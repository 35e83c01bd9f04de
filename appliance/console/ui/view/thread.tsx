import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { del, get, post, seg, type Query } from "../api/client.ts";
import type { ThreadBody, ThreadEventList, ThreadEventRow, ThreadQueueBody, WorkspaceBody } from "../api/types.gen.ts";
import { watch } from "../live/live.ts";
import { tell } from "../live/notify.ts";
import { AnswerBox, ToolInput } from "../part/answerbox.tsx";
import { Confirm, useAct } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Markdown } from "../part/markdown.tsx";
import { Command, Empty, Failure, NotKept, Read, Waiting } from "../part/notice.tsx";
import { useFocusOnward } from "../part/rowfocus.ts";
import { State } from "../part/state.tsx";
import { Tabs } from "../part/tabs.tsx";
import { Pre, Text, bytes, count, plural, reveal, writtenSince } from "../part/text.tsx";
import { At, Lasted, When, lasted } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { queryOf } from "../route.ts";
import { askOfThread, type Prompt } from "../store/ask.ts";
import { tabDrafts, useOnce } from "../store/draft.ts";
import { newKept, useLoad } from "../store/load.ts";
import { may } from "../store/session.ts";
import { further } from "./lazy.tsx";
import type { Deciding } from "./memory.tsx";
import { TerminalTab } from "./terminal.tsx";

const Changes = further((m) => m.Changes);
const ThreadDecisions = further((m) => m.ThreadDecisions);
const WorkspaceFacts = further((m) => m.WorkspaceFacts);

type Data = Record<string, unknown>;

const over = new Set(["completed", "failed", "stopped"]);
const types = ["thread_started", "thread_ready", "thread_blocked", "thread_tool_running", "thread_turn_complete", "thread_idle", "thread_summary_updated", "thread_completed", "thread_failed", "thread_stopped", "thread_output", "thread_status", "thread_input", "thread_tool_done"];

interface Log { events: ThreadEventRow[]; next: number; before: number; wanted: number }

const logs = newKept<Log>(1);
const newest = 300; // events that are listed
const step = 2000; // events that are read further back at a time

/** What was read of the events of a thread: whole, if none are older. */
interface Told { events: ThreadEventRow[]; whole: boolean }

/** Reads the events of a thread: the newest at first, then what happened since, and older ones where they are wanted. */
async function readLog(id: string, signal: AbortSignal): Promise<Told> {
  let log = logs.get(id);
  if (!log) {
    log = { events: [], next: -1, before: 0, wanted: step };
    logs.set(id, log);
  }
  const read = (query: Query) => get<ThreadEventList>(`/api/managed-threads/${seg(id)}/events`, { ...query, type: types.join(","), limit: 100 }, signal);
  while (log.next >= 0) {
    const page = await read({ since: log.next });
    const after = log.events.at(-1)?.sequence ?? 0;
    log.events.push(...page.events.filter((e) => e.sequence > after));
    log.next = Math.max(log.next, page.nextSince, log.events.at(-1)?.sequence ?? 0);
    if (!page.hasMore) break;
  }
  while (log.before >= 0 && log.events.length < log.wanted) {
    const page = await read({ before: log.before });
    if (log.next < 0) log.next = page.nextSince;
    const first = log.events[0]?.sequence ?? Infinity;
    log.events.unshift(...page.events.filter((e) => e.sequence < first));
    log.before = page.hasMore && page.nextBefore ? page.nextBefore : -1;
  }
  if (log.events.length > log.wanted + step) { // of a page that is open for days
    log.events.splice(0, log.events.length - log.wanted);
    log.before = log.events[0]!.sequence;
  }
  return { events: [...log.events], whole: log.before < 0 };
}

/** Wants older events of a thread with the next read. */
function wantOlder(id: string): void {
  const log = logs.get(id);
  if (log) log.wanted = log.events.length + step;
}

export function ThreadView({ id }: { id: string }) {
  useEffect(() => watch(id), [id]);
  const mine = { on: (e: { subject?: string }) => e.subject === id };
  const thread = useLoad("thread:" + id, (signal) => get<ThreadBody>("/api/managed-threads/" + seg(id), {}, signal), mine);
  const log = useLoad("thread-log:" + id, (signal) => readLog(id, signal), { ...mine, pause: 250 });
  const queue = useLoad("thread-queue:" + id, (signal) => get<ThreadQueueBody>(`/api/managed-threads/${seg(id)}/queue`, { limit: 100 }, signal), mine);
  const [asking, setAsking] = useState("");
  const deciding = useRef<Deciding>(undefined);
  const t = thread.data;
  useTitle(t ? t.name || t.role || "Thread" : "Thread");
  const tab = queryOf("tab") || "conversation";
  if (!t) return thread.error ? <div class="page"><Failure error={thread.error} again={thread.reload} /></div> : <Waiting />;
  const ended = over.has(t.status);
  const reload = () => { thread.reload(); log.reload(); queue.reload(); };
  return <div class="page full">
    <header class="head">
      <div class="line"><h1><Text>{t.name || t.objective.split("\n", 1)[0]}</Text></h1><ID id={id} /><Copy text={id} label="Copy the id" />
        <State status={t.status} word={t.statusReason ? `${t.status}: ${t.statusReason}` : undefined} />
        <span class="push" />
        {!ended && may("threads.complete") && <button type="button" class="button" onClick={() => setAsking("complete")}>Complete&hellip;</button>}
        {!ended && may("threads.stop") && <button type="button" class="button" onClick={() => setAsking("stop")}>Stop&hellip;</button>}
        {ended && !t.continuedBy && <Copy text={`wardroom thread continue ${id} 'What to do now'`} label="Copy the command that goes on with it">Go on: CLI</Copy>}
      </div>
      <div class="line soft">{t.role && <span><Text>{t.role}</Text></span>}<span><Text>{t.agentType}</Text></span><span>turn {count(t.turnCount)}</span>
        <span>made <When at={t.createdAt} /></span>{t.startedAt && <span>runs for <Lasted from={t.startedAt} to={t.endedAt} /></span>}
        {t.executionId && <span>in <ID id={t.executionId} to={"/executions/" + t.executionId} /></span>}
        {t.continues && <span>goes on with <ID id={t.continues} to={"/threads/" + t.continues} /></span>}
        {t.continuedBy && <span>continued by <ID id={t.continuedBy} to={"/threads/" + t.continuedBy} /></span>}
        {t.usage && <span>{count(t.usage.inputTokens + t.usage.outputTokens)} tokens{t.usage.costUsd !== undefined ? `, $${t.usage.costUsd.toFixed(4)}` : ""}</span>}</div>
      <Tabs of="Thread" tabs={[{ key: "conversation", name: "Conversation" }, ...(t.workspace?.repo ? [{ key: "changes", name: "Changes" }] : []),
        ...(t.managedAgentId ? [{ key: "terminal", name: "Terminal" }] : []), { key: "memory", name: "Memory" }, { key: "workspace", name: "Workspace" }, { key: "events", name: "Events" }]} />
    </header>
    {thread.error && <Failure error={thread.error} old again={thread.reload} />}
    {tab === "conversation" && !ended && queue.error && !thread.error && !log.error && <Failure error={queue.error} old={queue.data !== undefined} again={queue.reload} />}
    {t.error && <div class="cause"><State status="failed" word={t.error.code} /> <Text>{t.error.message}</Text></div>}
    {tab === "conversation" && <Conversation thread={t} log={log.data} queue={queue.data} error={log.error} reload={reload} />}
    {tab === "changes" && <Changes thread={t} sent={reload} />}
    {tab === "terminal" && t.managedAgentId && <TerminalTab agent={t.managedAgentId} />}
    {tab === "memory" && <div tabIndex={0} class="scrolls two-columns"><ThreadDecisions thread={t} deciding={deciding} /><section><h2>Began with</h2>{t.preparation.contextFiles.length === 0 && <p class="soft">No files.</p>}
      {t.preparation.contextFiles.map((f) => <details key={f.path} class="file" open><summary><span class="mono">{reveal(f.path)}</span> <span class="soft">{bytes(f.bytes)}</span></summary><Markdown text={f.content ?? ""} label={f.path} /></details>)}</section>
      <section><h2>Summary</h2>{t.summary ? <Markdown text={t.summary} label="Summary" /> : <p class="soft">None yet.</p>}{t.completion && <><h2>Outcome</h2><Value value={{ state: t.completion.state, summary: t.completion.summary }} label="Outcome" markdown />
        {t.completion.artifacts.length > 0 && <ul>{t.completion.artifacts.map((a, i) => <li key={i}><span class="badge">{a.type}</span> <span class="mono">{reveal(a.value)}</span></li>)}</ul>}</>}</section></div>}
    {tab === "workspace" && <div tabIndex={0} class="scrolls">{t.workspace ? <WorkspaceFacts w={t.workspace as WorkspaceBody} /> : <Empty title="No workspace here">It is not reserved yet, or the agent works on a machine of its own.</Empty>}</div>}
    {tab === "events" && <div tabIndex={0} class="scrolls"><Read of={log}>{(told) => <>{(told.events.length > newest || !told.whole) && <p class="soft">The newest {newest} are here. From the first on, 100 at a time, they are shown by <Command text={`wardroom thread events ${id}`} /></p>}<ol class="journal">{told.events.slice(-newest).map((e) => <li key={e.sequence}><details><summary><span class="soft nums">{e.sequence}</span> <At at={e.timestamp} /> <strong class="mono">{reveal(e.type)}</strong></summary><Value value={e.data} label={e.type} /></details></li>)}</ol></>}</Read></div>}
    {asking === "stop" && <Confirm title="Stop this thread?" action="Stop the thread" danger close={() => setAsking("")} run={() => del(`/api/managed-threads/${seg(id)}`).then(reload)}><p>Its agent ends, and the thread is over. Its workspace stays for a time.</p></Confirm>}
    {asking === "complete" && <Confirm title="Complete this thread?" action="Complete" close={() => setAsking("")} run={() => post(`/api/managed-threads/${seg(id)}/complete`, {}).then(reload)}><p>The thread ends with what it has; the finish actions of its policy are done.</p></Confirm>}
  </div>;
}

interface Tool { event: ThreadEventRow; done?: Data }
interface Turn { key: string; began: string; inputs: ThreadEventRow[]; tools: Tool[]; said: ThreadEventRow[]; prompts: ThreadEventRow[]; end?: ThreadEventRow; notes: ThreadEventRow[] }

const inputOf = (e: ThreadEventRow): string => String((e.data as Data).inputId ?? "");

/** Folds events to turns. A message goes before the turn that answers it; what still waits is told by the queue. */
function turnsOf(events: ThreadEventRow[], waiting: ReadonlySet<string>): Turn[] {
  const turns: Turn[] = [];
  const inputs = new Map<string, ThreadEventRow>();
  let now: Turn | undefined;
  const open = (e: ThreadEventRow): Turn => {
    if (!now || now.end) {
      now = { key: String(e.sequence), began: e.timestamp, inputs: [], tools: [], said: [], prompts: [], notes: [] };
      turns.push(now);
    }
    return now;
  };
  const answers = (id: string, turn: Turn | undefined) => {
    const e = inputs.get(id);
    if (!e || !turn) return;
    inputs.delete(id);
    turn.inputs.push(e);
  };
  for (const e of events) {
    switch (e.type) {
      case "thread_output": open(e).said.push(e); break;
      case "thread_tool_running": open(e).tools.push({ event: e }); break;
      case "thread_tool_done": { const t = now?.tools.find((o) => !o.done && (o.event.data as Data).tool === (e.data as Data).tool); if (t) t.done = e.data as Data; break; }
      case "thread_input":
        if ((e.data as Data).state === "sent") open(e).inputs.push(e);
        else inputs.set(inputOf(e), e);
        break;
      case "thread_blocked": open(e).prompts.push(e); break;
      case "thread_turn_complete": open(e).end = e; answers(inputOf(e), now); break;
      case "thread_ready": case "thread_summary_updated": break;
      case "thread_status": {
        const word = String((e.data as Data).status);
        if (word === "input_turn") answers(inputOf(e), turns.find((t) => (t.end?.data as Data | undefined)?.turn === (e.data as Data).turn));
        else if (word === "input_withdrawn") inputs.delete(inputOf(e));
        else if (!/^(running|unblocked|ready|preparing|starting|finishing)$/.test(word)) open(e).notes.push(e);
        break;
      }
      default: open(e).notes.push(e);
    }
  }
  for (const [id, e] of inputs) if (!waiting.has(id)) { // its turn runs, or has not begun to be told
    if (now && !now.end) now.inputs.push(e);
    else turns.push({ key: "input" + e.sequence, began: e.timestamp, inputs: [e], tools: [], said: [], prompts: [], notes: [] });
  }
  return turns;
}

/** Lets who hears the page know what the agent answered, and that the thread ended. What was there when it was opened is no news. */
function useHeard(t: ThreadBody, turns: Turn[], read: boolean): void {
  const heard = useRef<{ id: string; turn: number; status: string } | undefined>(undefined);
  useEffect(() => {
    if (!read) return;
    const last = turns.findLast((turn) => turn.end);
    const before = heard.current;
    heard.current = { id: t.id, turn: last?.end?.sequence ?? 0, status: t.status };
    if (before?.id !== t.id) return;
    if (over.has(t.status) && t.status !== before.status) tell(`${t.status}: ${t.completion?.summary ?? ""}`);
    else if (heard.current.turn > before.turn) tell(`Turn ${String((last!.end!.data as Data).turn ?? "")}: ${failOf(last!)?.message ?? saidIn(last!)}`);
  }, [turns, t.status, read]);
}

function Conversation({ thread: t, log, queue, error, reload }: { thread: ThreadBody; log?: Told; queue?: ThreadQueueBody; error?: import("../api/client.ts").ApiError; reload: () => void }) {
  const waiting = useMemo(() => { // the queue may have been read before a turn that is told by now
    const answered = new Set(log?.events.filter((e) => e.type === "thread_turn_complete").map(inputOf));
    return queue?.inputs.filter((i) => i.state === "waiting" && (Boolean(i.attempt) || !answered.has(i.inputId))) ?? [];
  }, [log, queue]);
  const turns = useMemo(() => turnsOf(log?.events ?? [], new Set(waiting.map((i) => i.inputId))), [log, waiting]);
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const [all, setAll] = useState(false);
  useEffect(() => { const el = box.current; if (el && follow.current) el.scrollTop = el.scrollHeight; }, [turns, t.status, queue?.queued]);
  const ask = askOfThread(t);
  useHeard(t, turns, Boolean(log));
  const shown = all ? turns : turns.slice(-50);
  const older = () => { follow.current = false; wantOlder(t.id); reload(); };
  const ended = over.has(t.status);
  const sel = queryOf("sel");
  const told = sel !== "" && turns.some((turn) => turn.inputs.some((e) => inputOf(e) === sel));
  useEffect(() => { // a link to a message: what is older is read until it is there
    if (!sel || !log) return;
    if (!told) { if (!log.whole) older(); return; }
    follow.current = false;
    setAll(true);
    requestAnimationFrame(() => box.current?.querySelector(`[data-input="${CSS.escape(sel)}"]`)?.scrollIntoView({ block: "center" }));
  }, [sel, told, log?.events.length]);
  const first = log?.whole ? log.events.find((e) => e.type === "thread_input")?.sequence : undefined; // of the message that has the objective
  return <div class="conversation">
    <div class="talk-box" ref={box} tabIndex={0} role="region" aria-label="Conversation" onScroll={(e) => { const el = e.currentTarget; follow.current = el.scrollHeight - el.scrollTop - el.clientHeight < 60; }}>
      <article class="said you"><header><strong>Objective</strong><span class="push" /><span class="soft"><At at={t.createdAt} /></span></header><Markdown text={t.objective} label="Objective" /></article>
      {log && !log.whole && shown.length === turns.length && <button type="button" class="link" onClick={older}>Read what was earlier</button>}
      {shown.length < turns.length && <button type="button" class="link" onClick={() => setAll(true)}>Show {plural(turns.length - shown.length, "earlier turn")}</button>}
      {shown.map((turn) => <TurnView key={turn.key} turn={turn} objective={t.objective} first={first} />)}
      {error && <Failure error={error} again={reload} />}
      {!log && !error && <Waiting />}
      <AnswerBox ask={ask} keys done={reload} around={(box) => <article class="said asks-you">{ask && <header><State status="blocked" word="waits for you" /></header>}{box}</article>} />
      {t.status === "running" && <p class="soft line" role="status"><State status="running" word="works" /></p>}
      {ended && t.completion && <article class="said over"><header><State status={t.completion.state === "complete" ? "completed" : t.completion.state} word={t.completion.state} /><span class="push" /><span class="soft">{t.endedAt && <At at={t.endedAt} />}</span></header><Markdown text={t.completion.summary} label="Outcome" />
        {t.completion.changes && t.completion.changes.fileCount > 0 && <p class="soft">{plural(t.completion.changes.fileCount, "file")} changed, <span class="added">+{count(t.completion.changes.insertions)}</span> <span class="removed">&minus;{count(t.completion.changes.deletions)}</span>, {plural(t.completion.changes.commitCount, "commit")}</p>}</article>}
    </div>
    {!ended && may("threads.send") && <Composer id={t.id} waiting={waiting} more={queue?.hasMore ? queue.queued - queue.inputs.filter((i) => i.state === "waiting").length : 0} sent={reload} />}
  </div>;
}

/** A message to the agent. The first one is the objective, with what the product says of memory and outcome: folded. */
function Message({ e, objective }: { e: ThreadEventRow; objective?: string }) {
  const d = e.data as Data;
  const text = String(d.text ?? "");
  const head = <><strong><Text>{String(d.createdBy ?? e.principal ?? "")}</Text></strong>{d.truncated === true && <span class="badge">cut</span>}<span class="push" /><span class="soft"><At at={e.timestamp} /></span></>;
  if (objective !== undefined && text.startsWith(objective)) return text.length === objective.length ? null : <details class="note"><summary class="line soft">The objective as it was sent{d.truncated === true ? ", cut" : ""}</summary><Pre text={text} label="The objective as it was sent" /></details>;
  const chosen = inputOf(e) !== "" && queryOf("sel") === inputOf(e);
  return <article class={"said you" + (chosen ? " chosen" : "")} data-input={inputOf(e)} aria-current={chosen ? "true" : undefined}><header>{head}</header><Markdown text={text} label="Message" /></article>;
}

/** What the agent said in a turn. */
function saidIn(turn: Turn): string {
  const output = (turn.end?.data as Data | undefined)?.output;
  return typeof output === "string" ? output : turn.said.map((e) => String((e.data as Data).text ?? "")).join("");
}

const failOf = (turn: Turn): { code?: string; message?: string } | undefined => (turn.end?.data as Data | undefined)?.error as { code?: string; message?: string } | undefined;

function TurnView({ turn, objective, first }: { turn: Turn; objective: string; first?: number }) {
  const end = turn.end?.data as Data | undefined;
  const said = saidIn(turn);
  const fail = failOf(turn);
  const tools = turn.tools.reduce((m, t) => m.set(toolOf(t), (m.get(toolOf(t)) ?? 0) + 1), new Map<string, number>());
  const failed = turn.tools.filter((t) => failedTool(t)).length;
  return <>
    {turn.inputs.map((e) => <Message key={e.sequence} e={e} objective={e.sequence === first ? objective : undefined} />)}
    {turn.notes.map((e) => <p key={e.sequence} class="note soft"><At at={e.timestamp} /> {noteOf(e)}</p>)}
    {(said || turn.tools.length > 0 || turn.prompts.length > 0 || turn.end) && <article class="said agent">
      <header>{end ? <strong>Turn {String(end.turn ?? "")}</strong> : <State status="running" word="works" />}{end && <span class="soft nums">{lasted(Number(end.durationMs ?? 0))}</span>}
        {end?.interrupted === true && <span class="badge">interrupted</span>}{end?.refused === true && <span class="badge">refused</span>}<span class="push" /><span class="soft"><At at={turn.end?.timestamp ?? turn.began} /></span></header>
      {tools.size > 0 && <details class="tools"><summary>{[...tools].map(([name, n]) => <span key={name} class="badge"><Text>{name}</Text>{n > 1 ? " \u00d7" + n : ""}</span>)}{failed > 0 && <span class="hot">{failed} failed</span>}</summary>
        {turn.tools.map((t) => <div key={t.event.sequence} class="card"><div class="line"><strong><Text>{toolOf(t)}</Text></strong>{failedTool(t) && <State status="failed" word={String(t.done!.outcome)} />}{t.done?.durationMs !== undefined && <span class="soft nums">{lasted(Number(t.done.durationMs))}</span>}<span class="push" /><span class="soft"><At at={t.event.timestamp} /></span></div><ToolInput input={(t.event.data as Data).input} label="Input" /></div>)}</details>}
      {turn.prompts.map((e) => { const d = e.data as Data; const p = d.prompt as Prompt | undefined; return d.autoAnswered === true ? <p key={e.sequence} class="note soft">{p?.tool ? <Text>{p.tool}</Text> : "a prompt"}: answered by {ruleOf(d.ruling as Ruling | undefined)}: <strong><Text>{String(d.answer ?? "")}</Text></strong></p> : <p key={e.sequence} class="note soft">asked: <Text>{p?.text ?? "a login"}</Text></p>; })}
      {fail && <div class="cause"><State status="failed" word={fail.code ?? "failed"} /> <Text>{fail.message ?? ""}</Text></div>}
      {said && <Markdown text={said} label="What the agent said" />}
    </article>}
  </>;
}

interface Ruling { by?: string; rule?: string; reason?: string }

/** Which rule answered a prompt, and whose it is. */
function ruleOf(r?: Ruling) {
  return <>a rule{r?.by && r.by !== "person" ? ` of the ${r.by}` : ""}{r?.rule && <> <span class="mono"><Text>{r.rule}</Text></span></>}{r?.reason && <> (<Text>{r.reason}</Text>)</>}</>;
}

const toolOf = (t: Tool): string => String((t.event.data as Data).tool ?? "tool");
const failedTool = (t: Tool): boolean => t.done !== undefined && t.done.outcome !== "done";

function noteOf(e: ThreadEventRow) {
  const d = e.data as Data;
  switch (e.type) {
    case "thread_started": return <>its agent <Text>{String(d.agentType ?? "")}</Text> was started{d.restart ? " again" : ""} on <Text>{String(d.runtime ?? "")}</Text></>;
    case "thread_idle": return <>idle for {lasted(Number(d.idleMs ?? 0))}</>;
    case "thread_completed": return <>completed</>;
    case "thread_failed": return <>failed: <Text>{String((d.error as Data | undefined)?.message ?? "")}</Text></>;
    case "thread_stopped": return <>stopped: <Text>{String(d.reason ?? "")}</Text></>;
    case "thread_status": if (d.status === "answered") { const r = d.ruling as Data | undefined; return <>answered <strong><Text>{String(r?.answer ?? "")}</Text></strong> by <Text>{String(r?.person ?? e.principal ?? "")}</Text></>; }
    // falls through
    default: return <><Text>{String(d.status ?? e.type).replaceAll("_", " ")}</Text>{d.reason ? <>: <Text>{String(d.reason)}</Text></> : null}</>;
  }
}

/** The message that was sent last to a thread, as a look at another tab or screen leaves it. */
interface Sending { text: string; answer: Promise<unknown>; over: boolean }

const sendings = newKept<Sending>(20);

function Composer({ id, waiting, more, sent }: { id: string; waiting: ThreadQueueBody["inputs"]; more: number; sent: () => void }) {
  const draft = "draft:" + id;
  const [drafts] = useState(tabDrafts);
  const [text, setText] = useState(() => drafts.get(draft) ?? "");
  const a = useAct();
  const once = useOnce(drafts, draft);
  const latest = useRef(text);
  latest.current = text;
  const [isKept, setKept] = useState(true);
  const write = (v: string) => {
    if (!v && !a.busy) once.over(); // given up: the same words, written later, are another message
    setText(v);
    setKept(drafts.set(draft, v || undefined));
  };
  const awaits = (one: Sending) => void a.act(() => one.answer).then((ok) => {
    one.over = true;
    if (ok) { once.over(); write(writtenSince(one.text, latest.current)); sent(); }
  });
  useEffect(() => { const one = sendings.get(id); if (one && !one.over) awaits(one); }, []);
  const send = () => {
    if (!text.trim() || a.busy) return;
    const answer = post(`/api/managed-threads/${seg(id)}/send`, { message: text }, once.keyOf(text));
    answer.then(() => once.over(), once.over);
    const one = { text, answer, over: false };
    sendings.set(id, one);
    awaits(one);
  };
  return <form class="composer" onSubmit={(e) => { e.preventDefault(); send(); }}>
    {waiting.length > 0 && <details open class="queue"><summary>{plural(waiting.length + more, "message")} queued</summary><ul>{waiting.map((i) => <Queued key={i.inputId} id={id} input={i} done={(withdrawn) => { if (withdrawn && i.message === text) once.over(); sent(); }} />)}</ul></details>}
    {a.error && <Failure error={a.error} />}{!isKept && <NotKept />}
    <label><span class="sr">Message</span><textarea rows={2} placeholder="Message to the agent" value={text} onInput={(e) => write(e.currentTarget.value)}
      onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); send(); } }} /></label>
    <button type="submit" class="button main" disabled={a.busy || !text.trim()}>Send <kbd>Ctrl+Enter</kbd></button>
  </form>;
}

function Queued({ id, input, done }: { id: string; input: ThreadQueueBody["inputs"][number]; done: (withdrawn: boolean) => void }) {
  const a = useAct();
  const line = useFocusOnward<HTMLLIElement>((li) => li.closest("form")?.querySelector("textarea"));
  return <li ref={line}><span class="clip"><Text>{input.message}</Text></span> <span class="soft"><When at={input.createdAt} /></span>
    <button type="button" class="link" disabled={a.busy} onClick={() => void a.act(() => del(`/api/managed-threads/${seg(id)}/queue/${seg(input.inputId)}`)).then(done)}>withdraw</button>{a.error && <span class="hot"> <Text>{a.error.message}</Text></span>}</li>;
}
