// Two of a kind beside each other: versions of a pattern, executions.

import { useState } from "preact/hooks";
import { get, seg } from "../api/client.ts";
import type { ExecutionBody, ExecutionList, Pattern } from "../api/types.gen.ts";
import { Diff } from "../part/diff.tsx";
import { shortID } from "../part/id.tsx";
import { indented } from "../part/json.tsx";
import { Failure, Waiting } from "../part/notice.tsx";
import { Choice } from "../part/tabs.tsx";
import { absolute } from "../part/time.tsx";
import { queryOf, setQuery } from "../route.ts";
import { lineDiff } from "../store/linediff.ts";
import { useLoad } from "../store/load.ts";

function Difference({ name, before, after }: { name: string; before: unknown; after: unknown }) {
  const whole = (v: unknown): string => (typeof v === "string" ? v : indented(v ?? null));
  const text = lineDiff(name, whole(before), whole(after));
  return text === "" ? <p class="soft">{name}: no difference.</p> : <Diff text={text} label={"Difference: " + name} />;
}

/** What differs between a version of a pattern and another one. */
export function CompareVersions({ name, version, versions }: { name: string; version: string; versions: string[] }) {
  const others = versions.filter((v) => v !== version);
  const wanted = queryOf("with");
  if (wanted && wanted !== version && !others.includes(wanted)) others.push(wanted); // it lies behind those that were read
  const other = wanted && wanted !== version ? wanted : others[0] ?? "";
  const here = useLoad(`pattern:${name}@${version}`, (signal) => get<Pattern>("/api/patterns/" + seg(name), { version }, signal));
  const there = useLoad(other && `pattern:${name}@${other}`, (signal) => get<Pattern>("/api/patterns/" + seg(name), { version: other }, signal));
  if (!other) return <p class="soft alone">There is one version.</p>;
  return <>
    <div class="bar"><Choice label={`What is new in ${version} since`} value={other} options={others.map((v): [string, string] => [v, v])} set={(v) => setQuery({ with: v })} /></div>
    {here.error && <Failure error={here.error} />}{there.error && <Failure error={there.error} />}
    {here.data && there.data ? <Difference name={name} before={there.data.source ?? there.data.definition} after={here.data.source ?? here.data.definition} /> : !here.error && !there.error && <Waiting />}
  </>;
}

/** What differs between an execution and another one, of input and result. */
export function CompareExecutions({ execution: x }: { execution: ExecutionBody }) {
  const [typed, setTyped] = useState("");
  const other = queryOf("with");
  const list = useLoad("compare:" + x.pattern.name, (signal) => get<ExecutionList>("/api/executions", { pattern: x.pattern.name, limit: 20 }, signal));
  const there = useLoad(other && "execution:" + other, (signal) => get<ExecutionBody>("/api/executions/" + seg(other), {}, signal));
  const known = (list.data?.executions ?? []).filter((r) => r.executionId !== x.executionId).map((r): [string, string] => [r.executionId, `${shortID(r.executionId)} ${r.status}, ${absolute(r.createdAt)}`]);
  return <section class="compare"><h2>Compared with another execution</h2>
    <form class="bar" onSubmit={(e) => { e.preventDefault(); if (typed.trim()) setQuery({ with: typed.trim() }); }}>
      <Choice late label="Another" value={other} set={(v) => setQuery({ with: v })} options={[["", "none"], ...(other && !known.some(([v]) => v === other) ? [[other, shortID(other)] as [string, string]] : []), ...known]} />
      <label class="choice"><span>or its id</span><input value={typed} onInput={(e) => setTyped(e.currentTarget.value)} placeholder="exec_..." spellcheck={false} autocomplete="off" /></label><button type="submit" class="button" disabled={!typed.trim()}>Compare</button></form>
    {list.error && <Failure error={list.error} old={list.data !== undefined} again={list.reload} />}
    {there.error && <Failure error={there.error} again={there.reload} />}
    {other && !there.data && !there.error && <Waiting />}
    {there.data && <><p class="soft">Removed lines are of {shortID(other)} ({there.data.status}), added ones of this one ({x.status}).</p>
      <Difference name="input" before={there.data.input} after={x.input} /><Difference name="result" before={there.data.result ?? there.data.error} after={x.result ?? x.error} /></>}
  </section>;
}
