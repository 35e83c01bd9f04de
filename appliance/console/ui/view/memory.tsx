// What earlier work came to, by full text, and what was decided in it.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, seg } from "../api/client.ts";
import type { DecisionList, ExperienceBody, ExperienceList, ThreadBody } from "../api/types.gen.ts";
import { useAct, useKeyOf } from "../part/dialog.tsx";
import { ID } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Markdown } from "../part/markdown.tsx";
import { Empty, Failure, NotKept, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice, Filter } from "../part/tabs.tsx";
import { Text, count, writtenSince } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { useTyped } from "../part/typed.ts";
import { queryOf, setQuery } from "../route.ts";
import { tabDrafts } from "../store/draft.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";

const outcomes: [string, string][] = [["", "any"], ["successful", "successful"], ["partial", "partial"], ["failed", "failed"]];
const size = 100;

export function MemoryView() {
  useTitle("Memory");
  const [q, outcome, role, repo, sel] = [queryOf("q"), queryOf("outcome"), queryOf("role"), queryOf("repo"), queryOf("sel")];
  const [typed, setTyped] = useTyped("q", "sel");
  // With words the best come first, and pages go by their number; without, by cursor.
  const l = usePages(`memory?${q}&${outcome}&${role}&${repo}`, async (cursor, signal) => {
    const offset = q && cursor ? Number(cursor) : undefined;
    const page = await get<ExperienceList>("/api/managed-threads/experiences", { q, outcome, role, repo, limit: size, ...(q ? { offset } : { cursor }) }, signal);
    return q ? { ...page, nextCursor: page.hasMore ? String((offset ?? 0) + page.experiences.length) : undefined } : page;
  }, (p) => p.experiences, { on: (e) => e.topics.includes("threads") });
  const listed = l.rows?.find((x) => x.id === sel);
  const alone = useLoad(sel && l.rows && !listed ? "experience:" + sel : "", (signal) => get<ExperienceBody>("/api/managed-threads/experiences/" + seg(sel), {}, signal)); // a link to what lies further down
  const chosen = listed ?? alone.data;
  const filtered = q || outcome || role || repo;
  return <div class="page full">
    <header class="head"><div class="line"><h1>Memory</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}</div>
      <div class="bar"><Filter value={typed} set={setTyped} label="Words" /><Choice label="Outcome" value={outcome} set={(o) => setQuery({ outcome: o })} options={outcomes} />
        {role && <button type="button" class="chip" aria-pressed="true" onClick={() => setQuery({ role: "" })}>role <Text>{role}</Text> &times;</button>}{repo && <button type="button" class="chip" aria-pressed="true" onClick={() => setQuery({ repo: "" })}>repository <Text>{repo}</Text> &times;</button>}
        {filtered && <button type="button" class="link" onClick={() => { setTyped(""); setQuery({ q: "", outcome: "", role: "", repo: "" }); }}>clear</button>}</div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {!l.rows && !l.error && <Waiting />}
    {alone.error && <Failure error={alone.error} again={alone.reload} />}
    {l.rows?.length === 0 && !chosen && (filtered ? <Empty title="Nothing fits" /> : <Empty title="Nothing is remembered yet">What a thread's work came to is kept when it ends, and given to later threads that it helps.</Empty>)}
    {l.rows && (l.rows.length > 0 || chosen) && <div class={"split" + (chosen ? " two" : "")}><div class="pane"><Rows label="Experiences" of={l.of} rows={l.rows} id={(x) => x.id} pick={(x) => setQuery({ sel: x.id === sel ? "" : x.id })} chosen={sel} total={l.total} more={l.more} rest={l.full && "wardroom thread experiences --all"} columns={[
      { head: "Outcome", cell: (x) => <State status={x.outcome === "successful" ? "completed" : x.outcome} word={x.outcome} /> },
      { head: "Objective", class: "grow", cell: (x) => <Text>{x.objective.split("\n", 1)[0]}</Text> },
      { head: "Role", class: "mid", cell: (x) => <Text>{x.role}</Text> }, { head: "Repository", class: "wide", cell: (x) => <Text>{x.repo}</Text> },
      { head: "Made", cell: (x) => <When at={x.updatedAt ?? x.createdAt} /> }]} /></div>{chosen && <Detail x={chosen} />}</div>}
  </div>;
}

function Detail({ x }: { x: ExperienceBody }) {
  const d = useLoad("decisions:" + x.executionId, (signal) => get<DecisionList>(`/api/managed-threads/executions/${seg(x.executionId)}/shared-decisions`, { limit: 100 }, signal));
  return <section class="detail" aria-label="Selected experience"><header><State status={x.outcome === "successful" ? "completed" : x.outcome} word={x.outcome} /><h2><Text>{x.objective.split("\n", 1)[0]}</Text></h2><span class="push" /><button type="button" class="quiet" aria-label="Close" onClick={() => setQuery({ sel: "" })}>&times;</button></header>
    <div class="body" tabIndex={0}><dl class="facts"><div><dt>Execution</dt><dd><ID id={x.executionId} to={"/executions/" + x.executionId} /></dd></div>{x.threadId && <div><dt>Thread</dt><dd><ID id={x.threadId} to={"/threads/" + x.threadId} /></dd></div>}
      {x.role && <div><dt>Role</dt><dd><button type="button" class="link" onClick={() => setQuery({ role: x.role })}><Text>{x.role}</Text></button></dd></div>}{x.repo && <div><dt>Repository</dt><dd><button type="button" class="link" onClick={() => setQuery({ repo: x.repo })}><Text>{x.repo}</Text></button></dd></div>}
      {x.count > 1 && <div><dt>Made</dt><dd>{count(x.count)} times</dd></div>}</dl>
      <section><h3>Objective</h3><Markdown text={x.objective} label="Objective" /></section><section><h3>What it came to</h3><Markdown text={x.summary} label="Summary" /></section>
      <section><h3>Details</h3><Value value={x.details} label="Details" /></section>
      <section><h3>Decided in its execution</h3>{d.error && d.error.status !== 404 && <Failure error={d.error} again={d.reload} />}{d.error?.status === 404 && <p class="soft">Its execution is not stored any more.</p>}{d.first && <Waiting />}{d.data && <Decisions list={d.data} />}</section></div></section>;
}

/** The decision that was sent last, as a look at another tab of the thread leaves it. */
export interface Deciding { text: string; answer: Promise<unknown>; over: boolean }

/** What was decided in the execution of a thread, and a place to write a decision down for later threads. */
export function ThreadDecisions({ thread: t, deciding }: { thread: ThreadBody; deciding: { current: Deciding | undefined } }) {
  const sel = queryOf("sel");
  const d = useLoad("thread-decisions:" + t.id + " " + sel, (signal) => readDecisions(t.id, sel, signal), { on: (e) => e.subject === t.id || e.data.executionId === t.executionId });
  const draft = "decision:" + t.id;
  const [drafts] = useState(tabDrafts);
  const [text, setText] = useState(() => drafts.get(draft) ?? "");
  const [isKept, setKept] = useState(true);
  const keyOf = useKeyOf();
  const a = useAct();
  const latest = useRef(text);
  latest.current = text;
  const write = (v: string) => { setText(v); setKept(drafts.set(draft, v || undefined)); };
  const awaits = (one: Deciding) => void a.act(() => one.answer).then((ok) => {
    one.over = true;
    if (ok) { write(writtenSince(one.text, latest.current)); d.reload(); }
  });
  useEffect(() => { if (deciding.current && !deciding.current.over) awaits(deciding.current); }, []);
  const add = () => {
    if (a.busy) return;
    const body = { category: "decision", summary: text.trim() };
    awaits(deciding.current = { text, answer: post(`/api/managed-threads/${seg(t.id)}/shared-decisions`, body, keyOf(body)), over: false });
  };
  return <section><h2>Decided</h2>{d.error && <Failure error={d.error} old={Boolean(d.data)} again={d.reload} />}{d.first && <Waiting />}{d.data && <Decisions list={d.data} sel={sel} />}
    {may("threads.decide") && <form class="saying" onSubmit={(e) => { e.preventDefault(); if (text.trim()) add(); }}><label><span>Write down a decision: later threads begin with it</span><textarea rows={2} value={text} onInput={(e) => { write(e.currentTarget.value); a.clear(); }} /></label>{a.error && <Failure error={a.error} />}{!isKept && <NotKept />}<button type="submit" class="button" disabled={a.busy || !text.trim()}>Write it down</button></form>}</section>;
}

/** Reads the decisions of a thread, the newest at first, as far as the one that is looked for. */
async function readDecisions(thread: string, sel: string, signal: AbortSignal): Promise<DecisionList> {
  const read = (cursor?: string) => get<DecisionList>(`/api/managed-threads/${seg(thread)}/shared-decisions`, { limit: 100, cursor }, signal);
  const list = await read();
  while (sel && list.hasMore && list.decisions.length < 2000 && !list.decisions.some((d) => d.id === sel)) {
    const next = await read(list.nextCursor);
    list.decisions.push(...next.decisions);
    [list.hasMore, list.nextCursor] = [next.hasMore, next.nextCursor];
  }
  return list;
}

/** Decisions, those that people wrote told apart. */
function Decisions({ list, sel }: { list: DecisionList; sel?: string }) {
  const chosen = useRef<HTMLLIElement>(null);
  const there = list.decisions.some((d) => d.id === sel);
  useEffect(() => { if (there) chosen.current?.scrollIntoView({ block: "nearest" }); }, [there, sel]);
  if (list.decisions.length === 0) return <p class="soft">None.</p>;
  return <><ol class="plain">{list.decisions.map((d) => <li key={d.id} id={d.id} ref={d.id === sel ? chosen : undefined} class={d.id === sel ? "chosen" : undefined} aria-current={d.id === sel ? "true" : undefined}><div class="line"><span class="badge"><Text>{d.category.replaceAll("_", " ")}</Text></span><span class="soft">by <Text>{d.createdBy}</Text></span><span class="push" /><When at={d.updatedAt ?? d.createdAt} /></div><Markdown text={d.summary} label="Decision" /></li>)}</ol>
    {list.hasMore && <p class="soft">{count(list.total - list.decisions.length)} older ones are not shown.</p>}</>;
}
