// Notifications of the browser: of what begins to wait for a person while the page is not looked at, if they are switched on.

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

const known = new Set<string>();
const maxKnown = 2000;
const most = 3; // at once; of more, one tells how many
let first = true;

/** Tells of what waits now and did not before. What waits when the page is opened is no news. */
export function notifyOf(asks: Ask[]): void {
  const fresh = asks.filter((a) => !known.has(a.key));
  for (const a of fresh) known.add(a.key);
  while (known.size > maxKnown) known.delete(known.values().next().value!);
  if (first || fresh.length === 0 || notifying() !== "on" || document.hasFocus()) { first = false; return; }
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
  for (const a of fresh) {
    const verb = a.kind === "approval" ? "asks leave" : a.kind === "login" ? "needs a login" : "asks";
    show(revealed(a.who) + " " + verb, revealed((a.tool ? a.tool + ": " : "") + a.text).slice(0, 240), "wardroom-" + a.key, "/inbox?ask=" + encodeURIComponent(a.key));
  }
}
