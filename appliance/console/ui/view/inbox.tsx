import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, seg } from "../api/client.ts";
import type { ExecutionBody, QuestionBody } from "../api/types.gen.ts";
import { AnswerBox } from "../part/answerbox.tsx";
import { Several } from "../part/severalasks.tsx";
import { ID } from "../part/id.tsx";
import { Empty, Failure, Waiting } from "../part/notice.tsx";
import { Icon } from "../part/icon.tsx";
import { Choice } from "../part/tabs.tsx";
import { State } from "../part/state.tsx";
import { Text, count } from "../part/text.tsx";
import { When, roughly, tick } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { href, place, queryOf, setQuery } from "../route.ts";
import { answeredBy, askOfQuestion, changesInbox, readInbox, type Ask } from "../store/ask.ts";
import { inboxCount } from "../store/counts.ts";
import { useLoad } from "../store/load.ts";

const icons: Record<string, string> = { approval: "tool", question: "question", login: "login", message: "message" };

export function InboxView() {
  useTitle("Inbox");
  const inbox = useLoad("inbox", readInbox, { on: changesInbox, pause: 100 });
  const kind = queryOf("kind");
  const execution = queryOf("execution");
  const asks = (inbox.data?.asks ?? []).filter((a) => (!kind || a.kind === kind) && (!execution || a.executionId === execution));
  const sel = queryOf("ask");
  const at = asks.findIndex((a) => a.key === sel);
  const chosen = at >= 0 ? asks[at] : undefined;
  const wide = innerWidth > 900;
  // The first is chosen where both fit. What was chosen stays until it is closed, even when it is answered elsewhere.
  const [last, setLast] = useState<Ask | undefined>();
  useEffect(() => { if (chosen) setLast(chosen); }, [chosen]);
  useEffect(() => {
    if (inbox.data) inboxCount.value = inbox.data.total;
  }, [inbox.data]);
  useEffect(() => { if (!sel && wide && asks[0]) setQuery({ ask: asks[0].key }); }, [sel, wide, asks[0]?.key]);
  // A link to what waits no more, or lies behind what is read here, shows it all the same, where it can be read by its id.
  const linked = useLoad(sel.startsWith("q_") && !chosen && inbox.data && last?.key !== sel ? "question:" + sel : "", (signal) => get<QuestionBody>("/api/questions/" + seg(sel), {}, signal), { on: changesInbox });
  const other = useMemo(() => linked.data && askOfQuestion(linked.data), [linked.data]);
  const open = chosen ?? (linked.data?.status === "open" ? other : undefined);
  const gone = sel && !open && inbox.data ? last?.key === sel ? last : other : undefined;
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const [several, setSeveral] = useState<Ask[]>([]);
  const chosenOnes = asks.filter((a) => marked.has(a.key)); // what was answered meanwhile is none of them any more
  const mark = (key: string) => setMarked((s) => { const n = new Set(s); if (!n.delete(key)) n.add(key); return n; });
  const pick = (i: number) => { if (asks[i]) setQuery({ ask: asks[i]!.key }, wide); };
  const list = useRef<HTMLUListElement>(null);
  const from = useRef(""); // what is gone on from
  useLayoutEffect(() => { // what had the focus went with it
    if (!from.current || from.current === sel) return;
    from.current = "";
    if (document.activeElement === document.body) (list.current?.querySelector<HTMLElement>("a[aria-current]") ?? document.getElementById("main"))?.focus({ preventScroll: true });
  });
  useEffect(() => {
    const press = (e: Event) => {
      const d = (e as CustomEvent<string>).detail;
      if (d === "mark") {
        const key = place.peek().query.get("ask") ?? "";
        if (asks.some((a) => a.key === key)) mark(key);
        return;
      }
      if (d !== "next" && d !== "before") return;
      const now = asks.findIndex((a) => a.key === place.peek().query.get("ask")); // a key may come before what the last one chose is drawn
      const i = Math.min(asks.length - 1, Math.max(0, now + (d === "next" ? 1 : -1)));
      pick(i);
      requestAnimationFrame(() => list.current?.querySelectorAll("a")[i]?.focus());
    };
    addEventListener("wardroom-key", press);
    return () => removeEventListener("wardroom-key", press);
  });
  return <div class="page full">
    <header class="head"><div class="line"><h1>Inbox</h1>{inbox.data && <span class="soft nums">{count(inbox.data.total)} open{inbox.data.total > inbox.data.asks.length ? `, ${count(inbox.data.asks.length)} of them here` : ""}</span>}<span class="push" />
      {chosenOnes.length > 0 && <><span class="nums">{count(chosenOnes.length)} selected</span><button type="button" class="button main" onClick={() => setSeveral(chosenOnes)}>Answer them&hellip;</button><button type="button" class="link" onClick={() => setMarked(new Set())}>none</button></>}
      {execution && <button type="button" class="chip" aria-pressed="true" onClick={() => setQuery({ execution: "", ask: "" })}>one execution &times;</button>}
      <Choice label="Kind" value={kind} set={(k) => setQuery({ kind: k, ask: "" })} options={[["", "all"], ["approval", "approvals"], ["question", "questions"], ["message", "messages"], ["login", "logins"]]} /></div></header>
    {inbox.error && <Failure error={inbox.error} old={Boolean(inbox.data)} again={inbox.reload} />}
    {inbox.first && <Waiting />}
    {linked.error && <Failure error={linked.error} />}
    {inbox.data && asks.length === 0 && !gone && !open && <Empty title="Nothing waits for you">Questions of agents, their approvals and logins come here by themselves.</Empty>}
    {(asks.length > 0 || gone || open) && <div class={"split" + (sel ? " two" : "")}>
      <ul class="asks pane" ref={list} aria-label="What waits">
        {asks.map((a) => <li key={a.key} class={marked.has(a.key) ? "marked" : ""}><label class="mark"><input type="checkbox" checked={marked.has(a.key)} onChange={() => mark(a.key)} /><span class="sr">Select {a.who}: <Text>{firstLine(a.text)}</Text></span></label><a href={href("/inbox?" + new URLSearchParams({ ...(kind && { kind }), ...(execution && { execution }), ask: a.key }))} aria-current={a.key === sel ? "true" : undefined}>
          <Icon name={icons[a.kind] ?? "question"} />
          <span class="what"><Text>{a.tool ? a.tool + ": " + firstLine(a.text) : firstLine(a.text)}</Text></span>
          <span class="soft who"><Text>{a.who}</Text></span>
          <span class="soft nums"><When at={a.since} suffix="" /></span>
          <span class="nums left">{a.expires && <Left until={a.expires} />}</span>
        </a></li>)}
      </ul>
      {(open ?? gone) && <AskDetail key={sel} ask={(open ?? gone)!} gone={!open} next={() => {
        const n = asks[at + 1] ?? asks.find((a) => a.key !== sel);
        if (place.peek().path === "/inbox" && place.peek().query.get("ask") === sel) { // else the person went on before the answer was taken
          from.current = sel;
          setQuery({ ask: n?.key ?? "" });
        }
        inbox.reload();
      }} />}
    </div>}
    {several.length > 0 && <Several asks={several} close={(done) => { setSeveral([]); setMarked((s) => new Set([...s].filter((key) => !done.has(key)))); inbox.reload(); }} />}
  </div>;
}

const firstLine = (text: string): string => text.trim().split("\n", 1)[0]!.slice(0, 200);

function Left({ until }: { until: string }) {
  const ms = Date.parse(until) - tick.value;
  return <span class={ms < 600_000 ? "hot" : "soft"} title={"The execution fails then: " + until}>{ms > 0 ? roughly(ms) + " left" : "over"}</span>;
}

export function AskDetail({ ask, gone, next }: { ask: Ask; gone: boolean; next: () => void }) {
  const execution = useLoad(ask.executionId ? "execution:" + ask.executionId : "", (signal) => get<ExecutionBody>("/api/executions/" + seg(ask.executionId!), {}, signal));
  const question = useLoad(ask.source === "question" && gone ? "question:" + ask.id : "", (signal) => get<QuestionBody>("/api/questions/" + seg(ask.id), {}, signal));
  const closed = useLoad(ask.source !== "question" && gone ? "answered:" + ask.key : "", (signal) => answeredBy(ask, signal));
  const x = execution.data;
  const q = question.data;
  const how = <>{q ? <><State status={q.status} /> {q.answeredBy && <>by <Text>{q.answeredBy}</Text></>}{q.answer !== undefined && <p><Text>{typeof q.answer === "string" ? q.answer : JSON.stringify(q.answer)}</Text></p>}</>
    : question.first && ask.source === "question" ? "Answered." : closed.data ? <><Text>{closed.data.how}</Text>{closed.data.by && <> by <strong><Text>{closed.data.by}</Text></strong></>}</>
    : "It waits for no answer any more: it was answered, or it ended."}</>;
  return <section class="detail wide-detail" aria-label="What is asked">
    <header><h2><Text>{ask.who}</Text> {ask.kind === "approval" ? "asks leave" : ask.kind === "login" ? "needs a login" : "asks"}</h2><span class="push" /><button type="button" class="quiet" aria-label="Close" onClick={() => setQuery({ ask: "" })}>&times;</button></header>
    <div class="body">
      <p class="line soft">
        {x && <>in <a href={href("/executions/" + x.executionId)}><Text>{x.pattern.name}</Text>@{x.pattern.version}</a> <ID id={x.executionId} to={"/executions/" + x.executionId} /></>}
        {ask.step && <a href={href(`/executions/${ask.executionId}?sel=${encodeURIComponent("step:" + ask.step)}`)}>step {ask.step}</a>}
        {ask.agentId && <ID id={ask.agentId} to={"/agents/" + ask.agentId} />}
        {ask.expires && !gone && <Left until={ask.expires} />}
      </p>
      <AnswerBox ask={gone ? undefined : ask} keys done={next} ended={gone ? { how, at: q?.closedAt ?? closed.data?.at, next } : undefined} />
    </div>
  </section>;
}
