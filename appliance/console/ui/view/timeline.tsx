// The timeline: a tree grid with a bar beside each row.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ExecutionBody, Timeline } from "../api/types.gen.ts";
import { blockOf, drawnRows } from "../part/block.ts";
import { Icon } from "../part/icon.tsx";
import { Filter } from "../part/tabs.tsx";
import { kindOf } from "../part/state.tsx";
import { useRowFocus } from "../part/rowfocus.ts";
import { lasted, tick } from "../part/time.tsx";
import { queryOf, setQuery } from "../route.ts";
import { rowHeight } from "../setting.ts";
import { Gathered } from "../live/gathered.ts";
import { Filter as Selection, Scale, Tree, criticalPath, rowsOf, ticks, type Node } from "../store/timeline.ts";
import { Entry } from "./entry.tsx";
import { Line, type Acts } from "./timelineline.tsx";

const stripEveryMs = 500;
const leastZoom = 0.0005; // of the whole
const widestTime = 60; // pixels of a time above the bars

const kinds: [string, string][] = [["task", "tasks"], ["message", "messages"], ["question", "questions"], ["thread", "threads"]];

export function TimelineTab({ execution, timeline }: { execution: ExecutionBody; timeline: Timeline }) {
  const over = Boolean(timeline.completedAt) || ["completed", "failed", "cancelled"].includes(timeline.status);
  const time = over ? 0 : Math.floor(tick.value / 1000);
  const held = useRef<Tree>(undefined);
  const version = useMemo(() => {
    const now = over ? endOf(timeline) : tick.peek();
    if (held.current) held.current.take(timeline, now);
    else held.current = new Tree(timeline, now);
    return held.current.version;
  }, [timeline, over]);
  const tree = held.current!;
  const top = tree.top;
  // What follows from the whole is made each second while it goes on, however much happens: not with each change.
  const pace = over ? version : time;
  useMemo(() => { if (!over) tree.move(tick.peek()); }, [version, time]);
  const from = top.reduce((least, n) => Math.min(least, n.from), Date.parse(timeline.startedAt ?? execution.createdAt));
  const to = useMemo(() => (over ? Math.max(endOf(timeline), from + 1) : Math.max(tick.peek(), from + 1000)), [from, pace, over]);
  const idle = queryOf("idle") !== "shown";
  const scale = useMemo(() => new Scale(tree.work, from, to, idle), [from, to, idle, pace]);
  const critical = useMemo(() => criticalPath(top), [pace, over]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const text = queryOf("find");
  const shown = queryOf("kind");
  const failed = queryOf("failed") === "1";
  const filter = useMemo(() => new Selection(text, new Set(shown ? shown.split(",") : []), failed), [text, shown, failed]);
  const rows = useMemo(() => rowsOf(top, closed, opened, filter), [version, closed, opened, filter]);
  const [zoom, setZoom] = useZoom();
  const sel = queryOf("sel");
  const chosen = tree.find(sel);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, width: 600 });
  const room = Math.max(1, Math.floor(view.width / 90));
  const height = rowHeight();
  useLayoutEffect(() => {
    const el = box.current!;
    const measure = () => setView({ top: blockOf(el.scrollTop, height), height: el.clientHeight, width: el.querySelector(".lanes")!.clientWidth });
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(el);
    const scrolled = () => { // nothing is drawn until another block comes into view
      const top = blockOf(el.scrollTop, height);
      setView((v) => (v.top === top ? v : { ...v, top }));
    };
    el.addEventListener("scroll", scrolled, { passive: true });
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.shiftKey) return;
      e.preventDefault();
      const lane = el.querySelector(".lanes")!.getBoundingClientRect();
      const x = Math.min(1, Math.max(0, (e.clientX - lane.left) / lane.width));
      if (e.ctrlKey) setZoom((z) => zoomed(z, e.deltaY > 0 ? 1.25 : 0.8, x));
      else setZoom((z) => panned(z, (e.deltaY + e.deltaX) / lane.width));
    };
    el.addEventListener("wheel", wheel, { passive: false });
    return () => { sizes.disconnect(); el.removeEventListener("scroll", scrolled); el.removeEventListener("wheel", wheel); };
  }, [height]);
  const choose = (node: Node) => setQuery({ sel: node.key === sel ? "" : node.key });
  const toggle = (n: Node) => {
    const flip = (set: ReadonlySet<string>) => { const s = new Set(set); if (!s.delete(n.key)) s.add(n.key); return s; };
    if (n.key === "roles") setOpened(flip);
    else setClosed(flip);
  };
  const { focus, at } = useRowFocus(box, height, rows.length, () => setView((v) => ({ ...v, top: blockOf(box.current!.scrollTop, height), height: box.current!.clientHeight })));
  const acts = useRef<Acts>(undefined); // of the last drawing
  acts.current = { open: choose, toggle, all: (n) => setOpened((s) => new Set(s).add(n.key)) };
  const act = useMemo<Acts>(() => ({ open: (n) => acts.current!.open(n), toggle: (n) => acts.current!.toggle(n), all: (n) => acts.current!.all(n) }), []);
  const keys = (e: KeyboardEvent) => {
    const el = (e.target as Element).closest<HTMLElement>("[data-index]");
    if (!el || e.ctrlKey || e.metaKey || e.altKey) return;
    const i = at(el);
    const row = rows[i];
    if (!row) return;
    switch (e.key) {
      case "ArrowDown": focus(i + 1); break;
      case "ArrowUp": focus(i - 1); break;
      case "ArrowRight":
        if (row.node.children.length > 0 && !row.open) toggle(row.node);
        else focus(i + 1);
        break;
      case "ArrowLeft":
        if (row.open) toggle(row.node);
        else for (let j = i - 1; j >= 0; j--) if (rows[j]!.node.level < row.node.level) { focus(j); break; }
        break;
      case "Enter": case " ":
        if (row.more) act.all(row.node);
        else if (row.node.entry) choose(row.node);
        else toggle(row.node);
        break;
      case "+": case "=": setZoom((z) => zoomed(z, 0.7, 0.5)); break;
      case "-": setZoom((z) => zoomed(z, 1.4, 0.5)); break;
      case "0": setZoom(() => [0, 1]); break;
      default: return;
    }
    e.preventDefault();
    e.stopPropagation();
  };
  // The next problem, or the one before, is selected: what failed, and what waits for people.
  const problem = useRef<(by: number) => void>(() => undefined);
  problem.current = (by) => {
    const now = rows.findIndex((r) => r.node.key === sel);
    const bad = (r: typeof rows[number]) => !r.more && r.node.entry !== undefined && ["failed", "needs"].includes(kindOf(r.node.entry.status)) && r.node.key !== sel;
    const to = by > 0 ? rows.findIndex((r, i) => i > now && bad(r)) : rows.findLastIndex((r, i) => (now < 0 || i < now) && bad(r));
    if (to < 0) return;
    setQuery({ sel: rows[to]!.node.key });
    focus(to);
  };
  useEffect(() => {
    const press = (e: Event) => { const d = (e as CustomEvent<string>).detail; if (d === "problem") problem.current(1); else if (d === "problem before") problem.current(-1); };
    addEventListener("wardroom-key", press);
    return () => removeEventListener("wardroom-key", press);
  }, []);
  const [a, b] = zoom;
  const [first, last] = drawnRows(view.top, view.height, height, rows.length);
  const part = (x: number) => (100 * (x - a)) / (b - a);
  const set = shown ? shown.split(",") : [];
  return <div class={"split" + (chosen ? " two" : "")}>
    <section class="pane">
      <div class="bar">
        <Filter value={text} set={(find) => setQuery({ find })} label="Find in the timeline" />
        <div class="chips" role="group" aria-label="Kinds">
          {kinds.map(([k, name]) => <button type="button" key={k} class="chip" aria-pressed={set.includes(k)}
            onClick={() => setQuery({ kind: (set.includes(k) ? set.filter((x) => x !== k) : [...set, k]).join(",") })}>{name}</button>)}
          <button type="button" class="chip" aria-pressed={failed} onClick={() => setQuery({ failed: failed ? "" : "1" })}>failed</button>
          <button type="button" class="chip" aria-pressed={!idle} onClick={() => setQuery({ idle: idle ? "shown" : "" })}>idle time</button>
        </div>
        <span class="push" />
        <div class="group" role="group" aria-label="Zoom">
          <button type="button" class="quiet" aria-label="Zoom out" onClick={() => setZoom((z) => zoomed(z, 1.4, 0.5))}><Icon name="minus" /></button>
          <button type="button" class="quiet" onClick={() => setZoom(() => [0, 1])}>fit</button>
          <button type="button" class="quiet" aria-label="Zoom in" onClick={() => setZoom((z) => zoomed(z, 0.7, 0.5))}><Icon name="plus" /></button>
        </div>
      </div>
      <div class="timeline" ref={box} onKeyDown={keys}>
        <div class="times" aria-hidden="true"><div class="names" /><div class="lanes">
          {ticks(scale, a, b, room).filter((t) => t.ms === 0 || view.width * (1 - t.x) > widestTime).map((t) => <span key={t.ms} style={{ left: 100 * t.x + "%" }}>{t.ms === 0 ? "0" : lasted(t.ms)}</span>)}
          {scale.folds.filter((f) => f.at + f.size > a && f.at < b).map((f) => <span key={"f" + f.at} class="fold" style={{ left: part(f.at + f.size / 2) + "%" }}>{"\u2215\u2215" + lasted(f.ms)}</span>)}
        </div></div>
        <div role="treegrid" aria-label="Timeline" aria-rowcount={rows.length} aria-colcount={2} style={{ height: Math.max(rows.length, 1) * height + "px" }} class="tree">
          {rows.length === 0 && <div role="row"><div role="gridcell" class="nothing">{timeline.entries.length ? "Nothing fits the filter." : "Nothing happened yet."}</div></div>}
          {rows.slice(first, last).map((row, k) => {
            const i = first + k;
            const n = row.node;
            const x = part(scale.place(n.from));
            return <Line key={n.key} node={n} revision={n.revision} took={n.to - n.from} begins={n.from - from} index={i} height={height} open={row.open} more={row.more}
              left={x} width={Math.max(0.15, part(scale.place(n.to)) - x)} chosen={n.key === sel} critical={critical.has(n.key)} reached={i === first || n.key === sel} act={act} />;
          })}
        </div>
      </div>
      {(a > 0 || b < 1) && <Strip zoom={zoom} set={(z) => setZoom(() => z)} tasks={tree.work} version={version} scale={scale} />}
    </section>
    {chosen && <Entry execution={execution} node={chosen} top={top} critical={critical.has(chosen.key)} version={timeline.lastSequence} close={() => setQuery({ sel: "" })} />}
  </div>;
}

const zoomPauseMs = 300;

/** The part of the time that is shown. The address has it once it rests: a link shows another person the same. */
function useZoom(): [[number, number], (to: (z: [number, number]) => [number, number]) => void] {
  const there = queryOf("zoom");
  const [zoom, set] = useState(() => zoomIn(there));
  const put = useRef(there); // by this page: only another one, such as of a step back, takes what is shown away
  useEffect(() => {
    if (there === put.current) return;
    put.current = there;
    set(zoomIn(there));
  }, [there]);
  useEffect(() => {
    const text = zoom[0] === 0 && zoom[1] === 1 ? "" : zoom.map((x) => String(Number(x.toFixed(5)))).join("-");
    if (text === put.current) return;
    const timer = setTimeout(() => { put.current = text; setQuery({ zoom: text }); }, zoomPauseMs);
    return () => clearTimeout(timer);
  }, [zoom]);
  return [zoom, set];
}

/** Reads a part of the time, from 0 to 1; what is none is the whole. */
export function zoomIn(text: string): [number, number] {
  const [a, b] = text.split("-").map(Number);
  return a !== undefined && b !== undefined && a >= 0 && b <= 1 && b - a >= leastZoom / 2 ? [a, b] : [0, 1];
}

function endOf(t: Timeline): number {
  return Math.max(t.completedAt ? Date.parse(t.completedAt) : 0, ...t.entries.slice(-200).map((e) => Date.parse(e.endedAt ?? e.startedAt)));
}

function zoomed([a, b]: [number, number], by: number, at: number): [number, number] {
  const size = Math.min(1, Math.max(leastZoom, (b - a) * by));
  const x = a + (b - a) * at;
  const from = Math.min(1 - size, Math.max(0, x - size * at));
  return [from, from + size];
}

function panned([a, b]: [number, number], by: number): [number, number] {
  const d = by * (b - a);
  const from = Math.min(1 - (b - a), Math.max(0, a + d));
  return [from, from + b - a];
}

/** The whole of the timeline in small, while a part of it is shown. */
function Strip({ zoom, set, tasks, version, scale }: { zoom: [number, number]; set: (z: [number, number]) => void; tasks: Node[]; version: number; scale: Scale }) {
  const ref = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const now = useRef({ tasks, scale });
  now.current = { tasks, scale };
  const [pacer] = useState(() => new Gathered<0>(stripEveryMs, () => { if (canvas.current) paint(canvas.current, now.current.tasks, now.current.scale); }));
  useEffect(() => pacer.add([0]), [version, scale]);
  const move = (e: PointerEvent) => {
    if (e.buttons !== 1) return;
    const r = ref.current!.getBoundingClientRect();
    const size = zoom[1] - zoom[0];
    const from = Math.min(1 - size, Math.max(0, (e.clientX - r.left) / r.width - size / 2));
    set([from, from + size]);
  };
  return <div class="strip" ref={ref} onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); move(e); }} onPointerMove={move} aria-hidden="true">
    <canvas ref={canvas} /><span style={{ left: 100 * zoom[0] + "%", width: 100 * (zoom[1] - zoom[0]) + "%" }} />
  </div>;
}

/** Draws a bar for each task. */
function paint(el: HTMLCanvasElement, tasks: Node[], scale: Scale): void {
  const g = el.getContext("2d");
  if (!g) return;
  el.width = el.clientWidth;
  el.height = el.clientHeight;
  g.fillStyle = getComputedStyle(el).color;
  const flat = tasks.filter((n) => n.entry!.kind === "task");
  const h = Math.max(1, el.height / Math.max(1, flat.length));
  flat.forEach((n, i) => {
    const x = scale.place(n.from) * el.width;
    g.fillRect(x, i * h, Math.max(1, scale.place(n.to) * el.width - x), Math.max(1, h - 1));
  });
}
