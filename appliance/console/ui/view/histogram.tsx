// What the filters of a list select over time, to narrow the list by.

import { get, now } from "../api/client.ts";
import type { ExecutionHistogram } from "../api/types.gen.ts";
import { Made } from "../part/chart.tsx";
import { Failure } from "../part/notice.tsx";
import { setQuery } from "../route.ts";
import { filtersIn, queryOfFilter } from "../store/filter.ts";
import { useLoad } from "../store/load.ts";

// Length and step of a range in milliseconds: at most 120 steps.
const ranges: Record<string, [string, number, number]> = { "1h": ["hour", 3600e3, 60e3], "24h": ["24 hours", 864e5, 900e3], "7d": ["7 days", 6048e5, 7200e3], "30d": ["30 days", 2592e6, 21600e3] };

export function Histogram({ filter }: { filter: URLSearchParams }) {
  const [words, length, step] = ranges[filter.get("range") ?? ""] ?? ranges["30d"]!;
  const rest = new URLSearchParams(filter); // the chart shows around what was picked in it
  for (const n of ["since", "until", "range"]) rest.delete(n);
  const key = "histogram?" + length + filtersIn(rest).sort().map((n) => "&" + n + "=" + rest.get(n)).join("");
  const h = useLoad(key, (signal) => {
    const until = Math.ceil(now() / step) * step;
    return get<ExecutionHistogram>("/api/executions/histogram", { ...queryOfFilter(rest, now()), since: new Date(until - length).toISOString(), until: new Date(until).toISOString(), steps: length / step }, signal);
  }, { on: (e) => e.topics.includes("executions"), pause: 5000 });
  if (!h.data) return h.error ? <Failure error={h.error} again={h.reload} /> : null;
  const at = (name: string) => { const t = Date.parse(filter.get(name) ?? ""); return Number.isNaN(t) ? undefined : t; };
  const spans = h.data.steps.map((s) => ({ at: Date.parse(s.at), completed: s.count - s.failed, failed: s.failed, cancelled: 0 }));
  return <div class="histogram"><Made range={words} from={Date.parse(h.data.since)} to={Date.parse(h.data.until)} step={h.data.stepMs} spans={spans} picked={[at("since"), at("until")]}
    pick={(from, to) => setQuery({ since: new Date(from).toISOString(), until: new Date(to).toISOString() }, false)} />
    <p class="soft">What the filters select, by when it was made{h.data.totalAtLeast ? "; counts are lower bounds" : ""}. Drag over a time to narrow the list to it; by keys: <strong>+ filter</strong>, made from and until.</p></div>;
}
