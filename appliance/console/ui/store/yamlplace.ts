// Where in a definition a place of its text is: enough of YAML's blocks for an editor's help. What is written in braces
// or brackets is not looked into.

export type Step = string | number;

export interface Place {
  /** The mapping that a key is written in, or the key whose value is written. */
  path: Step[];
  at: "key" | "value";
  /** What is written of it before the place, and where that begins in its line. */
  prefix: string;
  from: number;
}

export interface Outline {
  /** Scalars by their path, steps joined by /; "" for a key with something below it. */
  values: Map<string, string>;
  /** The key that a line is of. */
  lines: Map<number, Step[]>;
}

interface Level { indent: number; step: Step; next: number }

const keyed = /^("[^"]*"|'[^']*'|[^\s#:{}[\],&*!|>'"%@`-][^:#]*?)\s*:(?=\s|$)/;
const bare = (s: string): string => s.replace(/^(["'])(.*)\1$/, "$2");

/** Reads the text once; row and column, from 0, are the place that is asked for. */
export function outline(text: string, row = -1, col = 0): Outline & { place?: Place } {
  const out: Outline & { place?: Place } = { values: new Map(), lines: new Map() };
  const stack: Level[] = [];
  const root: Level = { indent: -1, step: "", next: 0 };
  let block = -1; // indent of the key whose text of several lines goes on
  const path = (): Step[] => stack.map((l) => l.step);
  const lines = text.split("\n");
  for (let r = 0; r < lines.length; r++) {
    const line = lines[r]!;
    let indent = line.length - line.trimStart().length;
    const empty = line.trim() === "" || line.trimStart().startsWith("#");
    if (block >= 0 && (empty || indent > block)) continue;
    if (empty) {
      if (r === row && line.trim() === "") {
        const parents = stack.filter((l) => l.indent < col);
        out.place = { path: parents.map((l) => l.step), at: "key", prefix: "", from: col };
      }
      continue;
    }
    block = -1;
    let rest = line.slice(indent);
    while (/^-(\s|$)/.test(rest)) {
      while (stack.length && (stack.at(-1)!.indent > indent || stack.at(-1)!.indent === indent && typeof stack.at(-1)!.step === "number")) stack.pop();
      const parent = stack.at(-1) ?? root;
      stack.push({ indent, step: parent.next++, next: 0 });
      const skip = /^-\s*/.exec(rest)![0].length;
      indent += skip;
      rest = rest.slice(skip);
    }
    if (stack.length && typeof stack.at(-1)!.step === "number" && stack.at(-1)!.indent < indent && !keyed.test(rest)) {
      if (r === row && col >= indent) out.place = { path: path(), at: /^[\w-]*$/.test(rest) ? "key" : "value", prefix: line.slice(indent, col), from: indent };
      if (rest) out.values.set(path().join("/"), bare(rest.trim()));
      continue;
    }
    while (stack.length && stack.at(-1)!.indent >= indent) stack.pop();
    const m = keyed.exec(rest);
    if (!m) {
      if (r === row && col >= indent) out.place = { path: path(), at: "key", prefix: line.slice(indent, col), from: indent };
      continue;
    }
    if (r === row && col >= indent && col <= indent + m[1]!.length) out.place = { path: path(), at: "key", prefix: line.slice(indent, col), from: indent };
    stack.push({ indent, step: bare(m[1]!), next: 0 });
    const value = rest.slice(m[0].length);
    const begins = indent + m[0].length + (value.length - value.trimStart().length);
    if (r === row && col > indent + m[0].length - 1) out.place = { path: path(), at: "value", prefix: line.slice(Math.min(begins, col), col), from: Math.min(begins, col) };
    out.lines.set(r, path());
    out.values.set(path().join("/"), bare(value.replace(/(^|\s)#.*$/, "").trim()));
    if (/^\s+[|>][-+0-9]*\s*(#.*)?$/.test(value)) block = indent;
  }
  return out;
}
