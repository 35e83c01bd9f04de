// The timeline of an execution as a tree with a scale of time. It is plain: no document, no clock of its own.

import type { Timeline, TimelineEntry } from "../api/types.gen.ts";

export interface Node {
  key: string;
  entry?: TimelineEntry; // none: a group
  title: string;
  children: Node[];
  level: number;
  from: number;
  to: number; // now, while it goes on
  running: boolean;
  failed: number; // entries in it, itself included, that failed
  count: number; // entries in it, itself included
}

/** A row that is shown. */
export interface Row { node: Node; open: boolean; more?: number }

const maxSiblings = 200;
const shownOfMany = 20;

const bad = new Set(["failed", "timeout", "lost", "expired"]);

export const keyOf = (e: TimelineEntry): string => e.kind + ":" + e.id + (e.attempt && e.attempt > 1 ? "#" + e.attempt : "");

export function titleOf(e: TimelineEntry): string {
  switch (e.kind) {
    case "step": return e.name || e.type || "step";
    case "task": return e.name || e.role || "task";
    case "role": return (e.role ?? "role") + (e.name ? " \u00b7 " + e.name : "");
    case "message": return (e.role ?? "?") + " \u2192 " + (e.to || "?");
    case "escalation": return "escalated to " + (e.to || "people");
    case "question": return "asks people";
    case "approval": return (e.type ?? "prompt") + (e.ruling ? " \u00b7 " + e.ruling.answer + " by " + (e.ruling.person || e.ruling.rule || e.ruling.by) : "");
    case "thread": return e.name || e.role || "thread";
  }
}

// What follows from an entry alone is made once: one that did not change is the same object in the next tree.
interface Made { key: string; title: string; from: number; to: number }

const made = new WeakMap<TimelineEntry, Made>();

function madeOf(e: TimelineEntry): Made {
  let m = made.get(e);
  if (!m) made.set(e, m = { key: keyOf(e), title: titleOf(e), from: Date.parse(e.startedAt), to: e.endedAt ? Date.parse(e.endedAt) : NaN });
  return m;
}

/** Moves the ends of what runs to now, in a tree that changed in nothing else. What it returns is another list, of the same nodes. */
export function moved(top: Node[], now: number): Node[] {
  const move = (n: Node): void => {
    if (n.entry && n.running) n.to = Math.max(now, n.from);
    for (const c of n.children) {
      move(c);
      if (!n.entry) n.to = Math.max(n.to, c.to);
    }
  };
  for (const n of top) move(n);
  return [...top];
}

/** Makes the tree. Entries come in the order in which they began. */
export function treeOf(t: Timeline, now: number): Node[] {
  const top: Node[] = [];
  const steps = new Map<string, Node>();
  const messages = new Map<string, Node>();
  const roles: Node = { key: "roles", title: "Roles", children: [], level: 1, from: Infinity, to: 0, running: false, failed: 0, count: 0 };
  const seen = new Map<string, number>();
  for (const e of t.entries) {
    const { key: own, title, from, to: end } = madeOf(e);
    let key = own;
    const n = (seen.get(key) ?? 0) + 1;
    seen.set(key, n);
    if (n > 1) key += "~" + n;
    const to = e.endedAt ? end : Math.max(now, from);
    const node: Node = { key, entry: e, title, children: [], level: 1, from, to, running: !e.endedAt, failed: 0, count: 0 };
    let parent: Node | undefined;
    if (e.kind === "role") parent = roles;
    else if (e.kind === "escalation") parent = messages.get(e.id);
    else if (e.kind === "question") parent = messages.get(e.id) ?? (e.step ? steps.get(e.step) : undefined);
    else if (e.step) parent = steps.get(e.step);
    if (e.kind === "step") steps.set(e.id, node);
    if (e.kind === "message") messages.set(e.id, node);
    (parent?.children ?? top).push(node);
  }
  if (roles.children.length > 0) top.unshift(roles);
  const close = (node: Node, level: number): void => {
    node.level = level;
    if (node.entry) {
      node.count = 1;
      node.failed = bad.has(node.entry.status) ? 1 : 0;
    }
    for (const c of node.children) {
      if (level < 100) close(c, level + 1);
      node.count += c.count;
      node.failed += c.failed;
      if (!node.entry) {
        node.from = Math.min(node.from, c.from);
        node.to = Math.max(node.to, c.to);
        node.running ||= c.running;
      }
    }
  };
  for (const node of top) close(node, 1);
  return top;
}

export interface Filter { text: string; kinds: ReadonlySet<string>; failed: boolean }

/** The rows that are shown: what is open, and what fits the filter with what it lies in. */
export function rowsOf(top: Node[], closed: ReadonlySet<string>, opened: ReadonlySet<string>, f: Filter): Row[] {
  const filtering = f.text !== "" || f.kinds.size > 0 || f.failed;
  const text = f.text.toLowerCase();
  const fits = (n: Node): boolean => {
    const e = n.entry;
    if (!e) return false;
    if (f.failed && !bad.has(e.status)) return false;
    if (f.kinds.size > 0 && !f.kinds.has(e.kind)) return false;
    return text === "" || [n.title, e.id, e.role, e.to, e.name, e.type, e.status, e.detail, e.agentId].some((s) => s?.toLowerCase().includes(text));
  };
  const keeps = new Map<Node, boolean>();
  const keep = (n: Node): boolean => {
    let k = keeps.get(n);
    if (k === undefined) {
      k = fits(n);
      for (const c of n.children) if (keep(c)) k = true;
      keeps.set(n, k);
    }
    return k;
  };
  const out: Row[] = [];
  const add = (list: Node[], parent: string): void => {
    let shown = filtering ? list.filter(keep) : list;
    let more = 0;
    const many = "many:" + parent;
    if (shown.length > maxSiblings && !filtering && !opened.has(many)) {
      const few = shown.filter((n, i) => i < shownOfMany || n.failed > 0 || n.running).slice(0, maxSiblings);
      more = shown.length - few.length;
      shown = few;
    }
    for (const n of shown) {
      const open = n.children.length > 0 && (filtering || (n.key === "roles" ? opened.has(n.key) : !closed.has(n.key)));
      out.push({ node: n, open });
      if (open) add(n.children, n.key);
    }
    if (more > 0) {
      out.push({ node: { ...shown[0]!, key: many, title: "", children: [], entry: undefined }, open: false, more });
    }
  };
  add(top, "");
  return out;
}

/** The nodes that decided when the execution ended. */
export function criticalPath(top: Node[]): Set<string> {
  const out = new Set<string>();
  const walk = (list: Node[]): void => {
    let until = Infinity;
    const parts = list.filter((n) => n.entry && n.entry.kind !== "role").sort((a, b) => b.to - a.to);
    for (const n of parts) {
      if (n.to > until + 1) continue;
      out.add(n.key);
      walk(n.children);
      until = n.from;
    }
  };
  walk(top);
  return out;
}

/** A scale of time in which long stretches without work are folded. */
export class Scale {
  private parts: { from: number; to: number; at: number; size: number; idle: boolean }[] = [];
  readonly folds: { at: number; size: number; ms: number }[] = [];

  constructor(top: Node[], readonly from: number, readonly to: number, fold: boolean) {
    const end = Math.max(to, from + 1);
    const work: [number, number][] = [];
    const gather = (n: Node): void => {
      if (n.entry && (n.entry.kind === "task" || n.entry.kind === "thread" || n.children.length === 0 && n.entry.kind === "step")) work.push([n.from, n.to]);
      for (const c of n.children) gather(c);
    };
    if (fold) for (const n of top) gather(n);
    work.sort((a, b) => a[0] - b[0]);
    const busy: [number, number][] = [];
    for (const [a, b] of work) {
      const last = busy.at(-1);
      if (last && a <= last[1]) last[1] = Math.max(last[1], b);
      else busy.push([a, b]);
    }
    const sum = busy.reduce((n, [a, b]) => n + b - a, 0);
    const least = Math.max(5000, sum * 0.25);
    let at = from;
    const add = (a: number, b: number, idle: boolean) => { if (b > a) this.parts.push({ from: a, to: b, at: 0, size: 0, idle }); };
    for (const [a, b] of fold ? busy : []) {
      if (a - at > least) {
        add(at, a, true);
        at = a;
      }
      const last = this.parts.at(-1);
      if (last && !last.idle) last.to = Math.max(last.to, b);
      else add(at, Math.max(b, at), false);
      at = Math.max(at, b);
    }
    if (busy.length > 0 && end - at > least) add(at, end, true);
    else {
      const last = this.parts.at(-1);
      if (last && !last.idle) last.to = end;
      else add(at, end, false);
    }
    if (this.parts.length === 0) add(from, end, false);
    const folded = this.parts.filter((p) => p.idle).length;
    const real = this.parts.reduce((n, p) => n + (p.idle ? 0 : p.to - p.from), 0);
    const share = real > 0 ? Math.min(0.06, 0.4 / Math.max(1, folded)) : 1 / Math.max(1, folded);
    let x = 0;
    for (const p of this.parts) {
      p.at = x;
      p.size = p.idle ? share : ((p.to - p.from) / real) * (1 - share * folded);
      if (p.idle) this.folds.push({ at: p.at, size: p.size, ms: p.to - p.from });
      x += p.size;
    }
  }

  /** Where a time lies, from 0 to 1. */
  place(t: number): number {
    let lo = 0;
    let hi = this.parts.length - 1;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (t > this.parts[mid]!.to) lo = mid + 1;
      else hi = mid;
    }
    const p = this.parts[lo]!;
    const share = Math.min(1, Math.max(0, (t - p.from) / Math.max(1, p.to - p.from)));
    return p.at + p.size * share;
  }

  /** The time at a place. */
  time(x: number): number {
    for (const p of this.parts) {
      if (x <= p.at + p.size) return p.from + ((x - p.at) / Math.max(1e-9, p.size)) * (p.to - p.from);
    }
    return this.to;
  }

  /** Whether a place lies in a fold. */
  folded(x: number): boolean {
    return this.folds.some((f) => x > f.at && x < f.at + f.size);
  }
}

/** Times at which marks stand in a window that has room for n. */
export function ticks(scale: Scale, a: number, b: number, n: number): { x: number; ms: number }[] {
  const span = scale.time(b) - scale.time(a);
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5];
  const step = steps.find((s) => span / s <= n) ?? span / n;
  const out: { x: number; ms: number }[] = [];
  let last = -1;
  for (let ms = Math.ceil((scale.time(a) - scale.from) / step) * step; ms <= scale.time(b) - scale.from && out.length < 40; ms += step) {
    const at = scale.place(scale.from + ms);
    const x = (at - a) / (b - a);
    if (x < 0 || x > 1 - 0.3 / n || scale.folded(at) || x - last < 0.5 / n && last >= 0) continue;
    last = x;
    out.push({ x, ms });
  }
  return out;
}
