// The page's side of the stream: who listens to what, and how the connection is.

import { signal, effect } from "@preact/signals";
import { apiKey } from "../api/client.ts";
import { base, workerAddress } from "../base.ts";
import { Hub, type Asked, type Connection, type FeedEvent, type OverviewCounts, type Said } from "./hub.ts";

/** How the connection is, and since when by the browser's clock. */
export const connection = signal<{ state: Connection; since: number }>({ state: "connecting", since: Date.now() });

/** What there is by state, as it was told last; it is told while somebody wants the topic counts. */
export const counts = signal<OverviewCounts | undefined>(undefined);

type Listener = { events: (events: FeedEvent[]) => void; gap: () => void };

const listeners = new Set<Listener>();
const wanted = new Map<string, number>(); // subjects, with how many want them
const topics = new Map<string, number>(); // likewise topics, beside those that are always told
let say: (asked: Asked) => void = () => undefined;
let subjectsDue = false;
let heard = 0; // sequence of the last event

/** Hears all events, and gaps in them, until the function that it returns is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Asks for everything that happens to these, until the function that it returns is called. */
export const watch = (...subjects: string[]): (() => void) => want(wanted, subjects);

/** Asks for what happens in these topics, which are told to nobody else, until the function that it returns is called. */
export const watchTopics = (...names: string[]): (() => void) => want(topics, names);

function want(of: Map<string, number>, names: string[]): () => void {
  for (const name of names) of.set(name, (of.get(name) ?? 0) + 1);
  tellSubjects();
  return () => {
    for (const name of names) {
      const left = (of.get(name) ?? 0) - 1;
      if (left > 0) of.set(name, left);
      else of.delete(name);
    }
    tellSubjects();
  };
}

function tellSubjects(): void {
  if (subjectsDue) return;
  subjectsDue = true;
  queueMicrotask(() => {
    subjectsDue = false;
    say({ kind: "subjects", subjects: [...wanted.keys()], topics: [...topics.keys()], after: heard });
  });
}

/** Tries to connect now. */
export function connectNow(): void {
  say({ kind: "again" });
}

function hear(said: Said): void {
  switch (said.kind) {
    case "events":
      for (const e of said.events) heard = Math.max(heard, e.sequence);
      for (const l of [...listeners]) l.events(said.events);
      break;
    case "gap":
      for (const l of [...listeners]) l.gap();
      break;
    case "counts":
      counts.value = said.counts;
      break;
    case "state":
      connection.value = { state: said.state, since: said.since };
      break;
    case "key":
      if (said.key && !apiKey.peek()) apiKey.value = said.key; // another tab has it
      break;
    case "forgotten":
      again();
  }
}

let again: () => void = () => undefined; // after a time in which nothing was heard

/** Opens the stream: in the worker that all tabs share, else in this page. shownAgain is called when the browser shows the page again as it was left. */
export function open(shownAgain: () => void): void {
  const me = {};
  try {
    const worker = new SharedWorker(workerAddress(), { type: "module", name: "wardroom" });
    worker.port.onmessage = (e: MessageEvent<Said>) => hear(e.data);
    worker.onerror = () => alone(me);
    say = (asked) => worker.port.postMessage(asked);
  } catch {
    alone(me);
  }
  let given = false;
  effect(() => {
    const key = apiKey.value;
    given ||= key !== "";
    say({ kind: "hello", address: base + "/api/events", key, keyGiven: given });
  });
  again = () => {
    say({ kind: "hello", address: base + "/api/events", key: apiKey.peek(), keyGiven: given });
    tellSubjects();
    hear({ kind: "gap" });
  };
  setInterval(() => say({ kind: "alive" }), 20_000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) say({ kind: "alive" }); });
  addEventListener("pagehide", () => say({ kind: "bye" }));
  addEventListener("pageshow", (e) => {
    if (!e.persisted) return;
    again();
    shownAgain();
  });
  addEventListener("online", connectNow);
}

function alone(me: object): void {
  const hub = new Hub();
  say = (asked) => hub.hear(me, hear, asked);
  say({ kind: "hello", address: base + "/api/events", key: apiKey.peek(), keyGiven: apiKey.peek() !== "" });
  tellSubjects();
}
