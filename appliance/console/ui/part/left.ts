// Where the focus was when a place was left: who comes back to the place finds it there.

const left = new Map<number, string>();
const maxLeft = 100;
const patienceMs = 5000; // for what a screen reads before it shows it

/** Remembers the row or link that has the focus at a place. */
export function leave(key: number): void {
  const at = document.activeElement;
  const row = at?.closest<HTMLElement>("main [data-id]");
  const link = at?.closest<HTMLAnchorElement>("main a[href]");
  const mark = row ? `[data-id="${CSS.escape(row.dataset.id!)}"]` : link ? `a[href="${CSS.escape(link.getAttribute("href")!)}"]` : "";
  left.delete(key);
  if (mark) left.set(key, mark);
  if (left.size > maxLeft) left.delete(left.keys().next().value!);
}

/** Gives what had the focus at a place the focus again, once it is there, unless it was given to something else meanwhile. */
export function comeBack(key: number, main: HTMLElement): () => void {
  const mark = left.get(key);
  if (!mark) return () => undefined;
  const stop = () => { drawn.disconnect(); clearTimeout(timer); };
  const look = () => {
    if (document.activeElement !== main) { stop(); return; }
    const el = main.querySelector<HTMLElement>(mark);
    if (!el) return;
    stop();
    el.focus({ preventScroll: true });
  };
  const drawn = new MutationObserver(look);
  const timer = setTimeout(() => drawn.disconnect(), patienceMs);
  drawn.observe(main, { subtree: true, childList: true });
  look();
  return stop;
}
