// The timeline of an execution as a tree with a scale of time. It is plain: no document, no clock of its own.

import type { Timeline, TimelineEntry } from "../api/types.gen.ts";

export interface Node {
  key: string;
  entry?: TimelineEntry; // none: a group
  title: string;
  children: Node[];
  parent?: Node;
  level: number;
  from: number;
  to: number; // now, while it goes on
  running: boolean;
  failed: number; // entries in it, itself included, that failed
  count: number; // entries in it, itself included
  revision: number; // grows when its row shows something else, but for the end of what runs
}

/** A row that is shown. */
export interface Row { node: Node; open: boolean; more?: number }

const maxSiblings = 200;
const shownOfMany = 20;

const bad = new Set(["failed", "timeout", "lost", "expired"]);

export const keyOf = (e: TimelineEntry): string => e.kind + ":" + e.id + (e.attempt && e.attempt > 1 ? "#" + e.attempt : "");

const numeric = new Intl.Collator("en", { numeric: true });

/** What belongs to steps in the order of the workflow, however fast each was; of one step as it came. */
export const byStep = <T extends { step?: string }>(all: T[]): T[] => [...all].sort((a, b) => numeric.compare(a.step ?? "", b.step ?? ""));

/** Who gets a message, in the words of the rest of the console: the API calls people user. */
export const addressee = (e: TimelineEntry): string | undefined => (e.to === "user" ? "people" : e.to);

export function titleOf(e: TimelineEntry): string {
  switch (e.kind) {
    case "step": return e.name || e.type || "step";
    case "task": return e.name || e.role || "task";
    case "role": return (e.role ?? "role") + (e.name ? " \u00b7 " + e.name : "");
    case "message": return (e.role ?? "?") + " \u2192 " + (addressee(e) || "?");
    case "escalation": return e.to ? "escalated to " + addressee(e) : "escalated: no role is left to ask";
    case "question": return "asks people";
    case "approval": return (e.type ?? "prompt") + (e.ruling ? " \u00b7 " + e.ruling.answer + " by " + (e.ruling.person || e.ruling.rule || e.ruling.by) : "");
    case "thread": return e.name || e.role || "thread";
  }
}

// What follows from an entry alone is made once: one that did not change is the same object in the next tree.
interface Made { key: string; title: string; from: number; to: number }

const made = new WeakMap<TimelineEntry, Made>();

/** The key, title and times of an entry. */
export function madeOf(e: TimelineEntry): Made {
  let m = made.get(e);
  if (!m) made.set(e, m = { key: keyOf(e), title: titleOf(e), from: Date.parse(e.startedAt), to: e.endedAt ? Date.parse(e.endedAt) : NaN });
  return m;
}

/** The tree of a timeline. What changed in one that goes on is put into it, so that all else keeps its nodes. */
export class Tree {
  top: Node[] = [];
  /** Grows with each change of an entry. */
  version = 0;
  /** Entries that count as work: tasks, threads and steps. */
  work: Node[] = [];
  private entries: TimelineEntry[] = [];
  private nodes: Node[] = []; // of the entry at the same place
  private keys = new Map<string, Node>();
  private seen = new Map<string, number>();
  private steps = new Map<string, Node>();
  private messages = new Map<string, Node>();
  private running = new Set<Node>();
  private roles = groupOf("roles", "Roles");

  constructor(t: Timeline, now: number) {
    this.build(t.entries, now);
  }

  /** Takes what changed since. Entries that did not change are the same objects. */
  take(t: Timeline, now: number): void {
    const old = this.entries;
    const next = t.entries;
    if (next === old) return;
    const changed: number[] = [];
    let same = next.length >= old.length;
    for (let i = 0; same && i < old.length; i++) {
      if (old[i] === next[i]) continue;
      same = isSame(old[i]!, next[i]!);
      changed.push(i);
    }
    if (!same) {
      this.build(next, now);
      return;
    }
    for (const i of changed) this.change(this.nodes[i]!, next[i]!, now);
    for (let i = old.length; i < next.length; i++) this.add(next[i]!, now);
    this.entries = next;
    this.version++;
  }

  /** Moves the ends of what runs to now. */
  move(now: number): void {
    for (const n of this.running) {
      n.to = Math.max(now, n.from);
      if (n.parent === this.roles) this.roles.to = Math.max(this.roles.to, n.to);
    }
  }

  find(key: string): Node | undefined {
    return key ? this.keys.get(key) : undefined;
  }

  private build(entries: TimelineEntry[], now: number): void {
    this.top = [];
    this.work = [];
    this.nodes = [];
    this.roles = groupOf("roles", "Roles");
    for (const m of [this.keys, this.seen, this.steps, this.messages, this.running]) m.clear();
    for (const e of entries) this.add(e, now);
    this.entries = entries;
    this.version++;
  }

  private add(e: TimelineEntry, now: number): void {
    const { key: own, title, from, to } = madeOf(e);
    const n = (this.seen.get(own) ?? 0) + 1;
    this.seen.set(own, n);
    let parent: Node | undefined;
    if (e.kind === "role") parent = this.roles;
    else if (e.kind === "escalation") parent = this.messages.get(e.id);
    else if (e.kind === "question") parent = this.messages.get(e.id) ?? (e.step ? this.steps.get(e.step) : undefined);
    else if (e.step) parent = this.steps.get(e.step);
    const failed = bad.has(e.status) ? 1 : 0;
    const node: Node = {
      key: n > 1 ? own + "~" + n : own, entry: e, title, children: [], parent, level: Math.min((parent?.level ?? 0) + 1, maxLevel), from,
      to: e.endedAt ? to : Math.max(now, from), running: !e.endedAt, failed, count: 1, revision: 0,
    };
    if (parent === this.roles && this.roles.children.length === 0) {
      this.top.unshift(this.roles);
      this.keys.set(this.roles.key, this.roles);
    }
    (parent?.children ?? this.top).push(node);
    for (let p = parent; p; p = p.parent) {
      if (p.children.length === 1) p.revision++; // it can be folded from now on
      p.count++;
      p.failed += failed;
    }
    if (e.kind === "step") this.steps.set(e.id, node);
    if (e.kind === "message") this.messages.set(e.id, node);
    if (e.kind === "task" || e.kind === "thread" || e.kind === "step") this.work.push(node);
    this.keys.set(node.key, node);
    this.nodes.push(node);
    this.settle(node);
  }

  private change(node: Node, e: TimelineEntry, now: number): void {
    const { title, from, to } = madeOf(e);
    const more = (bad.has(e.status) ? 1 : 0) - (bad.has(node.entry!.status) ? 1 : 0);
    for (let p: Node | undefined = node; p; p = p.parent) p.failed += more;
    node.entry = e;
    node.title = title;
    node.from = from;
    node.to = e.endedAt ? to : Math.max(now, from);
    node.running = !e.endedAt;
    node.revision++;
    this.settle(node);
  }

  /** Notes what follows from a node for what it lies in. */
  private settle(node: Node): void {
    if (node.running) this.running.add(node);
    else this.running.delete(node);
    const group = this.roles;
    if (node.parent !== group) return;
    group.from = Math.min(group.from, node.from);
    group.to = Math.max(group.to, node.to);
    group.running = group.children.some((c) => c.running);
    group.revision++;
  }
}

const maxLevel = 100;

const groupOf = (key: string, title: string): Node =>
  ({ key, title, children: [], level: 1, from: Infinity, to: 0, running: false, failed: 0, count: 0, revision: 0 });

/** Whether an entry is a later state of another, with the same place in the tree. */
const isSame = (a: TimelineEntry, b: TimelineEntry): boolean =>
  a.kind === b.kind && a.id === b.id && a.attempt === b.attempt && a.step === b.step && a.firstSequence === b.firstSequence;

/** Selects entries. */
export class Filter {
  readonly active: boolean;
  private readonly text: string;
  private known = new WeakMap<TimelineEntry, boolean>(); // which of those that were looked at have the text

  constructor(text: string, private readonly kinds: ReadonlySet<string>, private readonly failed: boolean) {
    this.text = text.toLowerCase();
    this.active = text !== "" || kinds.size > 0 || failed;
  }

  fits(n: Node): boolean {
    const e = n.entry;
    if (!e) return false;
    if (this.failed && !bad.has(e.status)) return false;
    if (this.kinds.size > 0 && !this.kinds.has(e.kind)) return false;
    if (this.text === "") return true;
    let has = this.known.get(e);
    if (has === undefined) {
      has = [n.title, e.id, e.role, e.to, e.name, e.type, e.status, e.detail, e.agentId].some((s) => s?.toLowerCase().includes(this.text));
      this.known.set(e, has);
    }
    return has;
  }
}

/** The rows that are shown: what is open, and what fits the filter with what it lies in. */
export function rowsOf(top: Node[], closed: ReadonlySet<string>, opened: ReadonlySet<string>, f: Filter): Row[] {
  const filtering = f.active;
  const keeps = new Map<Node, boolean>();
  const keep = (n: Node): boolean => {
    let k = keeps.get(n);
    if (k === undefined) {
      k = f.fits(n);
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

/** A scale of time in which long stretches without work are folded: work is that of a tree. */
export class Scale {
  private parts: { from: number; to: number; at: number; size: number; idle: boolean }[] = [];
  readonly folds: { at: number; size: number; ms: number }[] = [];

  constructor(tasks: Node[], readonly from: number, readonly to: number, fold: boolean) {
    const end = Math.max(to, from + 1);
    const work: [number, number][] = [];
    if (fold) {
      for (const n of tasks) if (n.entry!.kind !== "step" || n.children.length === 0) work.push([n.from, n.to]);
    }
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
