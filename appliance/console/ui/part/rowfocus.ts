// Moving through rows by key, of which only those in view are in the document.

import { useLayoutEffect, useRef } from "preact/hooks";

/** Gives the focus on once a line of a list goes that has it: to a button of the next line, or of the one before, or else to what stands in for them. */
export function useFocusOnward<E extends HTMLElement>(other: (line: E) => HTMLElement | null | undefined): { current: E | null } {
  const line = useRef<E>(null);
  useLayoutEffect(() => () => {
    const el = line.current;
    if (!el?.contains(document.activeElement)) return;
    const next = (el.nextElementSibling ?? el.previousElementSibling)?.querySelector("button") ?? other(el);
    next?.focus({ preventScroll: true });
  }, []);
  return line;
}

/** Rows carry data-index. focus goes to one, which is drawn first where it has to be; at tells the row that a key is for: that which has
 * the focus, or is about to have it when keys come faster than rows are drawn. */
export function useRowFocus(box: { current: HTMLElement | null }, height: number, count: number, measure: () => void) {
  const wanted = useRef(-1);
  const take = () => {
    if (wanted.current < 0) return;
    if (wanted.current >= count) wanted.current = -1; // it is gone
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"]`);
    if (!row) return;
    wanted.current = -1;
    row.focus({ preventScroll: true });
  };
  useLayoutEffect(take);
  const focus = (index: number) => {
    const el = box.current;
    if (!el || index < 0 || index >= count) return;
    const y = index * height;
    if (y < el.scrollTop) el.scrollTop = y;
    if (y + height * 2 > el.scrollTop + el.clientHeight) el.scrollTop = y + height * 2 - el.clientHeight;
    wanted.current = index;
    measure();
    take();
  };
  const at = (row: HTMLElement) => (wanted.current >= 0 ? wanted.current : Number(row.dataset.index));
  return { focus, at };
}
