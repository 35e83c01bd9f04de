// Values of JSON: text as text, small objects as a list, the rest indented. Nothing is parsed twice, nothing is cut
// without a way to the whole.

import type { ComponentChildren } from "preact";
import { isExact } from "../store/exact.ts";
import { Markdown } from "./markdown.tsx";
import { Pre, Text, reveal } from "./text.tsx";

const maxDepth = 200;

/** Indents a value; where it is deeper than people read, it stays in one line. */
export function indented(value: unknown): string {
  let deep = 0;
  const depth = (v: unknown, n: number): void => {
    if (n > deep) deep = n;
    if (n > maxDepth || typeof v !== "object" || v === null) return;
    for (const one of Object.values(v)) depth(one, n + 1);
  };
  depth(value, 0);
  try {
    return JSON.stringify(value, null, deep > maxDepth ? undefined : 2) ?? "null";
  } catch {
    return "This value is nested too deeply to be shown here; the command line has it.";
  }
}

/** A value of unknown form, as people read it. */
export function Value({ value, label, markdown }: { value: unknown; label: string; markdown?: boolean }) {
  if (value === null || value === undefined) return <span class="soft">nothing</span>;
  if (typeof value === "string") return markdown ? <Markdown text={value} label={label} /> : <Pre text={value} label={label} />;
  if (typeof value !== "object" || isExact(value)) return <span class="mono">{indented(value)}</span>;
  if (Array.isArray(value) && value.length > 0 && value.length <= 24) {
    return <ol class="value">{value.map((v: unknown, i) => <li key={i}>{leaf(v, `${label} ${i + 1}`, markdown)}</li>)}</ol>;
  }
  const entries = Object.entries(value as Record<string, unknown>);
  if (!Array.isArray(value) && entries.length === 1 && entries[0]![0] === "text" && typeof entries[0]![1] === "string") {
    return <Markdown text={entries[0]![1]} label={label} />;
  }
  if (!Array.isArray(value) && entries.length > 0 && entries.length <= 24) {
    return <dl class="value">{entries.map(([name, v]) => <div key={name}><dt class="mono"><Text>{name}</Text></dt><dd>{leaf(v, label + " " + name, markdown)}</dd></div>)}</dl>;
  }
  return <Pre text={indented(value)} label={label} />;
}

function leaf(v: unknown, label: string, markdown?: boolean): ComponentChildren {
  if (typeof v === "string") return v.length > 200 || v.includes("\n") || markdown && v !== "" ? <Markdown text={v} label={label} /> : <bdi>{v === "" ? <span class="soft">empty</span> : reveal(v)}</bdi>;
  if (isExact(v)) return <span class="mono">{v.rawJSON}</span>;
  if (v === null || typeof v !== "object") return <span class="mono">{String(v)}</span>;
  if (Array.isArray(v) && v.length > 0 && v.length <= 24 && v.every((one) => typeof one === "string")) {
    return <ol class="value">{v.map((one, i) => <li key={i}>{leaf(one, `${label} ${i + 1}`, markdown)}</li>)}</ol>;
  }
  return <Pre text={indented(v)} label={label} />;
}
