// The server's own log, as it comes.

import type { ServerLogLine } from "../api/types.gen.ts";
import { Failure, Waiting } from "../part/notice.tsx";
import { Tail } from "../part/tail.tsx";
import { Choice, Filter } from "../part/tabs.tsx";
import { count } from "../part/text.tsx";
import { timeOfDay } from "../part/time.tsx";
import { queryOf, setQuery } from "../route.ts";
import { useFollow } from "../store/follow.ts";
import { useTyped } from "../part/typed.ts";

const levels: [string, string][] = [["", "any"], ["debug", "debug and above"], ["info", "info and above"], ["warn", "warnings and errors"], ["error", "errors"]];

export function ServerLog() {
  const level = queryOf("level");
  const text = queryOf("text");
  const [typed, setTyped] = useTyped("text");
  const l = useFollow<ServerLogLine>("/api/admin/log", { tail: 1000, follow: true, level, text });
  const line = (x: ServerLogLine) => (x.lost ? `... ${count(x.lost)} lines were missed\n` : "") + `${timeOfDay(x.timestamp)} ${x.level.padEnd(5)} ${x.part ? x.part + ": " : ""}${x.message}`;
  return <><div class="bar"><Choice label="Level" value={level} set={(v) => setQuery({ level: v })} options={levels} /><Filter label="Lines with" value={typed} set={setTyped} />
    <span class="soft" role="status">{l.live ? "followed as it comes" : "not followed now"}</span>{l.rows && <span class="soft nums">{count(l.rows.length)} lines</span>}</div>
    {l.error && <Failure error={l.error} old={Boolean(l.rows)} />}
    {l.rows ? <Tail text={l.rows.map(line).join("\n") || (level || text ? "Nothing of what is kept fits these filters." : "Nothing was logged.")} label="Log of the server" /> : !l.error && <Waiting />}</>;
}
