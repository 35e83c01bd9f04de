// What has tests of its own, which run in a browser: logic without a document. It is of no bundle that is served.

export { editOf, parseDiff } from "./part/diff.tsx";
export { cell, csv } from "./part/export.ts";
export { find } from "./part/find.ts";
export { reveal, revealed } from "./part/text.tsx";
export { lasted, roughly } from "./part/time.tsx";
export { word } from "./api/client.ts";
export { Gathered } from "./live/gathered.ts";
export { Hub, parseFrame } from "./live/hub.ts";
export { pathOfID } from "./route.ts";
export { answerCommand } from "./store/ask.ts";
export { grouped } from "./store/board.ts";
export { parseExact } from "./store/exact.ts";
export { readInputs } from "./store/inputs.ts";
export { lineDiff } from "./store/linediff.ts";
export { merged } from "./store/timelineread.ts";
export { messageOf, paired } from "./store/remarks.ts";
export { Filter, Scale, Tree, byStep, criticalPath, rowsOf } from "./store/timeline.ts";
