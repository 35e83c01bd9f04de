// When exactly: the absolute times of what has the focus of the keyboard. There is no stop of Tab for a time; a row, a link or a summary
// with times in it tells them, in a note beside it that describes it to screen readers, and is told by nothing else. Escape takes the note away.

import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { setting } from "../setting.ts";
import { absolute } from "./time.tsx";

const most = 6; // what has more times is a place to scroll, and no row

const told = signal<{ of: HTMLElement; times: HTMLElement[] } | undefined>(undefined);

/** The head of the column that a time is in; "" elsewhere. */
function headOf(time: HTMLElement): string {
  const cell = time.closest("td");
  return cell?.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex]?.textContent ?? "";
}

function forget(): void {
  const t = told.peek();
  if (!t) return;
  t.of.removeAttribute("aria-describedby");
  for (const time of t.times) time.title = absolute(time.getAttribute("datetime")!);
  told.value = undefined;
}

function look(e: FocusEvent): void {
  forget();
  const of = e.target as HTMLElement;
  if (setting.peek().times === "absolute" || !of.matches(":focus-visible") || of.closest("dialog") || of.id === "main" || of.hasAttribute("aria-describedby")) return;
  const timesIn = (el: Element | null) => [...el?.querySelectorAll<HTMLElement>("time[datetime]") ?? []];
  const own = timesIn(of);
  const times = own.length ? own : timesIn(of.closest("tr, li")); // of the row that a link or a button is in
  if (times.length === 0 || times.length > most) return;
  of.setAttribute("aria-describedby", "moments");
  for (const time of times) time.removeAttribute("title"); // else it is told once more
  told.value = { of, times };
}

/** Listens to the focus for as long as the page lives. */
export function Moments() {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const key = (e: KeyboardEvent) => { if (e.key === "Escape") forget(); };
    addEventListener("focusin", look);
    addEventListener("focusout", forget);
    addEventListener("keydown", key, true);
    return () => { removeEventListener("focusin", look); removeEventListener("focusout", forget); removeEventListener("keydown", key, true); };
  }, []);
  const t = told.value;
  useLayoutEffect(() => {
    if (!t) return;
    const place = () => { // below what has the focus, or above it: never over it
      const note = box.current;
      if (!note) return;
      const r = t.of.getBoundingClientRect();
      const below = r.bottom + 4 + note.offsetHeight < innerHeight;
      note.style.top = Math.max(0, below ? r.bottom + 4 : r.top - 4 - note.offsetHeight) + "px";
      note.style.left = Math.max(8, Math.min(t.times[0]!.getBoundingClientRect().left, innerWidth - note.offsetWidth - 8)) + "px";
    };
    place();
    const frame = requestAnimationFrame(place); // the browser may scroll to it yet
    addEventListener("scroll", place, { capture: true, passive: true });
    addEventListener("resize", place);
    return () => { cancelAnimationFrame(frame); removeEventListener("scroll", place, true); removeEventListener("resize", place); };
  }, [t]);
  if (!t) return null;
  return <div id="moments" class="moments nums" aria-hidden="true" ref={box}>{t.times.map((time, i) => <div key={i}>{headOf(time) && <span class="soft">{headOf(time)} </span>}{absolute(time.getAttribute("datetime")!)}</div>)}</div>;
}
