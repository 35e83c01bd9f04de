// Figures of the server's process, as its metrics have them.

import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { Failure, Waiting } from "../part/notice.tsx";
import { bytes, count } from "../part/text.tsx";
import { When, lasted } from "../part/time.tsx";
import { refused, useEvery, useLoad } from "../store/load.ts";

const everyMs = 5000;

type Figures = Map<string, number>;

/** Reads the series of metrics that have no labels. */
async function readFigures(signal: AbortSignal): Promise<Figures> {
  const text = await call<string>("GET", "/api/metrics", { accept: "text/plain", signal, take: (answer) => answer.text() });
  return new Map([...text.matchAll(/^([a-z_]+) (\S+)$/gm)].map((m) => [m[1]!, Number(m[2])]));
}

export function ProcessFigures() {
  const l = useLoad("process", readFigures, { pause: everyMs });
  const before = useRef<{ at: number; cpu: number }>(undefined);
  const [share, setShare] = useState<number | undefined>();
  useEvery(refused(l.error) ? 0 : everyMs, l.renew);
  useEffect(() => {
    const cpu = l.data?.get("process_cpu_seconds_total");
    if (cpu === undefined) return;
    const at = performance.now();
    if (before.current && at > before.current.at + 1000) setShare((100_000 * (cpu - before.current.cpu)) / (at - before.current.at));
    before.current = { at, cpu };
  }, [l.data]);
  const f = l.data;
  if (!f) return l.error ? <Failure error={l.error} again={l.reload} /> : <Waiting />;
  const row = (name: string, key: string, words: (n: number) => string) => { const n = f.get(key); return n === undefined ? null : <div><dt>{name}</dt><dd class="nums">{words(n)}</dd></div>; };
  const started = f.get("process_start_time_seconds");
  return <div tabIndex={0} class="scrolls">{l.error && <Failure error={l.error} old again={l.reload} />}<dl class="facts">
    {started !== undefined && <div><dt>Started</dt><dd><When at={new Date(started * 1000).toISOString()} /></dd></div>}
    <div><dt>CPU now</dt><dd class="nums">{share === undefined ? "\u2026" : Math.max(0, share).toFixed(1) + " % of a core"}</dd></div>
    {row("CPU in all", "process_cpu_seconds_total", (n) => lasted(n * 1000))}
    {row("Memory", "process_resident_memory_bytes", bytes)}
    {row("Heap in use", "go_memstats_heap_inuse_bytes", bytes)}
    {row("Goroutines", "go_goroutines", count)}
    {row("Open files", "process_open_fds", (n) => count(n) + " of " + count(f.get("process_max_fds") ?? 0))}
    {row("Garbage collections", "go_gc_duration_seconds_count", count)}
  </dl></div>;
}
