// What begins to wait for a person: told to who hears the page and, while it is not looked at, by notifications of the browser, if
// they are switched on.

import { signal } from "@preact/signals";
import { revealed } from "../part/text.tsx";
import { go } from "../route.ts";
import { choose, setting } from "../setting.ts";
import type { Ask } from "../store/ask.ts";

/** Whether notifications are shown: off and refused are told apart. */
export function notifying(): "off" | "on" | "refused" | "unknown" {
  if (!setting.value.notify) return "off";
  if (!("Notification" in window) || !isSecureContext) return "unknown";
  return Notification.permission === "granted" ? "on" : "refused";
}

/** Switches them on, which the browser asks the person about, or off. */
export async function setNotifying(on: boolean): Promise<void> {
  if (on && "Notification" in window) await Notification.requestPermission().catch(() => undefined);
  choose({ notify: on });
}

/** What happened last that who hears the page is to know; "" after a while. */
export const news = signal("");
const newsMs = 10_000;
const mostNews = 240; // characters
let old: ReturnType<typeof setTimeout> | undefined;

/** Makes one line the news. */
export function tell(line: string): void {
  news.value = revealed(line).slice(0, mostNews);
  clearTimeout(old);
  old = setTimeout(() => { news.value = ""; }, newsMs);
}

const known = new Set<string>();
const maxKnown = 2000;
const most = 3; // at once; of more, one tells how many
let first = true;

/** Forgets what was told: it was for whoever was here. */
export function forgetNews(): void {
  known.clear();
  first = true;
  news.value = "";
}

/** Tells of what waits now and did not before: to who hears the page, and by notifications. What waits when the page is opened is no news. */
export function notifyOf(asks: Ask[]): void {
  const fresh = asks.filter((a) => !known.has(a.key));
  for (const a of fresh) known.add(a.key);
  while (known.size > maxKnown) known.delete(known.values().next().value!);
  if (first || fresh.length === 0) { first = false; return; }
  tell(fresh.length > 1 ? `${fresh.length} more wait for you` : titleOf(fresh[0]!) + ": " + bodyOf(fresh[0]!));
  if (notifying() !== "on" || document.hasFocus()) return;
  const show = (title: string, body: string, tag: string, to: string) => {
    try {
      const n = new Notification(title, { body, tag }); // a tag is shown once, however many tabs tell of it
      n.onclick = () => { window.focus(); go(to); n.close(); };
    } catch {
      // a browser without them for pages
    }
  };
  if (fresh.length > most) {
    show(`${fresh.length} wait for you`, "Questions, approvals and logins of agents.", "wardroom-many", "/inbox");
    return;
  }
  for (const a of fresh) show(titleOf(a), bodyOf(a), "wardroom-" + a.key, "/inbox?ask=" + encodeURIComponent(a.key));
}

const titleOf = (a: Ask): string => revealed(a.who) + " " + (a.kind === "approval" ? "asks leave" : a.kind === "login" ? "needs a login" : "asks");

const bodyOf = (a: Ask): string => revealed((a.tool ? a.tool + ": " : "") + a.text).slice(0, mostNews);
