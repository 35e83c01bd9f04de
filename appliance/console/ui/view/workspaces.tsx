// Worktrees of threads: what they take, why they are kept, and removing those that are over, after a look.

import { useEffect, useState } from "preact/hooks";
import { get, post, seg } from "../api/client.ts";
import type { PruneAnswer, WorkspaceBody, WorkspaceList, WorkspaceUsage } from "../api/types.gen.ts";
import { Dialog, useAct } from "../part/dialog.tsx";
import { ID } from "../part/id.tsx";
import { Empty, Failure, Waiting } from "../part/notice.tsx";
import { Rows } from "../part/rows.tsx";
import { State } from "../part/state.tsx";
import { Choice } from "../part/tabs.tsx";
import { Text, bytes, count, plural } from "../part/text.tsx";
import { When } from "../part/time.tsx";
import { go, queryOf, setQuery } from "../route.ts";
import { useLoad } from "../store/load.ts";
import { usePages } from "../store/pages.ts";
import { may } from "../store/session.ts";
import { WorkspaceFacts } from "./workspace.tsx";

const pathOf = (w: WorkspaceBody): string => (w.threadId ? `/threads/${w.threadId}?tab=workspace` : "/system?tab=workspaces&sel=" + w.workspaceId);

const states: [string, string][] = [["", "any"], ["reserved", "reserved"], ["ready", "ready"], ["released", "released"], ["removed", "removed"]];

export function Workspaces() {
  const status = queryOf("status");
  const l = usePages("workspaces?" + status, (cursor, signal) => get<WorkspaceList>("/api/workspaces", { limit: 100, cursor, status }, signal), (p) => p.workspaces, { on: (e) => e.topics.includes("threads") });
  const usage = useLoad("workspace-usage", (signal) => get<WorkspaceUsage>("/api/workspaces/usage", {}, signal), { on: (e) => e.topics.includes("threads"), pause: 5000 });
  const [pruning, setPruning] = useState(false);
  const sel = queryOf("sel");
  const one = useLoad(sel ? "workspace:" + sel : "", (signal) => get<WorkspaceBody>("/api/workspaces/" + seg(sel), {}, signal), { on: (e) => e.topics.includes("threads"), pause: 2000 });
  const u = usage.data;
  return <><div class="bar"><Choice label="State" value={status} set={(s) => setQuery({ status: s })} options={states} />{l.total !== undefined && <span class="soft nums">{count(l.total)}</span>}
    {u && <span class="soft">{bytes(u.bytes)} in {count(u.count)}{u.maxTotalBytes ? " of " + bytes(u.maxTotalBytes) : ""}; {bytes(u.releasedBytes)} of threads that are over{u.keptCount > 0 ? `, ${plural(u.keptCount, "workspace")} kept` : ""}</span>}<span class="push" />
    {may("workspaces.prune") && <button type="button" class="button" onClick={() => setPruning(true)}>Remove expired ones&hellip;</button>}</div>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} again={l.reload} />}{!l.rows && !l.error && <Waiting />}{usage.error && !l.error && <Failure error={usage.error} old={u !== undefined} again={usage.reload} />}
    {sel && <section class="card" aria-label="Selected workspace"><div class="line"><h2>Workspace</h2><ID id={sel} />{one.data && <State status={one.data.status} />}<span class="push" /><button type="button" class="quiet" aria-label="Close" onClick={() => setQuery({ sel: "" })}>&times;</button></div>
      {one.error && <Failure error={one.error} again={one.reload} />}{one.first && <Waiting />}{one.data && <WorkspaceFacts w={one.data} />}</section>}
    {l.rows?.length === 0 && (status ? <Empty title="No workspace is in this state" /> : <Empty title="No workspaces">Threads work in worktrees of their own; they come here by themselves.</Empty>)}
    {l.rows && l.rows.length > 0 && <Rows label="Workspaces" of={l.of} rows={l.rows} id={(w) => w.workspaceId} to={pathOf} pick={(w) => { if (w.threadId) go(pathOf(w)); else setQuery({ sel: w.workspaceId }); }} chosen={sel} total={l.total} more={l.more} rest={l.full && "wardroom workspace list --all"} columns={[
        { head: "State", cell: (w) => <State status={w.status} /> }, { head: "Repository", class: "grow", cell: (w) => <Text>{w.repo ?? ""}</Text> }, { head: "Work branch", class: "mid", cell: (w) => <Text class="mono">{w.workBranch ?? ""}</Text> },
        { head: "Size", class: "num", cell: (w) => w.sizeBytes ? bytes(w.sizeBytes) : <span class="soft">--</span> }, { head: "Kept because", class: "wide", cell: (w) => <Text class="soft">{w.kept ?? ""}</Text> }, { head: "Expires", class: "mid", cell: (w) => <When at={w.expiresAt} /> }, { head: "Made", cell: (w) => <When at={w.createdAt} /> },
      ]} />}
    {pruning && <Prune close={() => { setPruning(false); l.reload(); usage.reload(); }} />}</>;
}

/** Shows what would be removed, and removes exactly that. */
function Prune({ close }: { close: () => void }) {
  const [looked, setLooked] = useState<PruneAnswer | undefined>();
  const [done, setDone] = useState<PruneAnswer | undefined>();
  const a = useAct();
  const look = () => void a.act(() => post<PruneAnswer>("/api/workspaces/prune", { dryRun: true }).then(setLooked));
  useEffect(look, []);
  const ids = (looked?.pruned ?? []).filter((r) => r.removed).map((r) => r.id);
  const shown = done ?? looked;
  return <Dialog title="Remove expired workspaces" close={close} wide><div class="body">
    {a.error && <Failure error={a.error} again={looked ? undefined : look} />}{!shown && !a.error && <Waiting />}
    {shown && <p role="status">{done ? `${plural(done.removed, "workspace")} removed, ${bytes(done.freedBytes)} freed.` : ids.length === 0 ? "None would be removed." : `${plural(ids.length, "workspace")} would be removed, ${bytes(shown.freedBytes)} freed. Work that is nowhere else is kept.`}</p>}
    {shown && shown.pruned.length > 0 && <table class="plain"><thead><tr><th scope="col">Workspace</th><th scope="col">Frees</th><th scope="col">Outcome</th></tr></thead><tbody>{shown.pruned.map((r) => <tr key={r.id}><td><ID id={r.id} /></td><td class="nums">{r.freedBytes ? bytes(r.freedBytes) : ""}</td><td>{r.removed ? done ? "removed" : "would be removed" : <>kept: <Text>{r.reason ?? ""}</Text></>}</td></tr>)}</tbody></table>}
  </div><footer>{done || ids.length === 0 ? <button type="button" class="button main" onClick={close}>Close</button> : <><button type="button" class="button" onClick={close}>Keep them</button>
    <button type="button" class="button danger" disabled={a.busy} onClick={() => void a.act(() => post<PruneAnswer>("/api/workspaces/prune", { ids }).then(setDone))}>Remove {count(ids.length)}</button></>}</footer></Dialog>;
}
