// A table of which only the rows in view are in the document.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, href, place } from "../route.ts";
import { rowHeight } from "../setting.ts";
import { blockOf, drawnRows } from "./block.ts";
import { Rest } from "./rest.tsx";
import { Row, type Acts, type Column } from "./row.tsx";
import { useRowFocus } from "./rowfocus.ts";

export type { Column };

interface Props<T> {
  label: string;
  /** What is listed: another list of the same screen is shown from its beginning. */
  of?: string;
  columns: Column<T>[];
  rows: T[];
  id: (row: T) => string;
  to?: (row: T) => string;
  pick?: (row: T) => void;
  chosen?: string;
  /** How many there are in all, where that is known. */
  total?: number;
  /** Called when the end of the rows comes into view. */
  more?: () => void;
  /** Called with the rows that are drawn: the first, and the one behind the last. */
  seen?: (first: number, last: number) => void;
  marked?: ReadonlySet<string>;
  mark?: (id: string) => void;
  /** The command that lists all, where the list stops short of it. */
  rest?: string | false;
}

// Where a list was scrolled to, by place in the history, and which list it was.
const scrolled = new Map<string, { of: string; top: number }>();

export function Rows<T>(p: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const table = useId();
  const [view, setView] = useState({ top: 0, height: 800 });
  const height = rowHeight();
  const at = place.value.key + p.label;
  const of = p.of ?? "";
  const drawn = useRef<string>(undefined); // the list that was drawn last
  useLayoutEffect(() => {
    const el = box.current!;
    const measure = () => setView({ top: blockOf(el.scrollTop, height), height: el.clientHeight });
    const was = scrolled.get(at);
    if (was?.of === of) el.scrollTop = was.top;
    else if (drawn.current !== of) el.scrollTop = 0;
    drawn.current = of;
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(el);
    const scroll = () => {
      scrolled.set(at, { of, top: el.scrollTop });
      if (scrolled.size > 100) scrolled.delete(scrolled.keys().next().value!);
      const top = blockOf(el.scrollTop, height);
      setView((v) => (v.top === top ? v : { ...v, top }));
    };
    el.addEventListener("scroll", scroll, { passive: true });
    return () => { sizes.disconnect(); el.removeEventListener("scroll", scroll); };
  }, [height, at, of]);
  const [first, last] = drawnRows(view.top, view.height, height, p.rows.length);
  useEffect(() => {
    if (p.more && last >= p.rows.length) p.more();
  }, [last, p.rows.length]);
  useEffect(() => p.seen?.(first, last), [first, last]);
  const open = (row: T) => { if (p.pick) p.pick(row); else if (p.to) go(p.to(row)); };
  const { focus, at: rowAt } = useRowFocus(box, height, p.rows.length, () => setView({ top: blockOf(box.current!.scrollTop, height), height: box.current!.clientHeight }));
  const acts = useRef<Acts<T>>(undefined); // of the last drawing
  acts.current = { open, aside: (row) => { if (p.to) window.open(href(p.to(row)), "_blank", "noopener"); }, mark: (id) => p.mark?.(id) };
  const act = useMemo<Acts<T>>(() => ({ open: (row) => acts.current!.open(row), aside: (row) => acts.current!.aside(row), mark: (id) => acts.current!.mark(id) }), []);
  const keys = (e: KeyboardEvent) => {
    const row = (e.target as Element).closest<HTMLElement>("tr[data-index]");
    if (!row || e.ctrlKey || e.metaKey || e.altKey) return;
    const index = rowAt(row);
    switch (e.key) {
      case "ArrowDown": focus(index + 1); break;
      case "ArrowUp": focus(index - 1); break;
      case "Home": focus(0); break;
      case "End": focus(p.rows.length - 1); break;
      case "Enter":
        if (e.target !== row) return;
        open(p.rows[index]!);
        break;
      case " ":
        if (e.target !== row || !p.mark) return;
        p.mark(p.id(p.rows[index]!));
        break;
      default: return;
    }
    e.preventDefault();
  };
  const rows = [];
  for (let i = first; i < last; i++) {
    const row = p.rows[i]!;
    const id = p.id(row);
    rows.push(<Row key={id} row={row} id={id} index={i} table={table} columns={p.columns} chosen={p.chosen === id} marked={p.mark && (p.marked?.has(id) ?? false)} act={act} />);
  }
  return <><div class="rows" ref={box} onKeyDown={keys}>
    <table aria-label={p.label} aria-rowcount={p.total === undefined ? undefined : p.total + 1}>
      <thead><tr aria-rowindex={1}>
        {p.mark && <th scope="col" class="check"><span class="sr">Selected</span></th>}
        {p.columns.map((c) => <th key={c.head} scope="col" class={c.class}>{c.head}</th>)}
      </tr></thead>
      <tbody>
        {first > 0 && <tr class="space" aria-hidden="true" style={{ height: first * height + "px" }}><td /></tr>}
        {rows}
        {last < p.rows.length && <tr class="space" aria-hidden="true" style={{ height: (p.rows.length - last) * height + "px" }}><td /></tr>}
      </tbody>
    </table>
  </div>{p.rest && <Rest shown={p.rows.length} total={p.total} command={p.rest} />}</>;
}
