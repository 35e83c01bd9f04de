// Triggers: what is started by signed requests of other systems.

import { useRef, useState } from "preact/hooks";
import { ApiError, call, get, del, post, seg, tagOf } from "../api/client.ts";
import type { Trigger, TriggerList, TriggerTrial } from "../api/types.gen.ts";
import { base } from "../base.ts";
import { Confirm, useAct } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Value } from "../part/json.tsx";
import { Command, Empty, Failure, Gone, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { useSteady } from "../part/steady.ts";
import { Text, count } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { onward } from "../route.ts";
import { parseTyped } from "../store/exact.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";
import { Runs, TargetLine } from "./schedules.tsx";

const live = { on: (e: { topics: string[] }) => e.topics.includes("triggers") };
const stateOf = (t: Trigger): string => (t.blockedReason ? "blocked" : t.enabled ? "enabled" : "disabled");

export function TriggersView() {
  useTitle("Triggers");
  const l = usePages("triggers", (cursor, signal) => get<TriggerList>("/api/triggers", { limit: 100, cursor }, signal), (p) => p.triggers, live);
  return <div class="page full">
    <header class="head"><div class="line"><h1>Triggers</h1>{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}</div></header>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}{!l.rows && !l.error && <Waiting />}
    {l.rows?.length === 0 && <Empty title="No triggers yet">Other systems start what they may by signed requests: <Command text="wardroom trigger create --name pushes --scheme github --on push --pattern NAME --map text='$.repository.full_name'" /></Empty>}
    {l.rows && l.rows.length > 0 && <Rows label="Triggers" rows={l.rows} id={(t) => t.id} to={(t) => "/triggers/" + t.id} total={l.total} more={l.more} rest={l.full && "wardroom trigger list --all"} columns={[
      { head: "State", cell: (t) => <State status={stateOf(t)} /> },
      { head: "Name", class: "grow", cell: (t) => <strong><Text>{t.name}</Text></strong> },
      { head: "Signed as", cell: (t) => t.scheme },
      { head: "Starts", class: "mid", cell: (t) => <TargetLine target={t.target} /> },
      { head: "Started", class: "num mid", cell: (t) => count(t.counts.started) },
      { head: "Last", cell: (t) => t.lastRun ? <><State status={t.lastRun.outcome} /> <When at={t.lastRun.at} /></> : <span class="soft">never</span> },
    ]} />}
  </div>;
}

export function TriggerView({ id }: { id: string }) {
  const t = useLoad("trigger:" + id, (signal) => get<Trigger>("/api/triggers/" + seg(id), {}, signal), live);
  const [asking, setAsking] = useState("");
  const a = useAct();
  const steady = useSteady(String(t.data?.enabled));
  useTitle(t.data?.name ?? "Trigger");
  if (!t.data) return t.error ? <div class="page"><Failure error={t.error} again={t.reload} /></div> : <Waiting />;
  const d = t.data;
  const gone = t.error?.status === 404;
  const enable = (enabled: boolean) => void a.act(() => call("PATCH", "/api/triggers/" + seg(id), { body: { enabled }, match: tagOf(t.data) }).finally(t.reload));
  const where = location.origin + base + d.path;
  return <div class="page full">
    <header class="head">
      <div class="line"><h1><Text>{d.name}</Text></h1><ID id={id} /><Copy text={id} label="Copy the id" /><State status={stateOf(d)} /><span class="push" />
        {may("triggers.update") && !gone && <button type="button" class={"button" + (d.enabled ? "" : " main")} disabled={a.busy} aria-disabled={!steady} onClick={() => { if (steady) enable(!d.enabled); }}>{d.enabled ? "Disable" : "Enable"}</button>}
        {may("triggers.delete") && !gone && <button type="button" class="button" onClick={() => setAsking("delete")}>Remove&hellip;</button>}</div>
      {d.blockedReason && <p class="hot"><Text>{d.blockedReason}</Text></p>}
      <div class="line soft"><span class="mono"><Text>{where}</Text></span><Copy text={where} label="Copy the address" /><span>signed as {d.scheme}</span><span>starts <TargetLine target={d.target} /></span><span>by the rights of <Text>{d.runsAs}</Text></span><span class="push" /><Copy text={`wardroom trigger get ${id}`} label="Copy as CLI">CLI</Copy></div>
    </header>
    {gone ? <Gone what="This trigger" to="/triggers" /> : t.error && <Failure error={t.error} old again={t.reload} />}{a.error && <Failure error={a.error} />}
    <div tabIndex={0} class="scrolls two-columns">
      <section><h2>Last requests</h2><Runs runs={d.runs ?? []} none="No request has come yet." /></section>
      <section><h2>How</h2><dl class="facts">
        <div><dt>Wants</dt><dd>{d.events.length ? d.events.map((e) => <span key={e} class="badge"><Text>{e}</Text></span>) : "whatever happens"}</dd></div>
        <div><dt>Takes</dt><dd>{count(d.ratePerMinute)} requests a minute</dd></div>
        <div><dt>So far</dt><dd>{count(d.counts.started)} started, {count(d.counts.failed)} failed, {count(d.counts.blocked)} blocked</dd></div>
        <div><dt>Made</dt><dd><When at={d.createdAt} /> by <Text>{d.createdBy}</Text></dd></div></dl>
        <h2>Input</h2>{Object.keys(d.mapping).length ? <dl class="value">{Object.entries(d.mapping).map(([name, path]) => <div key={name}><dt class="mono"><Text>{name}</Text></dt><dd class="mono"><Text>{path}</Text></dd></div>)}</dl> : <p class="soft">The body is the input.</p>}
        <h2>Starts</h2><Value value={d.target.execution ?? d.target.thread} label="Target" />
        {!gone && <Trial id={id} />}</section>
    </div>
    {asking === "delete" && <Confirm title="Remove this trigger?" action="Remove the trigger" danger close={() => setAsking("")} run={() => del("/api/triggers/" + seg(id)).then(onward(() => "/triggers"))}><p>Requests to it are refused from then on. What it started goes on.</p></Confirm>}
  </div>;
}

/** Says what a body would become. */
function Trial({ id }: { id: string }) {
  const [text, setText] = useState("");
  const [out, setOut] = useState<TriggerTrial | undefined>();
  const latest = useRef(text);
  latest.current = text;
  const a = useAct();
  const run = () => void a.act(async () => {
    setOut(undefined);
    let body: unknown;
    try {
      body = parseTyped(text);
    } catch (err) {
      throw new ApiError("VALIDATION_ERROR", "The body is no JSON: " + (err as Error).message, 400, "");
    }
    const now = await post<TriggerTrial>(`/api/triggers/${seg(id)}/test`, { body });
    if (latest.current === text) setOut(now); // of this body
  });
  return <form class="form" onSubmit={(e) => { e.preventDefault(); run(); }}><h2>Try a body</h2>
    <label><span class="sr">Body as a sender would send it</span><textarea class="mono" rows={4} spellcheck={false} placeholder="{}" value={text} onInput={(e) => { setText(e.currentTarget.value); setOut(undefined); a.clear(); }} /></label>
    <p><button type="submit" class="button" disabled={a.busy || !text.trim()}>What would it start?</button> <span class="soft">Nothing is started.</span></p>
    {a.error && <Failure error={a.error} />}{out && <div role="status"><State status={out.outcome} word={out.outcome === "started" ? "it would start this" : "it would be passed over"} />{out.outcome === "started" && <Value value={out.input ?? out.objective} label="What would be started" />}</div>}
  </form>;
}
