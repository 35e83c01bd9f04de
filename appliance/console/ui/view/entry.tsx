// One entry of a timeline in full: what was asked, what came of it, and when.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { get, post, seg } from "../api/client.ts";
import type { EventRow, ExecutionBody, ExecutionRetried, QuestionBody, Task } from "../api/types.gen.ts";
import { AnswerBox } from "../part/answerbox.tsx";
import { Confirm } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Value, indented } from "../part/json.tsx";
import { Failure, Waiting } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Text, bytes, count } from "../part/text.tsx";
import { At, lasted } from "../part/time.tsx";
import { onward } from "../route.ts";
import { askOfQuestion } from "../store/ask.ts";
import { readJournal } from "../store/journal.ts";
import { useLoad } from "../store/load.ts";
import { may } from "../store/session.ts";
import { addressee, type Node } from "../store/timeline.ts";

type Data = Record<string, unknown>;

/** The facts of an entry that its journal has. */
function factsOf(node: Node, events: EventRow[]): { asked?: unknown; answer?: unknown; confidence?: number; fallback?: boolean } {
  const e = node.entry!;
  const out: ReturnType<typeof factsOf> = {};
  for (const ev of events) {
    const d = ev.data as Data;
    if (e.kind === "step" && ev.type === "step.completed" && d.step === e.id) {
      out.answer = d.result;
      if (typeof d.confidence === "number") out.confidence = d.confidence;
      out.fallback = d.fallback === true;
    }
    if ((e.kind === "message" || e.kind === "escalation") && d.messageId === e.id) {
      if (ev.type === "message.sent") out.asked = d.content;
      if (ev.type === "message.replied") out.answer = d.content;
    }
    if (e.kind === "question") {
      const q = d.question as QuestionBody | undefined;
      if (ev.type === "question.asked" && q?.id === e.id) out.asked = q.text;
      if (ev.type === "question.answered" && d.questionId === e.id) out.answer = d.answer;
    }
  }
  return out;
}

export function Entry({ execution, node, top, critical, version, close }: {
  execution: ExecutionBody; node: Node; top: Node[]; critical: boolean; version: number; close: () => void;
}) {
  const e = node.entry!;
  const id = execution.executionId;
  const ofTask = e.kind === "task";
  const task = useLoad(ofTask ? `task:${id}:${e.id}` : "", (signal) => get<Task>(`/api/executions/${seg(id)}/tasks/${seg(e.id)}`, {}, signal), { on: (ev) => ev.subject === id });
  const journal = useLoad(ofTask ? "" : "journal:" + id, (signal) => readJournal(id, signal), { on: (ev) => ev.subject === id });
  const question = useLoad(e.kind === "question" ? "question:" + e.id : "", (signal) => get<QuestionBody>("/api/questions/" + seg(e.id), {}, signal), { on: (ev) => ev.subject === id });
  const facts = journal.data ? factsOf(node, journal.data.events) : {};
  const [rerun, setRerun] = useState(false);
  const over = ["completed", "failed", "cancelled"].includes(execution.status);
  const t = task.data;
  void version;
  return <aside class="detail" aria-label="Selected entry">
    <header>
      <State status={e.status} />
      <h2><Text>{node.title}</Text></h2>
      <span class="push" />
      <Copy text={() => location.href} label="Copy a link to this entry" />
      <button type="button" class="quiet" aria-label="Close" onClick={close}>&times;</button>
    </header>
    <div class="body">
      <dl class="facts">
        <Fact name="Kind"><span>{e.kind}{e.type ? ", " + e.type : ""}</span>{critical && <span class="badge" title="It decided when the execution ended.">critical path</span>}</Fact>
        {e.step && <Fact name="Step"><span class="mono">{e.step}</span></Fact>}
        {e.role && <Fact name="Role"><Text>{e.role}</Text></Fact>}
        {e.to && <Fact name="To"><Text>{addressee(e)}</Text></Fact>}
        {e.agentId && <Fact name="Agent"><Text>{e.name || ""}</Text> <ID id={e.agentId} to={"/agents/" + e.agentId} /></Fact>}
        {e.threadId && <Fact name="Thread"><ID id={e.threadId} to={"/threads/" + e.threadId} /></Fact>}
        {e.kind === "thread" && <Fact name="Thread"><ID id={e.id} to={"/threads/" + e.id} /></Fact>}
        <Fact name="Began"><At at={e.startedAt} /></Fact>
        <Fact name={node.running ? "Goes on since" : "Took"}>{lasted(node.to - node.from)}</Fact>
        {e.attempt && e.attempt > 1 ? <Fact name="Attempt">{e.attempt}</Fact> : null}
        {facts.confidence !== undefined && <Fact name="Confidence">{facts.confidence}{facts.fallback ? ", by fallback" : ""}</Fact>}
        {e.ruling && <Fact name="Answer"><Text>{e.ruling.answer}</Text> by <Text>{[e.ruling.by, e.ruling.rule, e.ruling.person].filter(Boolean).join(" ")}</Text></Fact>}
        {e.ruling?.reason && <Fact name="Reason"><Text>{e.ruling.reason}</Text></Fact>}
        {e.verdict && <Fact name="Verdict"><State status={e.verdict} /></Fact>}
        {e.usage && <Fact name="Used">{count(e.usage.inputTokens + e.usage.outputTokens)} tokens{e.usage.costUsd !== undefined ? `, $${e.usage.costUsd.toFixed(4)}` : ""}{e.usage.model ? " (" + e.usage.model + ")" : ""}</Fact>}
      </dl>
      {e.detail && <section><h3>{node.failed > 0 ? "Why" : "Detail"}</h3><p><Text>{e.detail}</Text></p></section>}
      {facts.asked !== undefined && <section><h3>Asked</h3><Asked value={facts.asked} /></section>}
      {t && <TaskAsked task={t} input={execution.input} />}
      <AnswerBox key={node.key} ask={e.kind === "question" && question.data?.status === "open" ? askOfQuestion(question.data) : undefined} done={question.reload} />
      {e.kind === "question" && question.data?.answeredBy && <p class="soft">answered by <Text>{question.data.answeredBy}</Text></p>}
      {facts.answer !== undefined && <section><h3>{e.kind === "step" ? "Result" : "Answer"}</h3><Value value={facts.answer} label="Answer" markdown /></section>}
      {t?.result !== undefined && <section><h3>Answer</h3><Value value={t.result} label="Answer" markdown /></section>}
      {t?.error && <section><h3>Error</h3><p><strong class="mono">{t.error.code}</strong> <Text>{t.error.message}</Text></p></section>}
      {t && <Attempts task={t} />}
      {journal.error && <Failure error={journal.error} again={journal.reload} />}
      {question.error && !journal.error && <Failure error={question.error} old={question.data !== undefined} again={question.reload} />}
      {task.error && <Failure error={task.error} old={Boolean(t)} again={task.reload} />}
      {(ofTask ? task.first : journal.first) && <Waiting />}
      {journal.data && !journal.data.whole && <p class="soft">The journal is longer than what is read here; the tab Journal has all of it.</p>}
      {e.kind === "step" && over && may("executions.create") && <p><button type="button" class="button" onClick={() => setRerun(true)}>Run again from here&hellip;</button></p>}
    </div>
    {rerun && <Confirm title={"Run again from step " + e.id} action="Run again" close={() => setRerun(false)}
      run={(key) => post<ExecutionRetried>(`/api/executions/${seg(id)}/rerun`, { fromStep: e.id }, key).then(onward((r) => "/executions/" + r.newExecutionId))}>
      <p>A new execution begins with step <strong class="mono">{e.id}</strong>. The results of these steps are kept as they are:</p>
      <ul>{keptSteps(top, e.id).map((n) => <li key={n.key}><span class="mono">{n.entry!.id}</span> <Text>{n.title}</Text></li>)}</ul>
      {keptSteps(top, e.id).length === 0 && <p class="soft">None: everything runs anew.</p>}
    </Confirm>}
  </aside>;
}

/** The task in words first; what the facts above say already is left out. */
function Asked({ value }: { value: unknown }) {
  const o = value as Data | null;
  if (!o || typeof o !== "object" || typeof o.task !== "string") return <Value value={value} label="What was asked" markdown />;
  const { task, role: _role, step: _step, type: _type, ...rest } = o;
  return <><Value value={task} label="What was asked" markdown />{Object.keys(rest).length > 0 && <Value value={rest} label="What was asked, the rest" />}</>;
}

/** What a task's agent was asked, as it was sent. */
function TaskAsked({ task: t, input }: { task: Task; input: unknown }) {
  const a = t.asked;
  if (!a) return <section><h3>Asked</h3><p class="soft">As it was sent it was not kept: the execution began before this version, or a rerun took the task over. The execution's input:</p><Asked value={input} /></section>;
  if (a.omittedBytes) return <section><h3>Asked</h3><p class="soft">It has {bytes(a.omittedBytes)}, which is too much to be kept.</p></section>;
  return <section><h3>Asked, as it was sent <Copy text={() => indented(a)} label="Copy what was asked" /></h3><Asked value={a.input ?? null} />
    {isFilled(a.context) && <details><summary>Beside it: what the agent was told of earlier</summary><Value value={a.context} label="Context" markdown /></details>}</section>;
}

const isFilled = (v: unknown): boolean => v !== undefined && v !== null && !(typeof v === "object" && Object.keys(v).length === 0);

/** Every attempt at a task, and answers that came too late. */
function Attempts({ task: t }: { task: Task }) {
  return <section><h3>Attempts</h3><ol class="plain attempts">{t.attempts.map((a) => <li key={a.attempt}><span class="nums soft">{a.attempt}</span> <State status={a.status} /> <Text>{a.agentName ?? ""}</Text> <ID id={a.agentId} to={"/agents/" + a.agentId} /> <span class="soft nums"><At at={a.startedAt} />, {lasted(a.duration)}</span>
    {a.error && <div><strong class="mono">{a.error.code}</strong> <Text>{a.error.message}</Text>{a.retry && <span class="soft"> It was to be handed out again.</span>}</div>}</li>)}</ol>
    {(t.late?.length ?? 0) > 0 && <><h3>Came too late</h3><ol class="plain">{t.late!.map((l, i) => <li key={i}>attempt {l.attempt} of <ID id={l.agentId} to={"/agents/" + l.agentId} /> <span class="soft"><At at={l.at} /></span> <Text>{l.reason}</Text></li>)}</ol></>}</section>;
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

/** The steps at the top that lie before the one a rerun begins with. */
function keptSteps(top: Node[], from: string): Node[] {
  const steps = top.filter((n) => n.entry?.kind === "step");
  const at = steps.findIndex((n) => n.entry!.id === from || from.startsWith(n.entry!.id + ".") || from.startsWith(n.entry!.id + "/"));
  return at < 0 ? [] : steps.slice(0, at);
}

