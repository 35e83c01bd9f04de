// Rows come into the document, and leave it, in blocks: between two of them a scrolled list only moves.

import { printing } from "./printing.ts";

const block = 8;
const mostPrinted = 5000; // rows

/** The top of the block that a place lies in. */
export const blockOf = (y: number, height: number): number => Math.floor(y / height / block) * block * height;

/** The rows that are drawn where the block at the top is top: a block before it, and two after what is in view. On paper they are all in view. */
export function drawnRows(top: number, view: number, height: number, count: number): [first: number, last: number] {
  if (printing.value) return [0, Math.min(count, mostPrinted)];
  const first = Math.max(0, Math.floor(top / height) - block);
  return [Math.min(first, count), Math.min(count, Math.ceil((top + view) / height) + 2 * block)];
}
