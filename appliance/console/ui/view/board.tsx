// Threads as a board: a column for each state, execution or repository.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { get } from "../api/client.ts";
import type { ThreadBody, ThreadList } from "../api/types.gen.ts";
import { ID } from "../part/id.tsx";
import { Command, Empty, Failure, Waiting } from "../part/notice.tsx";
import { State } from "../part/state.tsx";
import { Text, count } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { href, setQuery } from "../route.ts";
import type { Prompt } from "../store/ask.ts";
import { grouped, lanes, type BoardBy } from "../store/board.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";

const shown = 20; // of a state
const changed = { on: (e: { topics: string[] }) => e.topics.includes("threads"), pause: 1500 };

export function Board({ by }: { by: BoardBy }) {
  return by === "state" ? <ByState /> : <ByGroup key={by} by={by} />;
}

/** Each state is asked for by itself, so that its figure is right however many threads there are. */
async function readStates(signal: AbortSignal): Promise<{ name: string; threads: ThreadBody[]; total: number; one?: string }[]> {
  const lists = await Promise.all(lanes.flatMap(([, statuses]) => statuses).map(async (status) => [status, await get<ThreadList>("/api/managed-threads", { status, limit: shown }, signal)] as const));
  const by = new Map(lists);
  return lanes.map(([name, statuses]) => {
    const of = statuses.map((s) => by.get(s)!);
    return { name, threads: of.flatMap((l) => l.threads), total: of.reduce((n, l) => n + l.total, 0), one: statuses.length === 1 ? statuses[0] : undefined };
  });
}

function ByState() {
  const l = useLoad("board-state", readStates, changed);
  if (!l.data) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  if (l.data.every((c) => c.total === 0)) return <Empty title="No threads yet">They come here by themselves.</Empty>;
  return <Columns error={l.error && <Failure error={l.error} old again={l.reload} />}>
    {l.data.filter((c) => c.total > 0 || c.name === "blocked" || c.name === "running").map((c) => <Column key={c.name} head={<State status={c.name === "begins" ? "starting" : c.name} word={c.name} />} name={c.name} total={c.total} threads={c.threads} state={false}>
      {c.total > c.threads.length && !c.one && <p class="soft">The newest {count(shown)} of each of its states are here.</p>}
      {c.total > c.threads.length && c.one && <button type="button" class="link" onClick={() => setQuery({ board: "", status: c.one! }, false)}>all {count(c.total)}</button>}</Column>)}
  </Columns>;
}

function ByGroup({ by }: { by: "execution" | "repository" }) {
  const l = usePages("board", (cursor, signal) => get<ThreadList>("/api/managed-threads", { limit: 100, cursor }, signal), (p) => p.threads, changed);
  if (!l.rows) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  if (l.rows.length === 0) return <Empty title="No threads yet">They come here by themselves.</Empty>;
  return <><Columns error={l.error && <Failure error={l.error} old again={l.reload} />}>
    {grouped(l.rows, by).map((g) => <Column key={g.key} name={g.key || "no repository"} total={g.threads.length} threads={g.threads} state
      head={by === "execution" ? <ID id={g.key} to={"/executions/" + g.key} /> : g.key ? <Text>{g.key}</Text> : <span class="soft">no repository</span>} />)}
  </Columns>{!l.whole && <p class="bar"><span class="soft">The newest {count(l.rows.length)}{l.total !== undefined && " of " + count(l.total)} threads are here.</span>{l.full ? <><span class="soft">All are listed by</span> <Command text="wardroom thread list --all" /></> : <button type="button" class="button" onClick={l.more}>Further ones</button>}</p>}</>;
}

/** The columns. Arrows and j, k go from card to card, left and right from column to column. */
function Columns({ error, children }: { error: ComponentChildren; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const keys = (e: KeyboardEvent) => {
    const card = (e.target as Element).closest<HTMLElement>("a[data-index]");
    if (!card || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = [...box.current!.querySelectorAll<HTMLElement>("a[data-index]")];
    const columns = [...box.current!.querySelectorAll("section")].map((s) => [...s.querySelectorAll<HTMLElement>("a[data-index]")]).filter((c) => c.length > 0);
    const column = columns.findIndex((c) => c.includes(card));
    const row = columns[column]!.indexOf(card);
    const beside = (by: number) => { const c = columns[column + by]; return c?.[Math.min(row, c.length - 1)]; };
    const to = { ArrowDown: all[all.indexOf(card) + 1], ArrowUp: all[all.indexOf(card) - 1], ArrowRight: beside(1), ArrowLeft: beside(-1) }[e.key];
    if (!to) return;
    to.focus();
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
    e.preventDefault();
  };
  return <>{error}<div class="board" ref={box} onKeyDown={keys} tabIndex={-1}>{children}</div></>;
}

function Column({ head, name, total, threads, state, children }: { head: ComponentChildren; name: string; total: number; threads: ThreadBody[]; state: boolean; children?: ComponentChildren }) {
  return <section aria-label={name}><h2>{head} <span class="count">{count(total)}</span></h2>
    {threads.length === 0 ? <p class="soft">none</p> : <ul>{threads.map((t) => <li key={t.id}><a class="card" data-index={0} href={href("/threads/" + t.id)}>
      <strong><Text>{t.name || t.objective.split("\n", 1)[0]}</Text></strong>
      {state && <State status={t.status} />}
      {t.status === "blocked" && <span class="hot"><Text>{((t.prompt as Prompt | undefined)?.text ?? "a login").split("\n", 1)[0]!.slice(0, 160)}</Text></span>}
      <span class="line soft"><Text>{t.role}</Text><Text>{t.agentType}</Text>{t.queuedInputs > 0 && <span>{count(t.queuedInputs)} queued</span>}
        {t.completion?.changes && <span><span class="added">+{count(t.completion.changes.insertions)}</span> <span class="removed">&minus;{count(t.completion.changes.deletions)}</span></span>}<span class="push" /><When at={t.lastActivityAt} suffix="" /></span>
    </a></li>)}</ul>}{children}</section>;
}
