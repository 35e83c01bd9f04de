import type { WorkspaceBody } from "../api/types.gen.ts";
import { ID } from "../part/id.tsx";
import { Pre, Text, bytes } from "../part/text.tsx";
import { When } from "../part/time.tsx";

/** What is known of a worktree. */
export function WorkspaceFacts({ w }: { w: WorkspaceBody }) {
  const rows: [string, string | undefined][] = [["Id", w.workspaceId], ["State", w.status], ["Path", w.path], ["Repository", w.repo], ["Branch", w.branch], ["Work branch", w.workBranch], ["Base commit", w.baseCommit], ["Size", w.sizeBytes ? bytes(w.sizeBytes) : undefined], ["Kept because", w.kept]];
  return <><dl class="facts">{w.threadId && <div><dt>Thread</dt><dd><ID id={w.threadId} to={"/threads/" + w.threadId} /></dd></div>}{rows.filter(([, v]) => v).map(([k, v]) => <div key={k}><dt>{k}</dt><dd class="mono"><Text>{v!}</Text></dd></div>)}{w.expiresAt && <div><dt>Removed</dt><dd><When at={w.expiresAt} /></dd></div>}</dl>
    {(w.warnings ?? []).map((text, i) => <Pre key={i} text={text} label="Warning" />)}</>;
}
