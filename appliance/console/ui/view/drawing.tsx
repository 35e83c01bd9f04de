// The workflow of a pattern as boxes, from its definition, with what runs now where an execution is shown.

import type { Pattern, Timeline } from "../api/types.gen.ts";
import { get, seg } from "../api/client.ts";
import { Failure, Waiting } from "../part/notice.tsx";
import { Mark, kindOf } from "../part/state.tsx";
import { Text, plural } from "../part/text.tsx";
import { href, place } from "../route.ts";
import { useLoad } from "../store/load.ts";

type Obj = Record<string, unknown>;

export interface Box { path: string; kind: string; name?: string; role?: string; text?: string; steps: Box[]; more?: number; branch?: string }
export interface RoleBox { key: string; name: string; what: string; reports: RoleBox[] }

const isObj = (v: unknown): v is Obj => typeof v === "object" && v !== null && !Array.isArray(v);
const str = (v: unknown): string | undefined => (typeof v === "string" ? v : undefined);

// Steps that are drawn: of a workflow, of one step, and how deep they lie in one another.
const most = 500;
const mostWithin = 200;
const deepest = 20;

/** Boxes of the steps of an org chart: the path of a step is its number in what it lies in. */
function boxOf(raw: unknown, path: string, branch?: string, depth = 0): Box {
  const o = isObj(raw) ? raw : {};
  const kind = str(o.type) ?? "step";
  const box: Box = { path, kind, name: str(o.name), role: str(o.role) ?? str(o.approver) ?? str(o.reviewer), text: str(o.task) ?? str(o.subject) ?? str(o.check) ?? str(o.source), steps: [], branch };
  if (depth > deepest) {
    box.more = Array.isArray(o.steps) ? o.steps.length : [o.then, o.else].filter((b) => b !== undefined).length;
    return box;
  }
  if (Array.isArray(o.steps)) {
    box.steps = o.steps.slice(0, mostWithin).map((s, i) => boxOf(s, path + "." + i, undefined, depth + 1));
    box.more = o.steps.length - box.steps.length;
  }
  let n = 0;
  for (const b of ["then", "else"]) if (o[b] !== undefined) box.steps.push(boxOf(o[b], path + "." + n++, b, depth + 1));
  return box;
}

export function boxesOf(definition: unknown): { steps: Box[]; more?: number; roles: RoleBox[] } {
  const d = isObj(definition) ? definition : {};
  const workflow = isObj(d.workflow) ? d.workflow : undefined;
  const structure = isObj(d.structure) ? d.structure : undefined;
  const named = isObj(structure?.roles) ? structure!.roles as Obj : isObj(d.roles) ? d.roles as Obj : {};
  const roles = new Map<string, RoleBox>();
  for (const [key, raw] of Object.entries(named)) {
    const o = isObj(raw) ? raw : {};
    const list = (v: unknown) => (Array.isArray(v) ? v.filter((x) => typeof x === "string").join(", ") : str(v) ?? "");
    roles.set(key, { key, name: str(o.name) ?? key, what: [list(o.agentType), list(o.capabilities)].filter(Boolean).join(" \u00b7 "), reports: [] });
  }
  const tops: RoleBox[] = [];
  for (const [key, raw] of Object.entries(named)) {
    const boss = isObj(raw) ? str(raw.reportsTo) : undefined;
    const to = boss && boss !== key ? roles.get(boss) : undefined;
    (to?.reports ?? tops).push(roles.get(key)!);
  }
  if (workflow) {
    const list = Array.isArray(workflow.steps) ? workflow.steps : [];
    return { steps: list.slice(0, most).map((s, i) => boxOf(s, String(i))), more: list.length - most, roles: tops };
  }
  const steps = Array.isArray(d.steps) ? d.steps.filter(isObj) : [];
  const agents = (o: Obj): string => {
    const a = isObj(o.agents) ? o.agents : {};
    return [Array.isArray(a.capabilities) ? a.capabilities.join(", ") : "", a.min ? "at least " + String(a.min) : ""].filter(Boolean).join(" \u00b7 ");
  };
  if (steps.length > 0) return { steps: steps.map((s) => ({ path: str(s.id) ?? "", kind: s.pattern ? "pattern" : "agents", name: str(s.id), role: str(s.pattern) ?? agents(s), text: isObj(s.aggregation) ? str(s.aggregation.strategy) : undefined, steps: [] })), roles: [] };
  return { steps: [{ path: "", kind: "agents", name: "agents", role: agents(d), text: isObj(d.aggregation) ? "answers become one by " + (str(d.aggregation.strategy) ?? "merge") : undefined, steps: [] }], roles: [] };
}

export function Drawing({ name, version, timeline, definition }: { name: string; version?: string; timeline?: Timeline; definition?: unknown }) {
  const p = useLoad(definition === undefined ? `pattern:${name}@${version ?? ""}` : "", (signal) => get<Pattern>("/api/patterns/" + seg(name), { version }, signal));
  const d = definition ?? p.data?.definition;
  if (d === undefined) return p.error ? <Failure error={p.error} again={p.reload} /> : <Waiting />;
  const { steps, more, roles } = boxesOf(d);
  const states = new Map<string, string>();
  for (const e of timeline?.entries ?? []) if (e.kind === "step") states.set(e.id, e.status);
  return <div class="drawing">
    {roles.length > 0 && <section><h2>Roles</h2><ul class="chart">{roles.map((r) => <RoleTree key={r.key} role={r} depth={0} />)}</ul></section>}
    <section><h2>Workflow</h2><ol class="flow">{steps.map((s) => <StepBox key={s.path} box={s} states={states} live={Boolean(timeline)} />)}<More steps={more} /></ol></section>
  </div>;
}

function RoleTree({ role, depth }: { role: RoleBox; depth: number }) {
  return <li><div class="box role"><strong><Text>{role.name}</Text></strong>{role.what && <span class="soft"><Text>{role.what}</Text></span>}</div>
    {role.reports.length > 0 && depth < 20 && <ul>{role.reports.map((r) => <RoleTree key={r.key} role={r} depth={depth + 1} />)}</ul>}</li>;
}

function StepBox({ box, states, live }: { box: Box; states: Map<string, string>; live: boolean }) {
  const state = states.get(box.path);
  const inner = <>
    <span class="line">{state && <Mark kind={kindOf(state)} />}<span class="mono soft">{box.path}</span><strong><Text>{box.name ?? box.kind}</Text></strong>{box.name && box.name !== box.kind && <span class="soft">{box.kind}</span>}{box.branch && <span class="badge">{box.branch}</span>}{state && <span class="sr">{state}</span>}</span>
    {box.role && <span class="soft"><Text>{box.role}</Text></span>}
    {box.text && <span class="clip2"><Text>{box.text}</Text></span>}
  </>;
  return <li class={"k-" + box.kind}>
    <div class={"box" + (state ? " s-" + kindOf(state) : live ? " idle" : "")}>
      {live && state ? <a class="cover" href={href(place.value.path + "?sel=" + encodeURIComponent("step:" + box.path))}>{inner}</a> : inner}
      {box.steps.length > 0 && <ol class={box.kind === "parallel" || box.kind === "condition" ? "abreast" : "flow"}>{box.steps.map((s) => <StepBox key={s.path} box={s} states={states} live={live} />)}</ol>}
      {(box.more ?? 0) > 0 && <ol class="flow"><More steps={box.more} /></ol>}
    </div></li>;
}

/** Stands for the steps that are not drawn. */
const More = ({ steps }: { steps?: number }) => (steps && steps > 0 ? <li><p class="soft">{plural(steps, "further step")}: the definition has all of them.</p></li> : null);
