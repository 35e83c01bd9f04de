// Charts of what happened over time: bars for counts, lines for durations. Each is told in words as well.

import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "./text.tsx";
import { absolute, lasted, timeOfDay } from "./time.tsx";

/** What happened from a time on, for as long as a step of the chart. */
export interface Span { at: number; completed: number; failed: number; cancelled: number; p50?: number; p95?: number }

interface Props {
  spans: Span[]; from: number; to: number; step: number; range: string;
  /** A time that is picked by dragging, and the one that was. */
  pick?: (from: number, to: number) => void;
  picked?: [number | undefined, number | undefined];
}

/** A chart as it is drawn: on a phone as wide as there is room, so that its words are as large as elsewhere. */
interface Drawn extends Props { svg: RefObject<SVGSVGElement | null>; width: number }

const widest = 640;
const narrowest = 240;
const height = 132;
const left = 54;
const bottom = 18;
const plot = height - bottom - 6;

/** A round number that is no smaller. */
export function roundUp(n: number): number {
  if (n <= 4) return Math.max(1, Math.ceil(n));
  const p = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 4, 5, 10].map((k) => k * p).find((k) => k >= n)!;
}

const x = (p: Drawn, at: number): number => left + ((at - p.from) / (p.to - p.from)) * (p.width - left);

/** A chart with the room that it has. */
function useDrawn(p: Props): Drawn {
  const svg = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(widest);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.round(Math.min(widest, Math.max(narrowest, svg.current!.clientWidth))));
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(svg.current!);
    return () => sizes.disconnect();
  }, []);
  return { ...p, svg, width };
}

const day = 864e5;
const timeWords = (p: Props, at: number): string => (p.to - p.from > day * 1.5 ? absolute(new Date(at).toISOString()).slice(0, 16) : timeOfDay(new Date(at).toISOString()).slice(0, 5));

/** The times under a chart: five of them. */
function Times(p: Drawn) {
  return <g class="ticks">{[0, 1, 2, 3, 4].map((i) => {
    const at = p.from + ((p.to - p.from) * i) / 4;
    const text = p.to - p.from > day * 1.5 ? absolute(new Date(at).toISOString()).slice(5, 10) : timeWords(p, at);
    return <text key={i} x={x(p, at)} y={height - 4} text-anchor={i === 0 ? "start" : i === 4 ? "end" : "middle"}>{text}</text>;
  })}</g>;
}

/** The chart's frame: what is under the pointer is said beside the title. */
function Frame({ title, words, p, said, children, y }: { title: ComponentChildren; words: string; p: Drawn; said: (s: Span) => string; children: ComponentChildren; y: [number, string][] }) {
  const [at, setAt] = useState<Span | undefined>();
  const drag = useRef<number>(undefined);
  const [to, setTo] = useState<number | undefined>();
  const timeAt = (e: PointerEvent): number => {
    const drawn = p.svg.current!.getScreenCTM()!; // what is lower than its box is wide lies in the middle of it
    return Math.min(p.to, Math.max(p.from, p.from + ((e.clientX - drawn.e) / drawn.a - left) / (p.width - left) * (p.to - p.from)));
  };
  const down = (e: PointerEvent) => {
    if (!p.pick || e.button !== 0) return;
    p.svg.current!.setPointerCapture(e.pointerId);
    drag.current = timeAt(e);
  };
  const up = (e: PointerEvent) => {
    const began = drag.current;
    drag.current = undefined;
    setTo(undefined);
    if (began === undefined || !p.pick) return;
    const steps = (t: number) => p.from + Math.floor((t - p.from) / p.step) * p.step;
    const [a, b] = [Math.min(began, timeAt(e)), Math.max(began, timeAt(e))];
    p.pick(steps(a), Math.max(steps(a) + p.step, steps(b - 1) + p.step)); // whole steps: a click picks one
  };
  const cancel = () => { drag.current = undefined; setTo(undefined); }; // a touch that the browser takes for a scroll picks nothing
  const [picked, until] = drag.current !== undefined && to !== undefined ? [Math.min(drag.current, to), Math.max(drag.current, to)] : p.picked ?? [];
  const point = (e: PointerEvent) => {
    const t = timeAt(e);
    if (drag.current !== undefined) setTo(t);
    setAt(p.spans.find((s) => t >= s.at && t < s.at + p.step));
  };
  return <figure class="plot">
    <figcaption><h2>{title}</h2><span class="push" /><span class="soft nums" aria-hidden="true">{at ? timeWords(p, at.at) + ": " + said(at) : ""}</span></figcaption>
    <svg ref={p.svg} viewBox={`0 0 ${p.width} ${height}`} role="img" aria-label={words} class={p.pick ? "picks" : ""} onPointerDown={down} onPointerUp={up} onPointerCancel={cancel} onPointerMove={point} onPointerLeave={() => setAt(undefined)}>
      {y.map(([v, text]) => <g key={text} class="ticks"><path d={`M${left} ${v}H${p.width}`} /><text x={left - 4} y={v + 4} text-anchor="end">{text}</text></g>)}
      {at && <rect class="under" x={x(p, at.at)} y={6} width={Math.max(2, x(p, at.at + p.step) - x(p, at.at))} height={plot} />}
      {(picked !== undefined || until !== undefined) && <rect class="picked" x={x(p, Math.max(p.from, picked ?? p.from))} y={6} width={Math.max(1, x(p, Math.min(p.to, until ?? p.to)) - x(p, Math.max(p.from, picked ?? p.from)))} height={plot} />}
      {children}
      <Times {...p} />
    </svg>
  </figure>;
}

/** What was made, and of it what failed. */
export function Made(p: Props) {
  const sum = (of: (s: Span) => number) => p.spans.reduce((n, s) => n + of(s), 0);
  return <Bars p={p} title={"Made " + perStep(p.step)} words={`Made in the last ${p.range}: ${count(sum((s) => s.completed + s.failed))}, ${count(sum((s) => s.failed))} of them failed.`}
    said={(s) => `${count(s.completed + s.failed)} made, ${count(s.failed)} failed`} />;
}

const perStep = (step: number): string => (step === 60_000 ? "a minute" : step === 3600e3 ? "an hour" : step > 3600e3 ? `in ${step / 3600e3} hours` : `in ${step / 60_000} minutes`);

export function Throughput(p: Props) {
  const sum = (of: (s: Span) => number) => p.spans.reduce((n, s) => n + of(s), 0);
  const busiest = p.spans.reduce<Span | undefined>((b, s) => (s.completed + s.failed > (b ? b.completed + b.failed : 0) ? s : b), undefined);
  const words = `Throughput of the last ${p.range}: ${count(sum((s) => s.completed))} completed, ${count(sum((s) => s.failed))} failed, ${count(sum((s) => s.cancelled))} cancelled.` +
    (busiest ? ` Most at ${timeWords(p, busiest.at)}: ${count(busiest.completed + busiest.failed)}.` : " Nothing happened.");
  return <Bars p={p} title={"Throughput " + perStep(p.step)} words={words} said={(s) => `${count(s.completed)} completed, ${count(s.failed)} failed${s.cancelled ? `, ${count(s.cancelled)} cancelled` : ""}`} />;
}

function Bars({ p: of, title, words, said }: { p: Props; title: string; words: string; said: (s: Span) => string }) {
  const p = useDrawn(of);
  const most = roundUp(Math.max(1, ...p.spans.map((s) => s.completed + s.failed + s.cancelled)));
  const y = (n: number): number => 6 + plot * (1 - n / most);
  const bar = (s: Span, low: number, n: number): string => {
    const a = x(p, s.at);
    const w = Math.max(1, x(p, s.at + p.step) - a - 1);
    return n > 0 ? `M${a.toFixed(1)} ${y(low).toFixed(1)}v${(y(low + n) - y(low)).toFixed(1)}h${w.toFixed(1)}V${y(low).toFixed(1)}z` : "";
  };
  return <Frame title={title} words={words} p={p} y={[[y(0), "0"], [y(most / 2), most % 2 && most < 4 ? "" : String(most / 2)], [y(most), count(most)]]} said={said}>
    <path class="done" d={p.spans.map((s) => bar(s, 0, s.completed)).join("")} />
    <path class="stopped" d={p.spans.map((s) => bar(s, s.completed, s.cancelled)).join("")} />
    <path class="failed" d={p.spans.map((s) => bar(s, s.completed + s.cancelled, s.failed)).join("")} />
  </Frame>;
}

export function Durations(of: Props) {
  const p = useDrawn(of);
  const known = p.spans.filter((s) => s.p50 !== undefined && s.p95 !== undefined);
  const low = Math.min(...known.map((s) => Math.max(1, s.p50!)), 1e9);
  const high = Math.max(...known.map((s) => Math.max(1, s.p95!)), 10);
  const floor = known.length ? Math.floor(Math.log10(low)) : 0;
  const top = Math.max(floor + 1, Math.ceil(Math.log10(high)));
  const y = (ms: number): number => 6 + plot * (1 - (Math.log10(Math.max(1, ms)) - floor) / (top - floor));
  // A line joins what lies beside each other; where nothing completed there is a gap. A point alone is a dot.
  const joined = (i: number): boolean => i > 0 && i < known.length && known[i]!.at - known[i - 1]!.at <= p.step * 1.01;
  const drawn = (of: (s: Span) => number, alone: boolean): string => known.map((s, i) => {
    if ((joined(i) || joined(i + 1)) === alone) return "";
    const here = `${(x(p, s.at) + (x(p, s.at + p.step) - x(p, s.at)) / 2).toFixed(1)} ${y(of(s)).toFixed(1)}`;
    return (joined(i) ? "L" : "M") + here + "h.1";
  }).join("");
  const line = (name: string, of: (s: Span) => number) => <><path class={name} d={drawn(of, false)} /><path class={name + " alone"} d={drawn(of, true)} /></>;
  const both = (s: Span): string => `median ${lasted(s.p50!)}, 95th percentile ${lasted(s.p95!)}`;
  const marks: [number, string][] = [];
  for (let e = floor; e <= top; e += Math.max(1, Math.ceil((top - floor) / 3))) marks.push([y(10 ** e), lasted(10 ** e).replace(/\.0 s| 00s/, (m) => (m === " 00s" ? "" : " s"))]);
  const last = known.at(-1);
  const slowest = known.reduce<Span | undefined>((b, s) => (!b || s.p95! > b.p95! ? s : b), undefined);
  const words = `Duration of completed executions in the last ${p.range}: ` +
    (last ? `${both(last)} at the last; highest 95th percentile ${lasted(slowest!.p95!)} at ${timeWords(p, slowest!.at)}.` : "none completed.");
  return <Frame title={<>Duration: <span class="p50">median</span> and <span class="p95">95th percentile</span></>} words={words} p={p} y={marks} said={(s) => (s.p50 === undefined || s.p95 === undefined ? "none completed" : both(s))}>
    {line("p95", (s) => s.p95!)}{line("p50", (s) => s.p50!)}
  </Frame>;
}
