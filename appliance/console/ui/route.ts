// Where the user is: the address is the state of a screen, and each change of it is a place to come back to.

import { computed, signal } from "@preact/signals";
import { base } from "./base.ts";
import { leave } from "./part/left.ts";
import { readFor } from "./store/load.ts";

interface Place { path: string; query: URLSearchParams; key: number }

let keys = 0;

function read(): Place {
  let path = location.pathname;
  if (base && (path === base || path.startsWith(base + "/"))) path = path.slice(base.length);
  const state = history.state as { key?: number } | null;
  return { path: path || "/", query: new URLSearchParams(location.search), key: state?.key ?? 0 };
}

export const place = signal<Place>(read());

/** Segments of the path. */
export const segments = computed(() => place.value.path.split("/").filter(Boolean).map((s) => {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}));

/** The address of a place in the console. */
export const href = (path: string): string => base + path;

/** Goes to a place; with replace, going back passes over where we are. */
export function go(path: string, replace = false): void {
  if (replace) history.replaceState({ key: place.peek().key }, "", href(path));
  else {
    leave(place.peek().key);
    history.pushState({ key: Date.now() * 1000 + keys++ % 1000 }, "", href(path));
  }
  place.value = read();
}

/** Goes where an answer leads, unless the person went to another screen or tab before it came, or is another one. */
export function onward<T>(to: (answer: T) => string, replace = false): (answer: T) => void {
  const screen = () => place.peek().path + "?" + (place.peek().query.get("tab") ?? "");
  const from = screen();
  const reader = readFor();
  return (answer) => { if (screen() === from && readFor() === reader) go(to(answer), replace); };
}

/** Changes parts of the query; "" takes a part away. */
export function setQuery(changes: Record<string, string>, replace = true): void {
  const query = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  go(place.peek().path + (text ? "?" + text : ""), replace);
}

/** A part of the query. */
export const queryOf = (name: string): string => place.value.query.get(name) ?? "";

const anyID = /^([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}$/;

/** Whether a text is an id of the product. */
export const isID = (text: string): boolean => anyID.test(text);

/** When an id was made, in milliseconds. */
export function timeOfID(id: string): number {
  let at = 0;
  for (const c of id.slice(id.indexOf("_") + 1).slice(0, 10)) at = at * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(c);
  return at;
}

/** Where an id of the product is shown that tells it by itself, or "": of others the server is asked at /ID. */
export function pathOfID(id: string): string {
  const kinds: Record<string, string> = {
    exp: "/memory?sel=", aud: "/audit?sel=", req: "/system?tab=log&text=",
    exec: "/executions/", thread: "/threads/", magent: "/agents/", agent: "/agents/", batch: "/batches/", q: "/inbox?ask=", wh: "/webhooks/", ws: "/system?tab=workspaces&sel=", sched: "/schedules/", trig: "/triggers/",
  };
  const m = anyID.exec(id);
  return m && kinds[m[1]!] ? kinds[m[1]!] + id : "";
}

addEventListener("popstate", () => {
  leave(place.peek().key);
  place.value = read();
});
addEventListener("click", (e) => {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin) return;
  if (base && !a.pathname.startsWith(base + "/") && a.pathname !== base) return;
  const path = a.pathname.slice(base.length) || "/";
  if (/^\/(api|auth|docs|assets)(\/|$)/.test(path)) return;
  e.preventDefault();
  if (a.href !== location.href) go(path + a.search);
});
