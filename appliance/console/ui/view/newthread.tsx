// A new thread: what is asked for, what the server makes of it, and only then the start.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, freshKey, quote } from "../api/client.ts";
import type { PrepareThreadRequest, ThreadBody, ThreadPlanBody } from "../api/types.gen.ts";
import { useAct } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Failure, Meanwhile, NotKept } from "../part/notice.tsx";
import { Pre, Text, plural, reveal } from "../part/text.tsx";
import { useTitle } from "../part/title.ts";
import { onward, queryOf } from "../route.ts";
import { curlOf, fromInput } from "../store/curl.ts";
import { digest, tabDrafts, type Drafts } from "../store/draft.ts";
import { useRuntimes } from "../store/load.ts";
import { may } from "../store/session.ts";

interface Form {
  type: string; objective: string; name: string; role: string; execution: string; repo: string; branch: string; preset: string; runtime: string;
  turns: string; cost: string; commit: boolean; push: boolean; files: { path: string; content: string }[];
}

const empty: Form = { type: "", objective: "", name: "", role: "", execution: "", repo: "", branch: "", preset: "standard", runtime: "", turns: "", cost: "", commit: false, push: false, files: [] };
const presets: [string, string][] = [["readonly", "readonly: it changes nothing"], ["standard", "standard: it asks before it runs commands"], ["permissive", "permissive: it asks seldom"], ["autonomous", "autonomous: it asks nothing"]];
const draft = "draft:new-thread";

// What was typed outlives a look at another screen, where the browser keeps anything.
function kept(drafts: Drafts): Form {
  try {
    return { ...empty, ...JSON.parse(drafts.get(draft) ?? "{}") as Partial<Form> };
  } catch {
    return empty;
  }
}

const keep = (drafts: Drafts, f: Form | undefined): boolean => drafts.set(draft, f && JSON.stringify(f));

/** A start whose answer is awaited: of which request, in which reserved workspace, and its Idempotency-Key. */
interface Starting { request: string; workspace?: string; key: string }

const starting = "once:new-thread";

/**
 * Returns the start of a request, or the one of the same request that was begun: it was sent, and its answer did not come. That is sent as it
 * was, after a look at another screen and a new plan as well: the thread that it may have started is the answer to it.
 */
function startOf(drafts: Drafts, begun: Starting | undefined, sent: PrepareThreadRequest, workspace?: string): Starting {
  const request = digest(JSON.stringify(sent));
  try {
    begun ??= JSON.parse(drafts.get(starting) ?? "{}") as Starting;
    if (begun.request === request && begun.key) return begun;
  } catch {
    // another one is begun
  }
  const one = { request, workspace, key: freshKey() };
  drafts.set(starting, JSON.stringify(one));
  return one;
}

/** The request of a form. */
export function requestOf(f: Form): PrepareThreadRequest {
  const finish = f.commit || f.push ? { commit: f.commit, push: f.push } : undefined;
  const policy = { ...(f.turns && { maxTurns: Number(f.turns) }), ...(f.cost && { maxCost: Number(f.cost) }), ...(finish && { finish }) };
  return {
    executionId: f.execution.trim() || "new", agentType: f.type, objective: f.objective,
    ...(f.name.trim() && { name: f.name.trim() }), ...(f.role.trim() && { role: f.role.trim() }), ...(f.runtime && { runtime: f.runtime }),
    preparation: {
      approvalPreset: f.preset as "standard",
      ...(f.repo.trim() && { workspace: { repo: f.repo.trim(), ...(f.branch.trim() && { branch: f.branch.trim() }) } }),
      ...(f.files.some((x) => x.path.trim()) && { contextFiles: f.files.filter((x) => x.path.trim()).map((x) => ({ path: x.path.trim(), content: x.content })) }),
    },
    ...(Object.keys(policy).length > 0 && { policy }),
  };
}

// A field with a number: what it takes, and that in words.
interface Bounds { pattern: string; title: string }
const turnsAtMost: Bounds = { pattern: "[1-9][0-9]{0,5}|1000000", title: "a whole number from 1 to 1,000,000" };
const costAtMost: Bounds = { pattern: "0*([0-9]{1,6}([.][0-9]+)?|1000000([.]0+)?)", title: "a number up to 1,000,000" };

/** The form, if its numbers are some: the browser looks at them where it is sent, and not where it is copied. */
function checked(f: Form): Form {
  for (const [name, text, b] of [["Turns at most", f.turns, turnsAtMost], ["US dollars at most", f.cost, costAtMost]] as const) {
    if (text && !new RegExp(`^(?:${b.pattern})$`).test(text)) throw new Error(`${name} must be ${b.title}`);
  }
  return f;
}

const longestPlain = 25_000; // characters: of three bytes, and quotes that are written as four, each stays a word that a system takes

// What the command line would read from a file or from its input, and a path that ends where a text begins.
const isPlain = (f: Form): boolean => !/^(@|-$)/.test(f.objective) && !f.files.some((x) => x.path.includes("=") || x.content.startsWith("@"));

/** The same as a line for a shell. */
function commandOf(f: Form): string {
  const json = JSON.stringify(requestOf(f));
  if (!isPlain(f) || json.length > longestPlain) return fromInput(json, "wardroom thread spawn --from -");
  const parts: [string, string][] = [["type", f.type], ["objective", f.objective], ["execution", f.execution.trim()], ["name", f.name.trim()], ["role", f.role.trim()], ["repo", f.repo.trim()], ["branch", f.branch.trim()],
    ["approval", f.preset === "standard" ? "" : f.preset], ["runtime", f.runtime], ["max-turns", f.turns], ["max-cost", f.cost], ...f.files.filter((x) => x.path.trim()).map((x): [string, string] => ["file", x.path.trim() + "=" + x.content])];
  return "wardroom thread spawn" + parts.filter(([, v]) => v).map(([k, v]) => ` --${k} ${quote(v)}`).join("") + (f.commit ? " --commit" : "") + (f.push ? " --push" : "");
}

export function NewThread() {
  useTitle("New thread");
  const [drafts] = useState(tabDrafts);
  const [f, setForm] = useState<Form>(() => ({ ...kept(drafts), ...(queryOf("execution") && { execution: queryOf("execution") }) }));
  const [plan, setPlan] = useState<{ of: Form; body: ThreadPlanBody } | undefined>();
  const runtimes = useRuntimes(may("agents.read"));
  const a = useAct();
  const told = useRef<HTMLElement>(null);
  const latest = useRef(f);
  latest.current = f;
  const [started, setStarted] = useState("");
  const list = runtimes.data?.runtimes ?? [];
  const types = [...new Set(list.filter((r) => r.ready).flatMap((r) => r.types.filter((t) => !r.missingTypes?.includes(t))))];
  const lacking = [...new Set(list.flatMap((r) => r.types))].filter((t) => !types.includes(t));
  const first = types[0] ?? "";
  useEffect(() => { if (!f.type && first) setForm((g) => ({ ...g, type: first })); }, [first]);
  const [isKept, setKept] = useState(true);
  const set = (change: Partial<Form>) => { const n = { ...f, ...change }; setForm(n); setKept(keep(drafts, n)); a.clear(); };
  const fresh = plan && plan.of === f ? plan : undefined;
  const prepare = () => void a.act(async () => {
    const body = await call<ThreadPlanBody>("POST", "/api/managed-threads/prepare", { body: requestOf(f), timeout: 120_000 });
    setPlan({ of: f, body });
    setStarted("");
  }).then((ok) => { if (ok) requestAnimationFrame(() => told.current?.focus()); });
  const begun = useRef<Starting>(undefined);
  const forget = () => { begun.current = undefined; drafts.set(starting, undefined); };
  const start = () => void a.act(async () => {
    const open = onward((id: string) => "/threads/" + id, true);
    const request = requestOf(f);
    const before = drafts.get(draft);
    const one = begun.current = startOf(drafts, begun.current, request, fresh!.body.preparation.workspace?.workspaceId);
    const workspace = one.workspace && { ...request.preparation?.workspace, workspaceId: one.workspace };
    const made = await call<ThreadBody>("POST", "/api/managed-threads", {
      body: { ...request, ...(workspace && { preparation: { ...request.preparation, workspace } }) }, once: one.key, timeout: 120_000,
    }).catch((err: unknown) => {
      if (err instanceof ApiError && err.status >= 400 && err.status < 500 && ![408, 429].includes(err.status)) forget(); // it was refused: the next one is another
      throw err;
    });
    forget();
    if (latest.current !== f || drafts.get(draft) !== before) { // something was typed meanwhile, here or on this screen after a look at another: it stays
      setStarted(made.id);
      return;
    }
    keep(drafts, undefined);
    open(made.id);
  });
  const text = (name: keyof Form & string, label: string, hint: string, more?: Record<string, string>) => <label><span>{label}</span><input name={name} value={f[name] as string} placeholder={hint} spellcheck={false} autocomplete="off" {...more} onInput={(e) => set({ [name]: e.currentTarget.value })} /></label>;
  const file = (i: number, change: Partial<Form["files"][number]>) => set({ files: f.files.map((x, j) => (j === i ? { ...x, ...change } : x)) });
  return <div class="page full"><header class="head"><div class="line"><h1>New thread</h1></div></header>
    <div class="scrolls new-thread"><form class="form" onSubmit={(e) => { e.preventDefault(); if (fresh) start(); else prepare(); }}>
      <label><span><strong>Objective</strong> <span class="soft">its first message</span></span><textarea name="objective" rows={5} required value={f.objective} onInput={(e) => set({ objective: e.currentTarget.value })}
        onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); e.currentTarget.form!.requestSubmit(); } }} /></label>
      <div class="pair"><label><span>Agent</span>{types.length > 0 || list.length > 0 ? <select name="type" required value={f.type} onChange={(e) => set({ type: e.currentTarget.value })}>{!types.includes(f.type) && f.type !== "" && <option value={f.type}>{f.type}</option>}{types.map((t) => <option key={t} value={t}>{t}</option>)}</select>
        : <input name="type" required value={f.type} placeholder="claude" onInput={(e) => set({ type: e.currentTarget.value })} />}</label>
        <label><span>It may, without asking</span><select name="preset" value={f.preset} onChange={(e) => set({ preset: e.currentTarget.value })}>{presets.map(([v, words]) => <option key={v} value={v}>{words}</option>)}</select></label></div>
      {runtimes.error && <Failure error={runtimes.error} old={runtimes.data !== undefined} again={runtimes.reload} />}
      {lacking.length > 0 && <p class="soft">Not to be had now: <Text>{lacking.join(", ")}</Text>. No runtime that is ready has their programs.</p>}
      <div class="pair">{text("repo", "Repository", "git URL or short name; empty: an empty folder")}{text("branch", "Branch", "the repository's")}</div>
      <div class="pair">{text("role", "Role", "such as implementer")}{text("name", "Name", "made of role and objective")}</div>
      <details open={Boolean(f.execution || f.runtime || f.turns || f.cost || f.commit || f.push)}><summary>Execution, runtime, limits, end</summary><div class="form">
        <div class="pair">{text("execution", "Execution", "new: one of its own")}<label><span>Runtime</span><select name="runtime" value={f.runtime} onChange={(e) => set({ runtime: e.currentTarget.value })}><option value="">the first that is ready</option>{list.map((r) => <option key={r.name} value={r.name}>{r.name}{r.ready ? "" : " (not ready)"}</option>)}</select></label></div>
        <div class="pair">{text("turns", "Turns at most", "no limit", { inputMode: "numeric", ...turnsAtMost })}{text("cost", "US dollars at most", "no limit", { inputMode: "decimal", ...costAtMost })}</div>
        <label class="check"><input type="checkbox" checked={f.commit} onChange={(e) => set({ commit: e.currentTarget.checked })} /> At its end, commit what is not</label>
        <label class="check"><input type="checkbox" checked={f.push} onChange={(e) => set({ push: e.currentTarget.checked })} /> At its end, push its work</label></div></details>
      <details open={f.files.length > 0}><summary>Files for its workspace{f.files.length > 0 ? ": " + f.files.length : ""}</summary><div class="form">
        {f.files.map((x, i) => <div key={i} class="form"><div class="line"><label class="grow"><span class="sr">Path of file {i + 1}</span><input value={x.path} placeholder="docs/TASK.md" spellcheck={false} onInput={(e) => file(i, { path: e.currentTarget.value })} /></label><button type="button" class="link" onClick={() => set({ files: f.files.filter((_, j) => j !== i) })}>take away</button></div>
          <label><span class="sr">Content of file {i + 1}</span><textarea class="mono" rows={4} value={x.content} onInput={(e) => file(i, { content: e.currentTarget.value })} /></label></div>)}
        <p><button type="button" class="button" onClick={() => set({ files: [...f.files, { path: "", content: "" }] })}>Add a file</button></p></div></details>
      {a.error && <Failure error={a.error} />}{!isKept && <NotKept />}{started && <Meanwhile>It was started: <ID id={started} to={"/threads/" + started} /></Meanwhile>}
      <div class="line"><Copy text={() => commandOf(checked(f))} label="Copy as CLI">CLI</Copy><Copy text={() => curlOf("/api/managed-threads", {}, requestOf(checked(f)))} label="Copy as curl">curl</Copy><span class="push" />
        <button type="button" class="button" onClick={() => { setForm({ ...empty, type: first }); setKept(keep(drafts, undefined)); setPlan(undefined); forget(); }}>Clear</button>
        {fresh ? <button type="submit" class="button main" disabled={a.busy}>Start it</button> : <button type="submit" class="button main" disabled={a.busy || !f.objective.trim() || !f.type} aria-busy={a.busy}>{a.busy ? "Looking\u2026" : "Look at what it begins with"}</button>}</div>
    </form>
      {fresh && <section ref={told} tabIndex={-1} class="plan" aria-label="What it begins with"><Plan p={fresh.body} /></section>}
      {plan && !fresh && <p class="soft" role="status">Something was changed since the last look.</p>}
    </div></div>;
}

interface Memory { sharedDecisionCount?: number; episodicExperienceCount?: number }

/** All that the server says before anything is started. */
function Plan({ p }: { p: ThreadPlanBody }) {
  const w = p.preparation.workspace;
  const m = ((p.metadata ?? {}) as { memoryContext?: Memory }).memoryContext;
  const rows: [string, string | undefined][] = [["Name", p.name], ["Role", p.role], ["Agent", p.agentType], ["May, without asking", p.preparation.approvalPreset],
    ["Repository", w ? w.repo || "an empty folder" : undefined], ["Branch", w?.branch], ["Begins at", w?.baseCommit], ["Works on", w?.workBranch], ["Path", w?.path], ["Workspace", w?.workspaceId]];
  return <><h2>What it begins with</h2><p class="soft">Nothing is started yet. The workspace is reserved, not checked out.</p>
    <dl class="facts"><div><dt>Execution</dt><dd>{p.executionId === "new" ? "one of its own" : <ID id={p.executionId} to={"/executions/" + p.executionId} />}</dd></div>
      {rows.filter(([, v]) => v).map(([k, v]) => <div key={k}><dt>{k}</dt><dd class={["Begins at", "Works on", "Path", "Workspace"].includes(k) ? "mono" : ""}><Text>{v!}</Text></dd></div>)}
      {m && <div><dt>Remembers</dt><dd>{plural(m.sharedDecisionCount ?? 0, "decision")}, {plural(m.episodicExperienceCount ?? 0, "experience")}</dd></div>}</dl>
    {p.preparation.contextFiles.map((x) => <details key={x.path} class="file" open><summary><span class="mono">{reveal(x.path)}</span>{x.path === ".wardroom/thread-memory.md" && " "}{x.path === ".wardroom/thread-memory.md" && <span class="badge">memory</span>}</summary><Pre text={x.content} label={x.path} /></details>)}</>;
}
