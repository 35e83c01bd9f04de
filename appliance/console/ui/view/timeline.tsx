// The timeline: a tree grid with a bar beside each row.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ExecutionBody, Timeline } from "../api/types.gen.ts";
import { Icon } from "../part/icon.tsx";
import { Filter } from "../part/tabs.tsx";
import { State, kindOf } from "../part/state.tsx";
import { useRowFocus } from "../part/rowfocus.ts";
import { lasted, tick } from "../part/time.tsx";
import { Text, count } from "../part/text.tsx";
import { queryOf, setQuery } from "../route.ts";
import { rowHeight } from "../setting.ts";
import { Scale, criticalPath, moved, rowsOf, ticks, treeOf, type Node } from "../store/timeline.ts";
import { Entry } from "./entry.tsx";

const kinds: [string, string][] = [["task", "tasks"], ["message", "messages"], ["question", "questions"], ["thread", "threads"]];

export function TimelineTab({ execution, timeline }: { execution: ExecutionBody; timeline: Timeline }) {
  const over = Boolean(timeline.completedAt) || ["completed", "failed", "cancelled"].includes(timeline.status);
  const time = over ? 0 : Math.floor(tick.value / 1000) * 1000;
  const tree = useMemo(() => treeOf(timeline, over ? endOf(timeline) : tick.peek()), [timeline, over]);
  const top = useMemo(() => (over ? tree : moved(tree, tick.peek())), [tree, time]); // each second, without a new tree
  const from = top.reduce((least, n) => Math.min(least, n.from), Date.parse(timeline.startedAt ?? execution.createdAt));
  const to = over ? Math.max(endOf(timeline), from + 1) : Math.max(tick.peek(), from + 1000);
  const idle = queryOf("idle") !== "shown";
  const scale = useMemo(() => new Scale(top, from, to, idle), [top, from, to, idle]);
  const critical = useMemo(() => criticalPath(top), [top]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const text = queryOf("find");
  const shown = queryOf("kind");
  const failed = queryOf("failed") === "1";
  const rows = useMemo(() => rowsOf(tree, closed, opened, { text, kinds: new Set(shown ? shown.split(",") : []), failed }), [tree, closed, opened, text, shown, failed]);
  const [zoom, setZoom] = useState<[number, number]>([0, 1]);
  const sel = queryOf("sel");
  const chosen = useMemo(() => find(top, sel), [top, sel]);
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, width: 600 });
  const room = Math.max(1, Math.floor(view.width / 90));
  const height = rowHeight();
  useLayoutEffect(() => {
    const el = box.current!;
    const measure = () => setView({ top: el.scrollTop, height: el.clientHeight, width: el.querySelector(".lanes")!.clientWidth });
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(el);
    el.addEventListener("scroll", measure, { passive: true });
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.shiftKey) return;
      e.preventDefault();
      const lane = el.querySelector(".lanes")!.getBoundingClientRect();
      const x = Math.min(1, Math.max(0, (e.clientX - lane.left) / lane.width));
      if (e.ctrlKey) setZoom((z) => zoomed(z, e.deltaY > 0 ? 1.25 : 0.8, x));
      else setZoom((z) => panned(z, (e.deltaY + e.deltaX) / lane.width));
    };
    el.addEventListener("wheel", wheel, { passive: false });
    return () => { sizes.disconnect(); el.removeEventListener("scroll", measure); el.removeEventListener("wheel", wheel); };
  }, []);
  const choose = (node: Node) => setQuery({ sel: node.key === sel ? "" : node.key });
  const toggle = (n: Node) => {
    const flip = (set: ReadonlySet<string>) => { const s = new Set(set); if (!s.delete(n.key)) s.add(n.key); return s; };
    if (n.key === "roles") setOpened(flip);
    else setClosed(flip);
  };
  const { focus, at } = useRowFocus(box, height, rows.length, () => setView((v) => ({ ...v, top: box.current!.scrollTop, height: box.current!.clientHeight })));
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
        if (row.more) setOpened((s) => new Set(s).add(row.node.key));
        else if (row.node.entry) choose(row.node);
        else toggle(row.node);
        break;
      case "+": case "=": setZoom((z) => zoomed(z, 0.7, 0.5)); break;
      case "-": setZoom((z) => zoomed(z, 1.4, 0.5)); break;
      case "0": setZoom([0, 1]); break;
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
  const first = Math.max(0, Math.floor(view.top / height) - 6);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + 6);
  const part = (x: number) => (100 * (x - a)) / (b - a);
  const set = shown ? shown.split(",") : [];
  return <div class={"split" + (chosen ? " two" : "")}>
    <section class="pane">
      <div class="bar">
        <Filter value={text} set={(find) => setQuery({ find })} label="Find in the timeline" />
        <div class="chips" role="group" aria-label="Kinds">
          {kinds.map(([k, name]) => <button key={k} class="chip" aria-pressed={set.includes(k)}
            onClick={() => setQuery({ kind: (set.includes(k) ? set.filter((x) => x !== k) : [...set, k]).join(",") })}>{name}</button>)}
          <button class="chip" aria-pressed={failed} onClick={() => setQuery({ failed: failed ? "" : "1" })}>failed</button>
          <button class="chip" aria-pressed={!idle} onClick={() => setQuery({ idle: idle ? "shown" : "" })}>idle time</button>
        </div>
        <span class="push" />
        <div class="group" role="group" aria-label="Zoom">
          <button class="quiet" aria-label="Zoom out" onClick={() => setZoom((z) => zoomed(z, 1.4, 0.5))}><Icon name="minus" /></button>
          <button class="quiet" onClick={() => setZoom([0, 1])}>fit</button>
          <button class="quiet" aria-label="Zoom in" onClick={() => setZoom((z) => zoomed(z, 0.7, 0.5))}><Icon name="plus" /></button>
        </div>
      </div>
      <div class="timeline" ref={box} onKeyDown={keys}>
        <div class="times" aria-hidden="true"><div class="names" /><div class="lanes">
          {ticks(scale, a, b, room).map((t) => <span key={t.ms} style={{ left: 100 * t.x + "%" }}>{t.ms === 0 ? "0" : lasted(t.ms)}</span>)}
          {scale.folds.filter((f) => f.at + f.size > a && f.at < b).map((f) => <span key={"f" + f.at} class="fold" style={{ left: part(f.at + f.size / 2) + "%" }}>{"\u2215\u2215" + lasted(f.ms)}</span>)}
        </div></div>
        <div role="treegrid" aria-label="Timeline" aria-rowcount={rows.length} aria-colcount={2} style={{ height: Math.max(rows.length, 1) * height + "px" }} class="tree">
          {rows.length === 0 && <div role="row"><div role="gridcell" class="nothing">{timeline.entries.length ? "Nothing fits the filter." : "Nothing happened yet."}</div></div>}
          {rows.slice(first, last).map((row, k) => {
            const i = first + k;
            const n = row.node;
            const e = n.entry;
            const x = part(scale.place(n.from));
            const w = Math.max(0.15, part(scale.place(n.to)) - x);
            return <div key={n.key} role="row" data-index={i} data-key={n.key} tabIndex={i === first || n.key === sel ? 0 : -1} aria-level={n.level} aria-rowindex={i + 1}
              aria-expanded={n.children.length > 0 ? row.open : undefined} aria-selected={n.key === sel}
              class={"line" + (n.key === sel ? " chosen" : "") + (critical.has(n.key) ? " critical" : "")} style={{ top: i * height + "px", height: height + "px" }}
              onClick={() => { if (row.more) setOpened((s) => new Set(s).add(n.key)); else if (e) choose(n); else toggle(n); }}>
              <div role="gridcell" class="names" style={{ paddingLeft: 6 + (n.level - 1) * 14 + "px" }}>
                {row.more ? <span class="soft">&hellip; {count(row.more)} more like these</span> : <>
                  <button class={"fold" + (n.children.length ? "" : " none")} tabIndex={-1} aria-hidden="true" onClick={(ev) => { ev.stopPropagation(); toggle(n); }}><Icon name={row.open ? "down" : "right"} /></button>
                  {e ? <State status={e.status} short /> : <Icon name="role" />}
                  {e && e.kind === "step" && <span class="path">{e.id}</span>}
                  {e && e.kind !== "step" && e.kind !== "role" && <Icon name={e.kind} />}
                  <span class="title"><Text>{n.title}</Text></span>
                  {e?.role && e.kind === "step" && <span class="soft"><Text>{e.role}</Text></span>}
                  {!e && <span class="soft">{count(n.children.length)}</span>}
                  {e?.attempt && e.attempt > 1 ? <span class="badge" title="Attempt">{"\u00d7" + e.attempt}</span> : null}
                  <span class="push" />
                  <span class="soft nums">{e ? lasted(n.to - n.from) : ""}</span>
                </>}
              </div>
              <div role="gridcell" class="lanes" aria-label={row.more ? "" : `begins after ${lasted(n.from - from)}, ${n.running ? "goes on since" : "takes"} ${lasted(n.to - n.from)}`}>
                {!row.more && x < 100 && x + w > 0 && <span class={"bar-" + (e ? e.kind : "group") + " bars " + (e ? kindOf(e.status) : "stopped")} style={{ left: x + "%", width: w + "%" }} />}
              </div>
            </div>;
          })}
        </div>
      </div>
      {(a > 0 || b < 1) && <Strip zoom={zoom} set={setZoom} top={top} scale={scale} />}
    </section>
    {chosen && <Entry execution={execution} node={chosen} top={top} critical={critical.has(chosen.key)} version={timeline.lastSequence} close={() => setQuery({ sel: "" })} />}
  </div>;
}

function endOf(t: Timeline): number {
  return Math.max(t.completedAt ? Date.parse(t.completedAt) : 0, ...t.entries.slice(-200).map((e) => Date.parse(e.endedAt ?? e.startedAt)));
}

function zoomed([a, b]: [number, number], by: number, at: number): [number, number] {
  const size = Math.min(1, Math.max(0.0005, (b - a) * by));
  const x = a + (b - a) * at;
  const from = Math.min(1 - size, Math.max(0, x - size * at));
  return [from, from + size];
}

function panned([a, b]: [number, number], by: number): [number, number] {
  const d = by * (b - a);
  const from = Math.min(1 - (b - a), Math.max(0, a + d));
  return [from, from + b - a];
}

export function find(top: Node[], key: string): Node | undefined {
  if (!key) return undefined;
  for (const n of top) {
    if (n.key === key) return n;
    const c = find(n.children, key);
    if (c) return c;
  }
  return undefined;
}

/** The whole of the timeline in small, while a part of it is shown. */
function Strip({ zoom, set, top, scale }: { zoom: [number, number]; set: (z: [number, number]) => void; top: Node[]; scale: Scale }) {
  const ref = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const el = canvas.current!;
    const g = el.getContext("2d");
    if (!g) return;
    el.width = el.clientWidth;
    el.height = el.clientHeight;
    g.fillStyle = getComputedStyle(el).color;
    const flat: Node[] = [];
    const gather = (n: Node) => { if (n.entry?.kind === "task") flat.push(n); for (const c of n.children) gather(c); };
    for (const n of top) gather(n);
    const h = Math.max(1, el.height / Math.max(1, flat.length));
    flat.forEach((n, i) => {
      const x = scale.place(n.from) * el.width;
      g.fillRect(x, i * h, Math.max(1, scale.place(n.to) * el.width - x), Math.max(1, h - 1));
    });
  }, [top, scale]);
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

