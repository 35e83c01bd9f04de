// Endpoints of webhooks: made, changed, tested; deliveries with what was sent and what came back.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, get, post, seg, tagOf } from "../api/client.ts";
import type { DeliveriesRetried, DeliveryBody, DeliveryDetail, DeliveryList, WebhookBody, WebhookList, WebhookTestBody } from "../api/types.gen.ts";
import { Confirm, Dialog, useAct, useEach, useKeyOf } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Command, Empty, Failure, Gone, Meanwhile, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { useSteady } from "../part/steady.ts";
import { Choice } from "../part/tabs.tsx";
import { Pre, Text, count, plural } from "../part/text.tsx";
import { When, absolute, lasted } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { go, onward, queryOf, setQuery } from "../route.ts";
import type { FeedEvent } from "../live/hub.ts";
import { readFor, useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";

// The types of the API's own check, which names them all where one is wrong.
const kinds = ["execution.started", "execution.completed", "execution.failed", "execution.cancelled", "agent.connected", "agent.disconnected", "agent.unhealthy", "pattern.created", "pattern.updated", "pattern.deleted",
  "thread.blocked", "thread.completed", "thread.failed", "managed_agent.blocked", "managed_agent.login_required", "managed_agent.failed", "system.alert"] as const;

/** The type of the event that a test makes up: the first that the endpoint is subscribed to. */
const testEvent = (w: WebhookBody): string => w.events.find((e) => e !== "*") ?? "execution.completed";

const live = { topics: ["webhooks"] };

/** What happens to an endpoint: to itself, or to its deliveries. */
const happensTo = (id: string) => (e: FeedEvent): boolean => e.topics.includes("webhooks") && (e.subject ?? id) === id;

export function WebhooksView() {
  useTitle("Webhooks");
  const l = usePages("webhooks", (cursor, signal) => get<WebhookList>("/api/webhooks", { limit: 100, cursor }, signal), (p) => p.webhooks,
    { ...live, on: (e) => e.topics.includes("webhooks") && e.type !== "webhook.deliveries" });
  const [making, setMaking] = useState(false);
  return <div class="page full"><header class="head"><div class="line"><h1>Webhooks</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}<span class="push" />
    {may("webhooks.create") && <button type="button" class="button main" onClick={() => setMaking(true)}>New&hellip;</button>}</div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}{!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && <Empty title="No endpoints">Other systems hear of events by signed callbacks: <Command text="wardroom webhook create https://hooks.example.com/wardroom --event execution.completed,execution.failed" /></Empty>}
    {l.rows && l.rows.length > 0 && <Rows label="Webhooks" rows={l.rows} id={(w) => w.id} to={(w) => "/webhooks/" + w.id} total={l.total} more={l.more} rest={l.full && "wardroom webhook list --all"} columns={[
      { head: "State", cell: (w) => <State status={w.enabled ? "enabled" : "disabled"} /> }, { head: "Address", class: "grow", cell: (w) => <Text class="mono">{w.url}</Text> },
      { head: "Events", class: "mid", cell: (w) => <span class="clip"><Text>{w.events.join(", ")}</Text></span> }, { head: "Why", class: "wide", cell: (w) => <Text class="soft">{w.disabledReason ?? ""}</Text> }, { head: "Changed", cell: (w) => <When at={w.updatedAt} /> },
    ]} />}
    {making && <Edit close={() => setMaking(false)} done={l.reload} />}</div>;
}

/** A secret is shown once: with the answer that made it. */
function Secret({ secret }: { secret: string }) {
  return <div class="notice good" role="status"><div><strong>The secret that deliveries are signed with, shown this once:</strong><p class="mono"><Text>{secret}</Text></p></div><Copy text={secret} label="Copy the secret">Copy</Copy></div>;
}

/** Makes an endpoint, or changes one. */
function Edit({ of, close, done }: { of?: WebhookBody; close: () => void; done: () => void }) {
  const [url, setURL] = useState(of?.url ?? "");
  const [events, setEvents] = useState<string[]>(of?.events ?? ["execution.completed", "execution.failed"]);
  const [patterns, setPatterns] = useState((of?.filters.pattern ?? []).join(", "));
  const [made, setMade] = useState<WebhookBody | undefined>();
  const keyOf = useKeyOf();
  const [read, setRead] = useState(() => tagOf(of)); // of what was looked at: it may be read again while this is open
  const [changed, setChanged] = useState(false);
  const [other, setOther] = useState<WebhookBody | undefined>(); // as another made it meanwhile
  const a = useAct();
  const all = events.includes("*");
  const latest = useRef("");
  latest.current = JSON.stringify([url, events, patterns]);
  const [sent, setSent] = useState("");
  const save = () => void a.act(async () => {
    const typed = latest.current;
    setChanged(false);
    const names = patterns.split(",").map((p) => p.trim()).filter(Boolean);
    const filters = { ...of?.filters, pattern: names };
    const body = { url: url.trim(), events, filters };
    if (of) {
      const look = () => get<WebhookBody>("/api/webhooks/" + seg(of.id)).catch(() => undefined);
      setOther(undefined);
      const now = await call<WebhookBody>("PATCH", "/api/webhooks/" + seg(of.id), { body, match: read }).catch(async (err: unknown) => {
        const there = err instanceof ApiError && err.status === 412 ? await look() : undefined;
        if (there) { setOther(there); setRead(tagOf(there)); } // shown: what is sent after that is meant
        throw err;
      });
      done();
      if (latest.current === typed) { close(); return; }
      setChanged(true);
      const there = await look();
      if (there?.updatedAt === now.updatedAt) setRead(tagOf(there)); // else another changed it since, and the next change learns of that
    } else {
      setMade(await call<WebhookBody>("POST", "/api/webhooks", { body, once: keyOf(body) }));
      setSent(typed);
      done();
    }
  });
  const whole = made && sent === latest.current; // nothing was typed while it was made
  return <Dialog title={of ? "Change the endpoint" : whole ? "The endpoint is there" : "New endpoint"} close={close}>
    {whole ? <><div class="body"><Secret secret={made.secret} /></div><footer><button type="button" class="button" onClick={close}>Close</button><button type="button" class="button main" onClick={() => { close(); go("/webhooks/" + made.id); }}>Open it</button></footer></>
      : <form onSubmit={(e) => { e.preventDefault(); save(); }}><div class="body form">
        <label><span>Address</span><input name="url" type="url" required value={url} placeholder="https://hooks.example.com/wardroom" spellcheck={false} onInput={(e) => setURL(e.currentTarget.value)} /></label>
        <fieldset><legend>Events</legend><label class="check"><input type="checkbox" checked={all} onChange={() => setEvents(all ? [] : ["*"])} /> all public ones</label>
          {!all && <div class="kinds">{kinds.map((k) => <label key={k} class="check"><input type="checkbox" checked={events.includes(k)} onChange={() => setEvents(events.includes(k) ? events.filter((e) => e !== k) : [...events, k])} /> {k}</label>)}</div>}</fieldset>
        <label><span>Only of these patterns</span><input value={patterns} placeholder="all" spellcheck={false} onInput={(e) => setPatterns(e.currentTarget.value)} /></label>
        {a.error && <Failure error={a.error} />}{a.error && other && <p role="status">It is now: <span class="mono"><Text>{other.url}</Text></span>, of <Text>{other.events.join(", ")}</Text>, patterns: <Text>{other.filters.pattern?.join(", ") || "all"}</Text>. To change it now replaces that.</p>}{changed && <Meanwhile>It is changed.</Meanwhile>}
        {made && <><Secret secret={made.secret} /><Meanwhile>It was made: <ID id={made.id} to={"/webhooks/" + made.id} /></Meanwhile></>}</div>
        <footer><button type="button" class="button" onClick={close}>Close</button><button type="submit" class="button main" disabled={a.busy || !url.trim() || events.length === 0}>{of ? "Change it" : "Make it"}</button></footer></form>}
  </Dialog>;
}

export function WebhookView({ id }: { id: string }) {
  const status = queryOf("status");
  const sel = queryOf("sel");
  const w = useLoad("webhook:" + id, (signal) => get<WebhookBody>("/api/webhooks/" + seg(id), {}, signal), { ...live, on: happensTo(id), pause: 1000 });
  const l = usePages("deliveries:" + id + status, (cursor, signal) => get<DeliveryList>(`/api/webhooks/${seg(id)}/deliveries`, { limit: 100, cursor, status }, signal), (p) => p.deliveries,
    { ...live, on: happensTo(id) });
  const steady = useSteady(String(w.data?.enabled));
  const a = useAct();
  const [said, setSaid] = useState("");
  const [secret, setSecret] = useState("");
  const [asking, setAsking] = useState("");
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  useTitle("Webhook");
  const alone = useLoad(sel && l.rows && !l.rows.some((r) => r.id === sel) ? "delivery:" + sel : "", (signal) => get<DeliveryDetail>(`/api/webhooks/${seg(id)}/deliveries/${seg(sel)}`, {}, signal), { ...live, on: happensTo(id), pause: 1000 }); // a link to what lies further down
  const gone = w.error?.status === 404;
  useEffect(() => setMarked(new Set()), [l.of]);
  useEffect(() => { if (l.error?.status === 404) w.reload(); }, [l.error]);
  if (!w.data) return w.error ? <div class="page"><Failure error={w.error} again={w.reload} /></div> : <Waiting />;
  const d = w.data;
  const mine = may("webhooks.update") && !d.declared && !gone;
  const retriable = may("webhooks.retry") && !gone;
  const listed = l.rows?.find((r) => r.id === sel);
  const chosen = listed ?? alone.data;
  const chosenOnes = (l.rows ?? []).filter((r) => marked.has(r.id)); // what is not in the list any more is none of them
  const mark = (key: string) => setMarked((s) => { const n = new Set(s); if (!n.delete(key)) n.add(key); return n; });
  return <div class="page full"><header class="head"><div class="line"><h1 class="mono"><Text>{d.url}</Text></h1><ID id={id} /><State status={d.enabled ? "enabled" : "disabled"} />{d.declared && <span class="badge">of the configuration</span>}<span class="push" />
    {mine && <button type="button" class="button" disabled={a.busy} aria-disabled={!steady} onClick={() => { if (steady) void a.act(() => call("PATCH", "/api/webhooks/" + seg(id), { body: { enabled: !d.enabled }, match: tagOf(d) }).finally(w.reload)); }}>{d.enabled ? "Disable" : "Enable"}</button>}
    {mine && <button type="button" class="button" onClick={() => setAsking("edit")}>Change&hellip;</button>}{mine && <button type="button" class="button" onClick={() => setAsking("rotate")}>New secret&hellip;</button>}
    {may("webhooks.delete") && !d.declared && !gone && <button type="button" class="button" onClick={() => setAsking("delete")}>Remove&hellip;</button>}
    {may("webhooks.test") && !gone && <button type="button" class="button" disabled={a.busy} onClick={() => void a.act(() => post<WebhookTestBody>(`/api/webhooks/${seg(id)}/test`, { event: testEvent(d) }).then((r) => { setSaid(`The test ${r.status}: ${r.statusCode || r.lastError || ""}`); l.reload(); }))}>Send a test</button>}</div>
    {d.disabledReason && <p class="hot"><Text>{d.disabledReason}</Text></p>}
    <p class="soft line"><Text>{d.events.join(", ")}</Text>{d.statistics && <><span>{count(d.statistics.deliveriesSucceeded)} delivered</span><span>{count(d.statistics.deliveriesFailed)} failed</span><span>{count(d.statistics.deliveriesPending)} wait</span></>}</p>
    <div class="bar"><Choice label="State" value={status} set={(s) => setQuery({ status: s, sel: "" })} options={[["", "any"], ["pending", "pending"], ["succeeded", "succeeded"], ["failed", "failed"], ["cancelled", "cancelled"]]} /><span class="push" />
      {chosenOnes.length > 0 && <><span class="nums">{count(chosenOnes.length)} selected</span><button type="button" class="button" onClick={() => setAsking("some")}>Retry&hellip;</button><button type="button" class="link" onClick={() => setMarked(new Set())}>none</button></>}
      {retriable && <button type="button" class="button" onClick={() => setAsking("all")}>Retry all that failed&hellip;</button>}</div></header>
    {secret && <Secret secret={secret} />}
    {gone ? <Gone what="This endpoint" to="/webhooks" /> : w.error && <Failure error={w.error} old again={w.reload} />}{alone.error && !gone && <Failure error={alone.error} again={alone.reload} />}
    {a.error && <Failure error={a.error} />}{said && <p role="status" class="notice"><Text>{said}</Text></p>}{l.error && !gone && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {l.rows?.length === 0 && !chosen && <Empty title="No deliveries" />}
    {l.rows && (l.rows.length > 0 || chosen) && <div class={"split" + (chosen ? " two" : "")}><div class="pane"><Rows label="Deliveries" of={l.of} rows={l.rows} id={(x) => x.id} pick={(x) => setQuery({ sel: x.id === sel ? "" : x.id })} chosen={sel} total={l.total} more={l.more} rest={l.full && `wardroom webhook deliveries ${id} --all`} marked={marked} mark={retriable ? mark : undefined} columns={[
      { head: "State", cell: (x) => <State status={x.status} /> }, { head: "Event", class: "grow", cell: (x) => <><Text>{x.event}</Text>{x.test && <span class="badge">test</span>}</> }, { head: "Answer", class: "num", cell: (x) => x.statusCode || <span class="soft">--</span> },
      { head: "Attempts", class: "num mid", cell: (x) => x.attempts }, { head: "Error", class: "wide", cell: (x) => <Text class="soft">{x.lastError ?? ""}</Text> }, { head: "At", cell: (x) => <When at={x.timestamp} /> },
    ]} /></div>{chosen && <Detail key={chosen.id} row={chosen} reload={() => { l.reload(); alone.reload(); }} />}</div>}
    {asking === "edit" && <Edit of={d} close={() => setAsking("")} done={w.reload} />}
    {asking === "rotate" && <Confirm title="Make a new secret?" action="Make it" close={() => setAsking("")} run={() => call<WebhookBody>("PATCH", "/api/webhooks/" + seg(id), { body: { rotateSecret: true, overlap: 3_600_000 }, match: tagOf(d) }).then((n) => { setSecret(n.secret); w.reload(); })}><p>Deliveries carry the signature of the former one as well, for an hour.</p></Confirm>}
    {asking === "delete" && <Confirm title="Remove this endpoint?" action="Remove" danger close={() => setAsking("")} run={() => call("DELETE", "/api/webhooks/" + seg(id)).then(onward(() => "/webhooks"))}><p>What still waits for it is not delivered.</p></Confirm>}
    {asking === "some" && <RetrySome webhook={id} rows={chosenOnes} close={(done) => { setAsking(""); setMarked((s) => new Set([...s].filter((key) => !done.has(key)))); l.reload(); }} />}
    {asking === "all" && <RetryAll webhook={id} close={() => { setAsking(""); l.reload(); }} />}
  </div>;
}

/** A delivery with its request, its attempts and what came back. */
function Detail({ row, reload }: { row: DeliveryBody; reload: () => void }) {
  const d = useLoad("delivery:" + row.id, (signal) => get<DeliveryDetail>(`/api/webhooks/${seg(row.webhookId)}/deliveries/${seg(row.id)}`, {}, signal), { ...live, on: happensTo(row.webhookId), pause: 1000 });
  const a = useAct();
  const x = d.data;
  return <section class="detail" aria-label="Selected delivery"><header><State status={row.status} /><h2><Text>{row.event}</Text></h2><span class="push" /><button type="button" class="quiet" aria-label="Close" onClick={() => setQuery({ sel: "" })}>&times;</button></header>
    <div class="body" tabIndex={0}>
      {d.error && <Failure error={d.error} again={d.reload} />}{a.error && <Failure error={a.error} />}{d.first && <Waiting />}
      {x && <><dl class="facts"><div><dt>Id</dt><dd><ID id={x.id} /><Copy text={x.id} label="Copy the id" /></dd></div><div><dt>Event id</dt><dd class="mono"><Text>{x.eventId}</Text></dd></div>{x.subject && <div><dt>Of</dt><dd><ID id={x.subject} to={"/" + x.subject} /></dd></div>}
        {x.nextAt && x.status === "pending" && <div><dt>Next attempt</dt><dd><When at={x.nextAt} /></dd></div>}{x.lastError && <div><dt>Why</dt><dd><Text>{x.lastError}</Text></dd></div>}</dl>
        {(x.status === "failed" || x.status === "pending") && may("webhooks.retry") && <p><button type="button" class="button" disabled={a.busy} onClick={() => void a.act(() => post(`/api/webhooks/${seg(row.webhookId)}/deliveries/${seg(row.id)}/retry`, {})).then((ok) => { if (ok) { reload(); d.reload(); } })}>{x.status === "pending" ? "Try now" : "Retry"}</button></p>}
        <section><h3>Attempts</h3><ol class="plain">{x.attemptLog.map((t, i) => <li key={i}><span class="nums">{absolute(t.at)}</span> <strong class="nums">{t.statusCode || "no answer"}</strong> <span class="soft nums">{lasted(t.duration)}</span>{t.error && <div><Text>{t.error}</Text></div>}</li>)}</ol>{x.attemptLog.length === 0 && <p class="soft">None yet.</p>}</section>
        <section><h3>Request</h3>{x.request ? <><Pre label="Request" text={`POST ${x.request.url}\n` + Object.entries(x.request.headers).map(([k, v]) => `${k}: ${v}`).join("\n")} /><Value value={x.request.body} label="Body of the request" /></> : <p class="soft">The event is not stored any more.</p>}</section>
        <section><h3>Answer</h3>{x.responseBody ? <Pre label="Answer" text={x.responseBody} /> : <p class="soft">{x.statusCode ? "Without a body." : "There was none."}</p>}</section></>}
    </div></section>;
}

/** Retries a selection: shows the ids first, then the outcome of each. */
function RetrySome({ webhook, rows, close }: { webhook: string; rows: DeliveryBody[]; close: (done: ReadonlySet<string>) => void }) {
  const [list] = useState(rows);
  const { state, said, out, run, end } = useEach(close);
  const each = async (id: string) => {
    await post(`/api/webhooks/${seg(webhook)}/deliveries/${seg(id)}/retry`, {});
    return "is due";
  };
  return <Dialog title={"Retry " + plural(list.length, "delivery", "deliveries")} close={end} wide><div class="body"><table class="plain"><thead><tr><th scope="col">Delivery</th><th scope="col">Event</th><th scope="col">State</th><th scope="col">Outcome</th></tr></thead><tbody>
    {list.map((r) => <tr key={r.id}><td><ID id={r.id} /></td><td><Text>{r.event}</Text></td><td><State status={r.status} /></td><td>{out[r.id]}</td></tr>)}</tbody></table></div>
    <footer><span class="soft" role="status">{said}</span>{state === "over" ? <button type="button" class="button main" onClick={end}>Close</button> : <><button type="button" class="button" onClick={end}>{state === "busy" ? "Stop" : "Leave them"}</button><button type="button" class="button main" disabled={state === "busy"} onClick={() => void run(list.map((r) => r.id), each)}>Retry {count(list.length)}</button></>}</footer></Dialog>;
}

/** Retries all that failed, after they were counted; 500 at a time. */
function RetryAll({ webhook, close }: { webhook: string; close: () => void }) {
  const [counted, setCounted] = useState<DeliveriesRetried | undefined>();
  const [done, setDone] = useState<number | undefined>();
  const a = useAct();
  const path = `/api/webhooks/${seg(webhook)}/deliveries/retry`;
  useEffect(() => void a.act(() => post<DeliveriesRetried>(path, { status: "failed", dryRun: true }).then(setCounted)), []);
  const ending = useRef(false);
  const run = () => void a.act(async () => {
    ending.current = false;
    let n = 0;
    let cursor: string | undefined;
    const asker = readFor(); // nothing is done in the name of whoever comes next
    do {
      const r: DeliveriesRetried = await post<DeliveriesRetried>(path, { status: "failed", ...(cursor && { cursor }) });
      n += r.count;
      cursor = r.hasMore ? r.nextCursor : undefined;
      setDone(n);
    } while (cursor && asker === readFor() && !ending.current);
  });
  const going = a.busy && counted !== undefined;
  const end = () => { if (going) ending.current = true; else close(); };
  return <Dialog title="Retry all that failed" close={end}><div class="body">{a.error && <Failure error={a.error} />}{!counted && !a.error && <Waiting />}
    {done !== undefined ? <p role="status">{plural(done, "delivery is", "deliveries are")} due{a.busy ? "\u2026" : "."}</p> : counted && <p role="status">{counted.count === 0 ? "None failed." : `${plural(counted.count, "delivery", "deliveries")}${counted.hasMore ? " and more" : ""} failed. Each is delivered again with all its attempts.`}</p>}</div>
    <footer><button type="button" class="button" onClick={end}>{going ? "Stop" : "Close"}</button>{counted !== undefined && counted.count > 0 && done === undefined && <button type="button" class="button main" disabled={a.busy} onClick={run}>Retry them</button>}</footer></Dialog>;
}
