// Where a text stands in the lines of a terminal. Each search reads each row once, however long the lines are that were wrapped.

import type { IBuffer, IBufferLine, Terminal } from "@xterm/xterm";

/** A place in the buffer, and how many cells a text takes from it on. */
interface Match { row: number; col: number; cells: number }

/** Selects the next place of a text and brings it into view: behind what is selected, or there if it is not to go on. Behind the last comes the first. */
export function find(term: Terminal, text: string, goOn: boolean): void {
  const from = term.getSelectionPosition();
  const start = from ? goOn ? from.end : from.start : { x: 0, y: 0 };
  const at = match(term.buffer.active, lower(text), start.y, start.x);
  if (!at) {
    term.clearSelection();
    return;
  }
  term.select(at.col, at.row, at.cells);
  const top = term.buffer.active.viewportY;
  if (at.row < top || at.row >= top + term.rows) term.scrollToLine(Math.max(0, at.row - Math.floor(term.rows / 2)));
}

/** The first place at or behind a cell, else the first of all. */
function match(buffer: IBuffer, text: string, row: number, col: number): Match | undefined {
  let first: Match | undefined;
  for (let y = 0; y < buffer.length;) {
    const line = new Line(buffer, y), end = y + line.starts.length;
    first ??= line.match(text, 0);
    if (end > row) {
      const at = line.match(text, row < y ? 0 : line.index(row, col));
      if (at) return at;
    }
    y = end;
  }
  return first;
}

/** A line as it was written: a row, and those that it was wrapped into. */
class Line {
  private text = "";
  readonly starts: number[] = []; // of each row in the text

  constructor(private buffer: IBuffer, private y: number) {
    for (let n = y, wraps = true; wraps; n++) {
      const row = buffer.getLine(n)!;
      const next = n + 1 < buffer.length ? buffer.getLine(n + 1) : undefined; // behind the last row of a full buffer there is the first
      wraps = Boolean(next?.isWrapped);
      this.starts.push(this.text.length);
      const text = row.translateToString(!wraps), last = row.getCell(row.length - 1);
      const cut = wraps && last?.getChars() === "" && last.getWidth() === 1 && next?.getCell(0)?.getWidth() === 2; // a wide character did not fit
      this.text += cut ? text.slice(0, -1) : text;
    }
    this.text = lower(this.text);
  }

  match(text: string, from: number): Match | undefined {
    const at = this.text.indexOf(text, from);
    if (at < 0) return undefined;
    const [row, col] = this.cell(at), [lastRow, lastCol] = this.cell(at + text.length - 1);
    const last = this.buffer.getLine(lastRow)!.getCell(lastCol);
    return { row, col, cells: (lastRow - row) * this.buffer.getLine(row)!.length + lastCol - col + (last?.getWidth() || 1) };
  }

  /** Where in the text a cell is. */
  index(row: number, col: number): number {
    let at = this.starts[row - this.y]!;
    for (const [c, length] of cells(this.buffer.getLine(row)!)) {
      if (c >= col) break;
      at += length;
    }
    return Math.min(at, this.starts[row - this.y + 1] ?? at);
  }

  /** The row and column of a place in the text. */
  private cell(at: number): [row: number, col: number] {
    const n = this.starts.findLastIndex((start) => start <= at);
    let rest = at - this.starts[n]!, col = 0;
    for (const [c, length] of cells(this.buffer.getLine(this.y + n)!)) {
      col = c;
      if ((rest -= length) < 0) break;
    }
    return [this.y + n, col];
  }
}

/** In small letters, each in the place of the one that it is of. */
function lower(text: string): string {
  const all = text.toLowerCase();
  return all.length === text.length ? all : Array.from(text, (c) => { const l = c.toLowerCase(); return l.length === c.length ? l : c; }).join("");
}

/** The columns of a row that hold something, and how much text each is. */
function* cells(line: IBufferLine): Generator<[col: number, length: number]> {
  for (let col = 0; col < line.length; col++) {
    const cell = line.getCell(col)!;
    if (cell.getWidth() > 0) yield [col, cell.getChars().length || 1];
  }
}
