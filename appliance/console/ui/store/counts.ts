// How much waits for a person: the figure in the navigation and in the title of the browser's tab.

import { effect, signal } from "@preact/signals";

export const inboxCount = signal(0);

/** Shows the figure in the page's icon title. */
export function followCount(): void {
  effect(() => {
    const n = inboxCount.value;
    document.documentElement.dataset.waiting = n > 0 ? String(n) : "";
  });
}
