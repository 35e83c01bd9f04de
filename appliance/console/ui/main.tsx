// The console.

import { render } from "preact";
import { useEffect } from "preact/hooks";
import { open } from "./live/live.ts";
import { Empty } from "./part/notice.tsx";
import { go, href, pathOfID, segments } from "./route.ts";
import { readSession } from "./store/session.ts";
import { AgentView, AgentsView } from "./view/agents.tsx";
import { ExecutionView } from "./view/execution.tsx";
import { ExecutionsView } from "./view/executions.tsx";
import { Frame } from "./view/frame.tsx";
import { InboxView } from "./view/inbox.tsx";
import { OverviewView } from "./view/overview.tsx";
import { PatternView, PatternsView } from "./view/patterns.tsx";
import { SystemView, WebhookView, WebhooksView } from "./view/system.tsx";
import { ThreadView } from "./view/thread.tsx";
import { ThreadsView } from "./view/threads.tsx";

function Screen() {
  const [noun, id] = segments.value;
  switch (noun) {
    case undefined: case "overview": return <OverviewView />;
    case "inbox": return <InboxView />;
    case "executions": return id ? <ExecutionView key={id} id={id} /> : <ExecutionsView />;
    case "patterns": return id ? <PatternView key={id} name={id} /> : <PatternsView />;
    case "threads": return id ? <ThreadView key={id} id={id} /> : <ThreadsView />;
    case "agents": return id ? <AgentView key={id} id={id} /> : <AgentsView />;
    case "webhooks": return id ? <WebhookView key={id} id={id} /> : <WebhooksView />;
    case "system": return <SystemView />;
    default: return <Elsewhere path={noun} />;
  }
}

/** Any id of the product opens by /ID. */
function Elsewhere({ path }: { path: string }) {
  const to = pathOfID(path);
  useEffect(() => { if (to) go(to, true); }, [to]);
  return to ? null : <div class="page"><Empty title="There is no such screen"><a href={href("/")}>To the overview</a></Empty></div>;
}

open();
void readSession();
render(<Frame><Screen /></Frame>, document.getElementById("app")!);
