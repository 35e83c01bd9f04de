// What steers threads, agents and deliveries in detail: loaded together, when one of them is shown.

export { Board } from "./board.tsx";
export { Changes } from "./changes.tsx";
export { MemoryView, ThreadDecisions } from "./memory.tsx";
export { NewThread } from "./newthread.tsx";
export { ProcessFigures } from "./process.tsx";
export { ServerLog } from "./serverlog.tsx";
export { SpawnAgent, ThreadScreens, Wall } from "./wall.tsx";
export { WebhookView, WebhooksView } from "./webhooks.tsx";
export { WorkspaceFacts } from "./workspace.tsx";
export { Workspaces } from "./workspaces.tsx";

// Files that the page shares with the other group alone: named here as well, so that what all need first stays one file.
export { cell } from "../part/export.ts";
export { statuses } from "../store/filter.ts";
export { Drawing } from "./drawing.tsx";
export { Entered } from "../part/entered.tsx";
export { PatternField } from "../part/patternfield.tsx";
