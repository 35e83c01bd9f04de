// The difference of two texts by lines, as a unified diff.

interface Step { kind: " " | "-" | "+"; text: string }

const maxWork = 4_000_000; // steps of the search: beyond, what differs is shown as replaced
const context = 3;

/** Steps that make b of a: the fewest (Myers), after what both begin and end with. */
function steps(a: string[], b: string[]): Step[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (lines: string[]): Step[] => lines.map((text) => ({ kind: " ", text }));
  return [...same(a.slice(0, head)), ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)), ...same(a.slice(a.length - tail))];
}

function middle(a: string[], b: string[]): Step[] {
  const replaced = (): Step[] => [...a.map((text): Step => ({ kind: "-", text })), ...b.map((text): Step => ({ kind: "+", text }))];
  if (a.length === 0 || b.length === 0) return replaced();
  const most = a.length + b.length;
  let v = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  let work = 0;
  for (let d = 0; d <= most; d++) {
    trace.push(new Map(v));
    if ((work += v.size) > maxWork) return replaced();
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && v.get(k - 1)! < v.get(k + 1)!) ? v.get(k + 1)! : v.get(k - 1)! + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      v.set(k, x);
      if (x >= a.length && x - k >= b.length) return back(a, b, trace, d);
    }
  }
  return replaced();
}

function back(a: string[], b: string[], trace: Map<number, number>[], end: number): Step[] {
  const out: Step[] = [];
  let x = a.length;
  let y = b.length;
  for (let d = end; d >= 0; d--) {
    const v = trace[d]!;
    const k = x - y;
    const before = k === -d || (k !== d && v.get(k - 1)! < v.get(k + 1)!) ? k + 1 : k - 1;
    const px = d === 0 ? 0 : v.get(before)!;
    const py = d === 0 ? 0 : px - before;
    while (x > px && y > py) {
      out.push({ kind: " ", text: a[--x]! });
      y--;
    }
    if (d > 0) out.push(x > px ? { kind: "-", text: a[--x]! } : { kind: "+", text: b[--y]! });
  }
  return out.reverse();
}

/** A unified diff of two texts under a name; "" where they are the same. */
export function lineDiff(name: string, before: string, after: string): string {
  if (before === after) return "";
  const all = steps(before.split("\n"), after.split("\n"));
  const keep = all.map(() => false);
  all.forEach((s, i) => { if (s.kind !== " ") for (let n = Math.max(0, i - context); n <= Math.min(all.length - 1, i + context); n++) keep[n] = true; });
  let out = `diff --git a/${name} b/${name}\n`;
  let x = 1;
  let y = 1;
  for (let i = 0; i < all.length; i++) {
    if (!keep[i]) {
      x++;
      y++;
      continue;
    }
    let end = i;
    while (end < all.length && keep[end]) end++;
    const hunk = all.slice(i, end);
    const old = hunk.filter((s) => s.kind !== "+").length;
    const now = hunk.filter((s) => s.kind !== "-").length;
    out += `@@ -${x},${old} +${y},${now} @@\n` + hunk.map((s) => s.kind + s.text + "\n").join("");
    x += old;
    y += now;
    i = end - 1;
  }
  return out;
}
