// What is opened by /ID and whose id does not tell where it is shown: the server is asked.

import { useEffect } from "preact/hooks";
import { get, seg } from "../api/client.ts";
import type { Location } from "../api/types.gen.ts";
import { Command, Empty, Failure, Waiting } from "../part/notice.tsx";
import { useTitle } from "../part/title.ts";
import { go, href, isID, pathOfID } from "../route.ts";
import { useLoad } from "../store/load.ts";

const located = ["task", "msg", "in", "dec", "dlv", "evt"];

// Ids that have no screen, with what they are of and the command that shows it.
const without: Record<string, [string, string]> = {
  key: ["API keys have no screen here", "wardroom auth list-keys"],
  atok: ["Registration tokens of agents have no screen here", "wardroom agent list-tokens"],
  sess: ["Your own sessions are under your name at the top; the command line has those of others", "wardroom auth sessions list"],
  ers: ["Erasures have no screen here", "wardroom data erasures"],
  inst: ["It is the installation itself: all screens are about it", "wardroom status"],
};

/** Where something that was located is shown. */
function pathOf(l: Location): string {
  const of = encodeURIComponent(`${l.kind}:${l.id}`);
  if (l.webhookId) return `/webhooks/${l.webhookId}?sel=${l.id}`;
  if (l.threadId) return l.kind === "decision" ? `/threads/${l.threadId}?tab=memory&sel=${l.id}` : `/threads/${l.threadId}?sel=${l.id}`;
  if (l.executionId) return `/executions/${l.executionId}` + (l.kind === "decision" ? "" : "?sel=" + of);
  if (l.pattern) return "/patterns/" + seg(l.pattern);
  return pathOfID(l.subject ?? "") || "/system";
}

export function Elsewhere({ id }: { id: string }) {
  useTitle("Open");
  const kind = isID(id) ? id.slice(0, id.indexOf("_")) : "";
  const l = useLoad(located.includes(kind) ? "location:" + id : "", (signal) => get<Location>("/api/ids/" + seg(id), {}, signal));
  useEffect(() => { if (l.data) go(pathOf(l.data), true); }, [l.data]);
  if (l.error) return <div class="page"><Failure error={l.error} again={l.reload} /></div>;
  if (located.includes(kind)) return <Waiting />;
  const none = without[kind];
  return <div class="page"><Empty title={none ? none[0] : "There is no such screen"}>{none ? <Command text={none[1]} /> : <a href={href("/")}>To the overview</a>}</Empty></div>;
}
