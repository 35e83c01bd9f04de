// Times: relative, absolute on hover, on focus (moments.tsx) and by key, by the server's clock. One timer ticks for all.

import { signal } from "@preact/signals";
import { now } from "../api/client.ts";
import { setting } from "../setting.ts";
import { printing } from "./printing.ts";

/** The time of the last tick, by the server's clock. */
export const tick = signal(now());

setInterval(() => { if (!document.hidden) tick.value = now(); }, 1000);
document.addEventListener("visibilitychange", () => { if (!document.hidden) tick.value = now(); });

/** A duration for people: 350 ms, 1.9 s, 4m 12s, 3h 05m, 2d 4h. */
export function lasted(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) ms = 0;
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 59_950) return (ms / 1000).toFixed(1) + " s";
  const s = Math.round(ms / 1000);
  if (s < 3600) return Math.floor(s / 60) + "m " + pad(s % 60) + "s";
  if (s < 86_400) return Math.floor(s / 3600) + "h " + pad(Math.floor(s / 60) % 60) + "m";
  return Math.floor(s / 86_400) + "d " + Math.floor(s / 3600) % 24 + "h";
}

/** A duration in one unit: 12s, 4m, 3h, 2d. */
export function roughly(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + "s";
  if (s < 3600) return Math.floor(s / 60) + "m";
  if (s < 172_800) return Math.floor(s / 3600) + "h";
  return Math.floor(s / 86_400) + "d";
}

const pad = (n: number): string => String(n).padStart(2, "0");

/** A point in time with its zone. */
export function absolute(text: string): string {
  const d = new Date(text);
  if (Number.isNaN(d.getTime())) return text;
  if (setting.value.zone === "utc") return d.toISOString().replace("T", " ").replace(/\.(\d+)Z$/, ".$1 UTC");
  const at = -d.getTimezoneOffset();
  const zone = (at < 0 ? "-" : "+") + pad(Math.floor(Math.abs(at) / 60)) + ":" + pad(Math.abs(at) % 60);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock(d)}.${String(d.getMilliseconds()).padStart(3, "0")} ${zone}`;
}

const clock = (d: Date): string => `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;

/** The time of the day. */
export function timeOfDay(text: string): string {
  const d = new Date(text);
  if (Number.isNaN(d.getTime())) return "";
  return setting.value.zone === "utc" ? d.toISOString().slice(11, 19) : clock(d);
}

/** Whether times are shown exactly. On paper they are: how long ago something was is true for a moment only. */
const exactly = (): boolean => setting.value.times === "absolute" || printing.value;

/** The time of the day of a point in time, and when exactly in its title. */
export function At({ at }: { at: string }) {
  return <time dateTime={at} title={absolute(at)} class="nums">{exactly() ? absolute(at) : timeOfDay(at)}</time>;
}

/** A point in time: how long ago, and when exactly in its title. */
export function When({ at, suffix = " ago" }: { at?: string | null; suffix?: string }) {
  if (!at) return <span class="soft">--</span>;
  if (exactly()) return <time dateTime={at} class="nums">{absolute(at)}</time>;
  const since = tick.value - Date.parse(at);
  const words = since < -1500 ? "in " + roughly(-since) : since < 1500 ? "now" : roughly(since) + suffix;
  return <time dateTime={at} title={absolute(at)} class="nums">{words}</time>;
}

/** How long something took, or takes by now. */
export function Lasted({ from, to, ms }: { from?: string | null; to?: string | null; ms?: number }) {
  if (to && from) return <span class="nums">{lasted(Date.parse(to) - Date.parse(from))}</span>;
  if (ms !== undefined && (to || !from)) return <span class="nums">{lasted(ms)}</span>;
  if (!from) return <span class="soft">--</span>;
  return <span class="nums">{lasted(Math.max(0, tick.value - Date.parse(from)))}</span>;
}
