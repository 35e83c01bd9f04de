// The console.

import { effect } from "@preact/signals";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { signInNeeded } from "./api/client.ts";
import { connection, listen, open } from "./live/live.ts";
import { go, pathOfID, segments } from "./route.ts";
import { asked, readSession, session } from "./store/session.ts";
import { AgentView, AgentsView } from "./view/agents.tsx";
import { ExecutionView } from "./view/execution.tsx";
import { ExecutionsView } from "./view/executions.tsx";
import { Frame } from "./view/frame.tsx";
import { InboxView } from "./view/inbox.tsx";
import { further, more } from "./view/lazy.tsx";
import { OverviewView } from "./view/overview.tsx";
import { PatternView, PatternsView } from "./view/patterns.tsx";
import { SystemView } from "./view/system.tsx";
import { ThreadView } from "./view/thread.tsx";
import { ThreadsView } from "./view/threads.tsx";

const BatchView = more((m) => m.BatchView);
const BatchesView = more((m) => m.BatchesView);
const ScheduleView = more((m) => m.ScheduleView);
const SchedulesView = more((m) => m.SchedulesView);
const TriggerView = more((m) => m.TriggerView);
const TriggersView = more((m) => m.TriggersView);
const AuditView = more((m) => m.AuditView);
const Elsewhere = more((m) => m.Elsewhere);
const MemoryView = further((m) => m.MemoryView);
const WebhookView = further((m) => m.WebhookView);
const WebhooksView = further((m) => m.WebhooksView);

function Screen() {
  const [noun, id] = segments.value;
  switch (noun) {
    case undefined: case "overview": return <OverviewView />;
    case "inbox": return <InboxView />;
    case "executions": return id ? <ExecutionView key={id} id={id} /> : <ExecutionsView />;
    case "batches": return id ? <BatchView key={id} id={id} /> : <BatchesView />;
    case "schedules": return id ? <ScheduleView key={id} id={id} /> : <SchedulesView />;
    case "triggers": return id ? <TriggerView key={id} id={id} /> : <TriggersView />;
    case "audit": return <AuditView />;
    case "patterns": return id ? <PatternView key={id} name={id} /> : <PatternsView />;
    case "threads": return id ? <ThreadView key={id} id={id} /> : <ThreadsView />;
    case "agents": return id ? <AgentView key={id} id={id} /> : <AgentsView />;
    case "memory": return <MemoryView />;
    case "webhooks": return id ? <WebhookView key={id} id={id} /> : <WebhooksView />;
    case "system": return <SystemView />;
    default: return <Opened key={noun} id={noun} />;
  }
}

/** Any id of the product opens by /ID. */
function Opened({ id }: { id: string }) {
  const to = pathOfID(id);
  useEffect(() => { if (to) go(to, true); }, [to]);
  return to ? null : <Elsewhere id={id} />;
}

// The stream begins when the server has said that we may have it; one that was away at first is asked again once it is there.
let opened = false;
effect(() => {
  if (opened || !asked.value || signInNeeded.value) return;
  opened = true;
  open(() => void readSession()); // another person may have signed in meanwhile
});
listen({ events: () => undefined, gap: () => { if (!session.peek()) void readSession(); } });
// A stream that is refused: the session is over, or a right was withdrawn. Else nothing would be asked for until a person does something.
effect(() => { if (connection.value.state === "refused") void readSession(); });
void readSession();
render(<Frame><Screen /></Frame>, document.getElementById("app")!);
