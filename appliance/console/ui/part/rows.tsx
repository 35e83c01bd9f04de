// A table of which only the rows in view are in the document.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, href, place } from "../route.ts";
import { rowHeight } from "../setting.ts";
import { useRowFocus } from "./rowfocus.ts";

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Classes of the cells: num, grow, mid (from 600 px), wide (from 1000 px). */
  class?: string;
}

interface Props<T> {
  label: string;
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
  marked?: ReadonlySet<string>;
  mark?: (id: string) => void;
}

// Where a list was scrolled to, by place in the history.
const scrolled = new Map<string, number>();

export function Rows<T>(p: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const height = rowHeight();
  const at = place.value.key + p.label;
  const key = useRef(at);
  key.current = at;
  useLayoutEffect(() => {
    const el = box.current!;
    const measure = () => setView({ top: el.scrollTop, height: el.clientHeight });
    el.scrollTop = scrolled.get(at) ?? 0;
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(el);
    let due = false;
    const scroll = () => {
      scrolled.set(key.current, el.scrollTop);
      if (scrolled.size > 100) scrolled.delete(scrolled.keys().next().value!);
      if (due) return;
      due = true;
      requestAnimationFrame(() => { due = false; measure(); });
    };
    el.addEventListener("scroll", scroll, { passive: true });
    return () => { sizes.disconnect(); el.removeEventListener("scroll", scroll); };
  }, []);
  const first = Math.max(0, Math.floor(view.top / height) - 8);
  const last = Math.min(p.rows.length, Math.ceil((view.top + view.height) / height) + 8);
  useEffect(() => {
    if (p.more && last >= p.rows.length) p.more();
  }, [last, p.rows.length]);
  const open = (row: T) => { if (p.pick) p.pick(row); else if (p.to) go(p.to(row)); };
  const { focus, at: rowAt } = useRowFocus(box, height, p.rows.length, () => setView({ top: box.current!.scrollTop, height: box.current!.clientHeight }));
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
    rows.push(<tr key={id} data-index={i} data-id={id} tabIndex={0} aria-rowindex={i + 2}
      class={(p.chosen === id ? "chosen" : "") + (p.marked?.has(id) ? " marked" : "")} aria-current={p.chosen === id ? "true" : undefined}
      onClick={(e) => {
        if ((e.target as Element).closest("a,button,input,label") || getSelection()?.toString()) return;
        if (e.ctrlKey || e.metaKey) { if (p.to) window.open(href(p.to(row)), "_blank", "noopener"); return; }
        open(row);
      }}>
      {p.mark && <td class="check"><input type="checkbox" checked={p.marked?.has(id) ?? false} aria-label={"Select " + id} onChange={() => p.mark!(id)} /></td>}
      {p.columns.map((c) => <td key={c.head} class={c.class}>{c.cell(row)}</td>)}
    </tr>);
  }
  return <div class="rows" ref={box} onKeyDown={keys}>
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
  </div>;
}
