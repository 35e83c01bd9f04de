// Screens that few open first, and charts: they are loaded together, when one of them is shown.

export { Durations, Throughput } from "../part/chart.tsx";
export { AuditView } from "./audit.tsx";
export { Elsewhere } from "./elsewhere.tsx";
export { Histogram } from "./histogram.tsx";
export { BatchView, BatchesView } from "./batches.tsx";
export { CompareExecutions, CompareVersions } from "./compare.tsx";
export { PatternEditor } from "./editor.tsx";
export { RunDialog } from "./run.tsx";
export { ScheduleView, SchedulesView } from "./schedules.tsx";
export { TriggerView, TriggersView } from "./triggers.tsx";

// Files that the page shares with the other group alone: named here as well, so that what all need first stays one file.
export { Tail } from "../part/tail.tsx";
export { useFollow } from "../store/follow.ts";
