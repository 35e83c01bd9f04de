// The numbers of the overview, as its charts want them.

import type { Overview, OverviewSpan } from "../api/types.gen.ts";
import type { Span } from "../part/chart.tsx";

export const ranges: [string, string, number, number][] = [ // as the API has it, for people, length, step of a bar
  ["1h", "hour", 3600e3, 60e3], ["24h", "24 hours", 864e5, 600e3], ["7d", "7 days", 6048e5, 3600e3], ["30d", "30 days", 2592e6, 3600e3 * 6],
];

/** A number of a table by status. */
export const of = (table: Record<string, unknown> | undefined, status: string): number => Number(table?.[status] ?? 0);

/** Sums spans into steps that begin at multiples of a step. Of durations the slowest is kept: a sum of shares is none. */
export function spansOf(list: OverviewSpan[], from: number, step: number): Span[] {
  const steps = new Map<number, Span>();
  for (const s of list) {
    const at = Math.floor(Date.parse(s.at) / step) * step;
    if (Number.isNaN(at) || at + step <= from) continue;
    const one = steps.get(at) ?? { at, completed: 0, failed: 0, cancelled: 0 };
    one.completed += s.completed;
    one.failed += s.failed;
    one.cancelled += s.cancelled;
    if (s.p50Ms !== undefined) one.p50 = Math.max(one.p50 ?? 0, s.p50Ms);
    if (s.p95Ms !== undefined) one.p95 = Math.max(one.p95 ?? 0, s.p95Ms);
    steps.set(at, one);
  }
  return [...steps.values()].sort((a, b) => a.at - b.at);
}

/** What a chart of a range shows: counts in steps, durations as they are known. */
export function chartOf(o: Overview, range: string): { range: string; from: number; to: number; step: number; spans: Span[]; fine: { step: number; spans: Span[] } } {
  const [, words, length, step] = ranges.find((r) => r[0] === range) ?? ranges[0]!;
  const to = Math.ceil(Date.parse(o.at) / step) * step;
  const from = to - length;
  const source = length > 864e5 ? o.hours : o.minutes;
  const fine = length > 864e5 ? 3600e3 : 60e3;
  return { range: words, from, to, step, spans: spansOf(source, from, step), fine: { step: fine, spans: spansOf(source, from, fine) } };
}
