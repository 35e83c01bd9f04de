// Managed agents: their screens side by side, and the start of a new one.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, get } from "../api/client.ts";
import type { ManagedAgentBody, ManagedAgentList, ManagedAgentScreen, ScreenList, ThreadBody } from "../api/types.gen.ts";
import { Dialog, useAct, useKeyOf } from "../part/dialog.tsx";
import { Command, Empty, Failure, Meanwhile, Waiting } from "../part/notice.tsx";
import { ID } from "../part/id.tsx";
import { State } from "../part/state.tsx";
import { Text, count, reveal } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { href, onward } from "../route.ts";
import { refused, useLoad, useRuntimes } from "../store/load.ts";
import { session } from "../store/session.ts";

const most = 48; // agents of a wall
const everyMs = 1000;
const rarelyMs = 60_000;

/** A screen that could not be read is read again at a time, and before if its agent is in another state then. */
interface Rest { status: string; pause: number; until: number }

/** What a tile shows. */
type Seen = Pick<ManagedAgentScreen, "agentId" | "rows" | "lines" | "reason">;

/**
 * Reads the screens of those in view, all in one request, at most once a second, and none while the page is hidden. A screen that is
 * refused is not read again before the person's rights or the agent change, and one that cannot be read for another reason ever more rarely.
 */
function useScreens(shown: Shown[]): { screens: ReadonlyMap<string, Seen>; error?: ApiError; observe: (el: Element | null) => void } {
  const [screens, setScreens] = useState<ReadonlyMap<string, Seen>>(new Map());
  const [error, setError] = useState<ApiError | undefined>();
  const inView = useRef(new Set<string>());
  const watcher = useRef<IntersectionObserver>(undefined);
  watcher.current ??= new IntersectionObserver((entries) => {
    for (const e of entries) {
      const id = (e.target as HTMLElement).dataset.id!;
      if (e.isIntersecting) inView.current.add(id);
      else inView.current.delete(id);
    }
  });
  const wanted = useRef(shown);
  wanted.current = shown;
  const rests = useRef(new Map<string, Rest>());
  useEffect(() => rests.current.clear(), [session.value]);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      for (const id of rests.current.keys()) if (!wanted.current.some((s) => s.id === id)) rests.current.delete(id);
      const due = wanted.current.filter((s) => {
        const r = rests.current.get(s.id);
        return inView.current.has(s.id) && (!r || r.status !== s.status || performance.now() >= r.until);
      });
      const asker = session.peek();
      const take = (read: Seen[], whole: boolean) => { // without whole, none of them is to be had
        if (asker !== session.peek()) return; // of other rights
        for (const { id, status } of due) {
          const s = read.find((one) => one.agentId === id);
          const last = rests.current.get(id);
          const pause = !s || !whole ? Infinity : Math.min(2 * (last?.status === status ? last.pause : everyMs / 2), rarelyMs);
          if (s && s.reason === undefined) rests.current.delete(id);
          else rests.current.set(id, { status, pause, until: performance.now() + pause });
        }
        setScreens((old) => {
          const next = new Map([...old].filter(([id]) => wanted.current.some((s) => s.id === id))); // not of agents that left
          let changed = next.size < old.size;
          for (const { id } of due) {
            const s = read.find((one) => one.agentId === id) ?? { agentId: id, rows: 0, lines: [], reason: "You may not read this screen." }; // it is left out
            if (JSON.stringify(old.get(id)) === JSON.stringify(s)) continue;
            next.set(id, s);
            changed = true;
          }
          return changed ? next : old; // a wall on which nothing happens is not drawn anew
        });
      };
      let pause = everyMs;
      if (due.length > 0 && !document.hidden) {
        try {
          const page = await get<ScreenList>("/api/managed-agents/screens", { agentIds: due.map((s) => s.id).join(",") }, abort.signal);
          take(page.screens, true);
          setError(undefined);
        } catch (err) {
          if (abort.signal.aborted) return;
          const e = err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "");
          if (refused(e)) take(due.map(({ id }) => ({ agentId: id, rows: 0, lines: [], reason: e.message })), false);
          setError(refused(e) ? undefined : e);
          pause = Math.max(3000, e.retryAfter * 1000);
        }
      }
      if (!abort.signal.aborted) timer = setTimeout(() => void look(), pause);
    };
    timer = setTimeout(() => void look(), 50); // once it is known what is in view
    return () => { abort.abort(); clearTimeout(timer); watcher.current?.disconnect(); };
  }, []);
  return { screens, error, observe: (el) => { if (el) watcher.current!.observe(el); } };
}

export function Wall() {
  const l = useLoad("wall", async (signal) => {
    const pages = await Promise.all(["busy", "ready", "starting", "error", "unreachable"].map((status) => get<ManagedAgentList>("/api/managed-agents", { status, limit: most }, signal)));
    return { agents: pages.flatMap((p) => p.agents), total: pages.reduce((n, p) => n + p.total, 0) };
  }, { on: (e) => e.topics.includes("agents"), pause: 1000 });
  // A tile keeps its place: who asks comes first when the wall is opened, and new ones come last.
  const order = useRef<string[]>([]);
  const agents = new Map((l.data?.agents ?? []).map((a) => [a.id, a]));
  const asks = (a: ManagedAgentBody) => a.statusReason === "blocked" || a.statusReason === "login_required";
  if (l.data && order.current.length === 0) order.current = [...agents.values()].sort((a, b) => Number(asks(b)) - Number(asks(a))).map((a) => a.id);
  order.current = [...order.current.filter((id) => agents.has(id)), ...[...agents.keys()].filter((id) => !order.current.includes(id))];
  const ids = order.current.slice(0, most);
  if (!l.data) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  if (ids.length === 0) return <Empty title="No managed agent runs">Coding tools in terminals of their own: <Command text={'wardroom agent spawn claude --name helper --workdir "$PWD"'} /></Empty>;
  return <>{l.error && <Failure error={l.error} old again={l.reload} />}
    {l.data.total > ids.length && <p class="bar soft">{count(ids.length)} of {count(l.data.total)} are here.</p>}
    <Screens shown={ids.map((id) => { const a = agents.get(id)!; return { id, name: a.name, type: a.type, status: asks(a) ? a.statusReason! : a.status, asks: asks(a), at: a.lastActivityAt, to: asks(a) ? "/inbox" : "/agents/" + id }; })} /></>;
}

/** Whose screen is shown, under which name, and where it leads. */
export interface Shown { id: string; name: string; type: string; status: string; asks: boolean; at: string; to: string }

/** The threads of an execution that have an agent now, side by side. */
export function ThreadScreens({ threads }: { threads: ThreadBody[] }) {
  const all = threads.filter((t) => t.managedAgentId && !["completed", "failed", "stopped"].includes(t.status));
  const shown = all.slice(0, most)
    .map((t) => ({ id: t.managedAgentId!, name: t.name || t.role, type: t.agentType, status: t.status, asks: t.status === "blocked", at: t.lastActivityAt, to: "/threads/" + t.id }));
  return shown.length === 0 ? null : <>{all.length > most && <p class="bar soft">The screens of {count(most)} of {count(all.length)} are here.</p>}<Screens shown={shown} /></>;
}

function Screens({ shown }: { shown: Shown[] }) {
  const { screens, error, observe } = useScreens(shown);
  return <>{error && <Failure error={error} old />}<ul class="wall scrolls" tabIndex={0} aria-label="Screens">{shown.map((s) => <Tile key={s.id} of={s} screen={screens.get(s.id)} observe={observe} />)}</ul></>;
}

function Tile({ of: a, screen: s, observe }: { of: Shown; screen?: Seen; observe: (el: Element | null) => void }) {
  const box = useRef<HTMLLIElement>(null);
  useEffect(() => observe(box.current), []);
  return <li ref={box} data-id={a.id} class={"tile-screen" + (a.asks ? " needs" : "")}><a data-index={0} href={href(a.to)} class="line"><strong class="clip"><Text>{a.name}</Text></strong><span class="soft clip kind"><Text>{a.type}</Text></span><State status={a.status} /><span class="push" /><When at={a.at} suffix="" /></a>
    <pre aria-label={"Screen of " + a.name} role="region">{s ? s.reason ? <span class="hot">{reveal(s.reason)}</span> : reveal(s.lines.slice(-s.rows).join("\n")) : ""}</pre></li>;
}

const presets = ["readonly", "standard", "permissive", "autonomous"];

/** Starts an agent of a type that a runtime has; what the others lack is said. */
export function SpawnAgent({ close }: { close: () => void }) {
  const l = useRuntimes();
  const [type, setType] = useState("");
  const [runtime, setRuntime] = useState("");
  const [fields, setFields] = useState({ name: "", workdir: "", preset: "standard", capabilities: "" });
  const keyOf = useKeyOf();
  const a = useAct();
  const ready = (l.data?.runtimes ?? []).filter((r) => r.ready && (!runtime || r.name === runtime));
  const types = [...new Set(ready.flatMap((r) => r.types.filter((t) => !r.missingTypes?.includes(t))))];
  const missing = [...new Set(ready.flatMap((r) => r.missingTypes ?? []))].filter((t) => !types.includes(t));
  const away = (l.data?.runtimes ?? []).filter((r) => !r.ready);
  const chosen = types.includes(type) ? type : types[0] ?? "";
  const set = (change: Partial<typeof fields>) => setFields({ ...fields, ...change });
  const body = {
    type: chosen, approvalPreset: fields.preset, ...(runtime && { runtime }), ...(fields.name.trim() && { name: fields.name.trim() }), ...(fields.workdir.trim() && { workdir: fields.workdir.trim() }),
    ...(fields.capabilities.trim() && { capabilities: fields.capabilities.split(",").map((c) => c.trim()).filter(Boolean) }),
  };
  const latest = useRef("");
  latest.current = JSON.stringify(body);
  const [started, setStarted] = useState("");
  const spawn = () => void a.act(async () => {
    const open = onward((made: ManagedAgentBody) => { close(); return "/agents/" + made.id; });
    const sent = latest.current;
    setStarted("");
    const made = await call<ManagedAgentBody>("POST", "/api/managed-agents", { once: keyOf(body), timeout: 120_000, body });
    if (latest.current === sent) open(made);
    else setStarted(made.id);
  });
  return <Dialog title="Start an agent" close={close}>
    {l.error && <Failure error={l.error} again={l.reload} />}{l.first && <Waiting />}
    {l.data && <form onSubmit={(e) => { e.preventDefault(); spawn(); }}><div class="body form">
      {types.length === 0 ? <p class="hot">No runtime that is ready has a program that it could start.</p> : <div class="pair"><label><span>Type</span><select name="type" value={chosen} onChange={(e) => setType(e.currentTarget.value)}>{types.map((t) => <option key={t} value={t}>{t}</option>)}</select></label>
        <label><span>Runtime</span><select name="runtime" value={runtime} onChange={(e) => setRuntime(e.currentTarget.value)}><option value="">the first that is ready</option>{l.data.runtimes.filter((r) => r.ready).map((r) => <option key={r.name} value={r.name}>{r.name}</option>)}</select></label></div>}
      {missing.length > 0 && <p class="soft">Their programs are not installed: <Text>{missing.join(", ")}</Text></p>}{away.map((r) => <p key={r.name} class="soft"><Text>{r.name}</Text> is not ready{r.reason && <>: <Text>{r.reason}</Text></>}</p>)}
      <div class="pair"><label><span>Name</span><input name="name" value={fields.name} placeholder="made of the type" spellcheck={false} onInput={(e) => set({ name: e.currentTarget.value })} /></label>
        <label><span>It may, without asking</span><select value={fields.preset} onChange={(e) => set({ preset: e.currentTarget.value })}>{presets.map((p) => <option key={p} value={p}>{p}</option>)}</select></label></div>
      <label><span>Folder, on the runtime</span><input name="workdir" value={fields.workdir} placeholder="a fresh one of its own" spellcheck={false} onInput={(e) => set({ workdir: e.currentTarget.value })} /></label>
      <label><span>Capabilities, for patterns</span><input value={fields.capabilities} placeholder="coding, review" spellcheck={false} onInput={(e) => set({ capabilities: e.currentTarget.value })} /></label>
      {a.error && <Failure error={a.error} />}{started && <Meanwhile>It was started: <ID id={started} to={"/agents/" + started} /></Meanwhile>}</div>
      <footer><button type="button" class="button" onClick={close}>Close</button><button type="submit" class="button main" disabled={a.busy || !chosen} aria-busy={a.busy}>{a.busy ? "Starting\u2026" : "Start"}</button></footer></form>}
  </Dialog>;
}
