import type { ComponentChildren } from "preact";
import { Kept } from "./kept.ts";

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  /** Classes of the cells: num, grow, mid (from 600 px), wide (from 1000 px). */
  class?: string;
}

/** What a click on a row does. It stays the same object. */
export interface Acts<T> { open(row: T): void; aside(row: T): void; mark(id: string): void }

interface Props<T> {
  row: T;
  id: string;
  index: number;
  table: string; // the ids of its cells begin with it
  columns: Column<T>[];
  chosen: boolean;
  marked?: boolean; // undefined: rows cannot be
  act: Acts<T>;
}

/** A row of a table. Its cells are its name: who hears the page goes from row to row as well. */
export class Row<T> extends Kept<Props<T>> {
  override render({ row, id, index, table, columns, chosen, marked, act }: Props<T>) {
    const cells = columns.map((_, i) => `${table}-${index}-${i}`);
    return <tr data-index={index} data-id={id} tabIndex={0} aria-rowindex={index + 2} aria-labelledby={cells.join(" ")}
      class={(chosen ? "chosen" : "") + (marked ? " marked" : "")} aria-current={chosen ? "true" : undefined}
      onClick={(e) => {
        if ((e.target as Element).closest("a,button,input,label") || getSelection()?.toString()) return;
        if (e.ctrlKey || e.metaKey) act.aside(row);
        else act.open(row);
      }}>
      {marked !== undefined && <td class="check"><input type="checkbox" checked={marked} aria-label={"Select " + id} onChange={() => act.mark(id)} /></td>}
      <Cells row={row} columns={columns} ids={cells} />
    </tr>;
  }
}

function Cells<T>({ row, columns, ids }: { row: T; columns: Column<T>[]; ids: string[] }) {
  return <>{columns.map((c, i) => <td key={c.head} id={ids[i]} class={c.class}>{c.cell(row)}</td>)}</>;
}
