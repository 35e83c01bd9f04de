import type { ComponentChildren } from "preact";
import { get } from "../api/client.ts";
import type { ThreadBody, ThreadList } from "../api/types.gen.ts";
import { ID } from "../part/id.tsx";
import { Command, Empty, Failure, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice } from "../part/tabs.tsx";
import { Text, count } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { useTitle } from "../part/title.ts";
import { go, queryOf, setQuery } from "../route.ts";
import type { BoardBy } from "../store/board.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";
import { further } from "./lazy.tsx";

export function ThreadRows({ threads, label, of, total, more, rest }: { threads: ThreadBody[]; label: string; of?: string; total?: number; more?: () => void; rest?: string | false }) {
  return <Rows label={label} of={of} rows={threads} id={(t) => t.id} to={(t) => "/threads/" + t.id} total={total} more={more} rest={rest} columns={[
    { head: "State", cell: (t) => <State status={t.status} word={t.statusReason && t.status === "blocked" ? "blocked: " + t.statusReason : undefined} /> },
    { head: "Name", class: "grow", cell: (t) => <><Text>{t.name || t.objective.split("\n", 1)[0]}</Text>{t.queuedInputs > 0 && <span class="badge" title="Messages that wait">{t.queuedInputs} queued</span>}</> },
    { head: "Role", class: "mid", cell: (t) => <Text>{t.role}</Text> },
    { head: "Agent", cell: (t) => <Text>{t.agentType}</Text> },
    { head: "Turns", class: "num mid", cell: (t) => count(t.turnCount) },
    { head: "Changes", class: "wide", cell: (t) => t.completion?.changes ? <><span class="added">+{count(t.completion.changes.insertions)}</span> <span class="removed">&minus;{count(t.completion.changes.deletions)}</span></> : <span class="soft">--</span> },
    { head: "Active", cell: (t) => <When at={t.lastActivityAt} /> },
    { head: "Id", class: "wide", cell: (t) => <ID id={t.id} to={"/threads/" + t.id} /> },
  ]} />;
}

const statuses = ["pending", "preparing", "starting", "ready", "running", "blocked", "idle", "completed", "failed", "stopped"];
const boards: [string, string][] = [["", "table"], ["state", "by state"], ["execution", "by execution"], ["repository", "by repository"]];

const Board = further((m) => m.Board);
const NewThread = further((m) => m.NewThread);

export function ThreadsView() {
  return queryOf("tab") === "new" ? <NewThread /> : <Overall />;
}

function Overall() {
  useTitle("Threads");
  const board = queryOf("board");
  const by = boards.some(([b]) => b && b === board) ? board as BoardBy : undefined;
  return <div class="page full">
    {by ? <><Head board={by} /><Board by={by} /></> : <Table />}
  </div>;
}

function Head({ board, total, children }: { board: string; total?: number; children?: ComponentChildren }) {
  return <header class="head"><div class="line"><h1>Threads</h1>{total !== undefined && <span class="soft nums">{count(total)}</span>}<span class="push" />
    <Choice label="Shown" value={board} set={(b) => setQuery({ board: b, status: "" }, false)} options={boards} />{children}
    {may("threads.prepare") && may("threads.spawn") && <button type="button" class="button main" onClick={() => go("/threads?tab=new")}>New&hellip;</button>}</div></header>;
}

function Table() {
  const status = queryOf("status");
  const l = usePages("threads?" + status, (cursor, signal) => get<ThreadList>("/api/managed-threads", { status, limit: 100, cursor }, signal), (p) => p.threads, { on: (e) => e.topics.includes("threads") });
  return <>
    <Head board="" total={l.total}><Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={[["", "any"], ...statuses.map((s): [string, string] => [s, s])]} /></Head>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}
    {!l.rows && !l.error && <Waiting />}
    {l.rows && l.rows.length === 0 && (status ? <Empty title="No thread is in this state" /> : <Empty title="No threads yet">A thread is long-lived work of one agent in a workspace of its own: <Command text="wardroom thread spawn --type claude --objective 'Say in NOTES.md what this repository is for' --repo URL" /></Empty>)}
    {l.rows && l.rows.length > 0 && <ThreadRows threads={l.rows} label="Threads" of={l.of} total={l.total} more={l.more} rest={l.full && "wardroom thread list --all"} />}
  </>;
}
