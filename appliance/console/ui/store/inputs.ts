// Inputs of a batch from text: JSON lines, or CSV with a line of names first. Each line that cannot be read is named.

export interface Inputs { form: "JSON lines" | "CSV"; inputs: Record<string, unknown>[]; problems: { line: number; reason: string }[] }

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** Reads inputs. What begins with a brace or a bracket is JSON; an array of objects is taken as well. */
export function readInputs(text: string): Inputs {
  const trimmed = text.replace(/^\ufeff/, "").trim();
  if (trimmed === "") return { form: "JSON lines", inputs: [], problems: [] };
  if (trimmed.startsWith("[")) {
    try {
      const list: unknown = JSON.parse(trimmed);
      if (Array.isArray(list)) {
        const problems = list.flatMap((v, i) => (isObject(v) ? [] : [{ line: i + 1, reason: "the item is no object" }]));
        return { form: "JSON lines", inputs: problems.length ? [] : list as Record<string, unknown>[], problems };
      }
    } catch {
      // it may be lines all the same: each is told about below
    }
  }
  return /^[{["]/.test(trimmed) && !/^"[^"]*"\s*,/.test(trimmed) ? readLines(text) : readCSV(text);
}

function readLines(text: string): Inputs {
  const out: Inputs = { form: "JSON lines", inputs: [], problems: [] };
  text.replace(/^\ufeff/, "").split("\n").forEach((line, i) => {
    if (line.trim() === "") return;
    try {
      const v: unknown = JSON.parse(line);
      if (isObject(v)) out.inputs.push(v);
      else out.problems.push({ line: i + 1, reason: "is no object: each line is one, such as {\"text\": \"...\"}" });
    } catch (err) {
      out.problems.push({ line: i + 1, reason: (err as Error).message });
    }
  });
  return out;
}

/** Reads CSV (RFC 4180). Numbers, booleans and JSON in a cell are taken as such, all else as text. */
function readCSV(text: string): Inputs {
  const out: Inputs = { form: "CSV", inputs: [], problems: [] };
  const rows = cells(text.replace(/^\ufeff/, ""));
  const names = rows[0]?.cells.map((c) => c.text.trim()) ?? [];
  if (names.some((n) => n === "") || new Set(names).size !== names.length) {
    out.problems.push({ line: 1, reason: "needs a name for each column, each once" });
    return out;
  }
  for (const row of rows.slice(1)) {
    if (row.open) out.problems.push({ line: row.line, reason: "has a quote that is never closed" });
    else if (row.cells.length !== names.length) out.problems.push({ line: row.line, reason: `has ${row.cells.length} cells, and there are ${names.length} names` });
    else out.inputs.push(Object.fromEntries(names.map((n, i) => [n, row.cells[i]!.quoted ? row.cells[i]!.text : valueOf(row.cells[i]!.text)])));
  }
  return out;
}

function valueOf(text: string): unknown {
  if (!/^(true|false|null|-?\d|[[{])/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface Row { line: number; cells: { text: string; quoted: boolean }[]; open: boolean }

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
      row.cells.push({ text: cell, quoted });
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
