// Inputs of a batch from text: JSON lines, or CSV with a line of names first. Each line that cannot be read is named.

import { isExact, parseTyped } from "./exact.ts";

export interface Inputs { form: "JSON lines" | "CSV"; inputs: Record<string, unknown>[]; problems: { line: number; reason: string }[] }

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** Reads inputs. What begins with a brace or a bracket is JSON; an array of objects is taken as well. */
export function readInputs(text: string): Inputs {
  const trimmed = text.replace(/^\ufeff/, "").trim();
  if (trimmed === "") return { form: "JSON lines", inputs: [], problems: [] };
  if (trimmed.startsWith("[")) {
    try {
      const list: unknown = parseTyped(trimmed);
      if (Array.isArray(list)) {
        const problems = list.flatMap((v, i) => (isObject(v) ? [] : [{ line: i + 1, reason: "the item is no object" }]));
        return { form: "JSON lines", inputs: problems.length ? [] : list as Record<string, unknown>[], problems };
      }
    } catch {
      // it may be lines all the same: each is told about below
    }
  }
  return /^[{[]/.test(trimmed) ? readLines(text) : readCSV(text);
}

function readLines(text: string): Inputs {
  const out: Inputs = { form: "JSON lines", inputs: [], problems: [] };
  text.replace(/^\ufeff/, "").split("\n").forEach((line, i) => {
    if (line.trim() === "") return;
    try {
      const v: unknown = parseTyped(line);
      if (isObject(v)) out.inputs.push(v);
      else out.problems.push({ line: i + 1, reason: "is no object: each line is one, such as {\"text\": \"...\"}" });
    } catch (err) {
      out.problems.push({ line: i + 1, reason: (err as Error).message });
    }
  });
  return out;
}

const kinds = ["string", "number", "boolean", "json"];

/** Reads CSV (RFC 4180) as the command line does: a cell is text unless the name of its column says otherwise, as in `amount:number`. */
function readCSV(text: string): Inputs {
  const out: Inputs = { form: "CSV", inputs: [], problems: [] };
  const rows = cells(text.replace(/^\ufeff/, ""));
  const columns = (rows[0]?.cells ?? []).map((c) => {
    const text = c.text.trim();
    const at = text.lastIndexOf(":");
    return at < 0 ? { name: text, kind: "string" } : { name: text.slice(0, at), kind: text.slice(at + 1) };
  });
  const odd = columns.findIndex((c) => !kinds.includes(c.kind));
  if (odd >= 0) {
    out.problems.push({ line: 1, reason: `column ${odd + 1}: the type after the colon must be string, number, boolean or json, not ${JSON.stringify(columns[odd]!.kind)}` });
    return out;
  }
  if (columns.some((c) => c.name === "") || new Set(columns.map((c) => c.name)).size !== columns.length) {
    out.problems.push({ line: 1, reason: "needs a name for each column, each once" });
    return out;
  }
  for (const row of rows.slice(1)) {
    if (row.open) out.problems.push({ line: row.line, reason: "has a quote that is never closed" });
    else if (row.cells.length !== columns.length) out.problems.push({ line: row.line, reason: `has ${row.cells.length} cells, and there are ${columns.length} names` });
    else {
      try {
        out.inputs.push(Object.fromEntries(columns.map((c, i) => [c.name, cellOf(c, row.cells[i]!.text)]).filter(([, v]) => v !== undefined)));
      } catch (err) {
        out.problems.push({ line: row.line, reason: (err as Error).message });
      }
    }
  }
  return out;
}

/** The value of a cell; an empty one of a column with a kind, but for text, leaves the field out. */
function cellOf(of: { name: string; kind: string }, cell: string): unknown {
  if (of.kind === "string") return cell;
  const text = cell.trim();
  if (text === "") return undefined;
  const bad = () => new Error(`${of.name}: ${JSON.stringify(text.slice(0, 40))} is no ${of.kind === "json" ? "JSON" : of.kind}`);
  if (of.kind === "boolean") {
    if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
    if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
    throw bad();
  }
  let value: unknown;
  try {
    value = parseTyped(text);
  } catch {
    throw bad();
  }
  if (of.kind === "number" && typeof value !== "number" && !isExact(value)) throw bad();
  return value;
}

interface Row { line: number; cells: { text: string }[]; open: boolean }

function cells(text: string): Row[] {
  const rows: Row[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const row: Row = { line, cells: [], open: false };
    for (;;) {
      let cell = "";
      const quoted = text[at] === '"';
      if (quoted) {
        at++;
        for (;;) {
          if (at >= text.length) { row.open = true; break; }
          if (text[at] === '"') {
            if (text[at + 1] !== '"') { at++; break; }
            at++;
          }
          if (text[at] === "\n") line++;
          cell += text[at++];
        }
      }
      while (at < text.length && text[at] !== "," && text[at] !== "\n" && text[at] !== "\r") cell += text[at++];
      row.cells.push({ text: cell });
      if (text[at] !== ",") break;
      at++;
    }
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
    line++;
    if (row.cells.length > 1 || row.cells[0]!.text !== "") rows.push(row);
  }
  return rows;
}
