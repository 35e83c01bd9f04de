// What a screen shows: read from the server, read again when something happens to it, and kept while that goes on.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, signInNeeded } from "../api/client.ts";
import type { RuntimeList } from "../api/types.gen.ts";
import { listen, watchTopics } from "../live/live.ts";
import type { FeedEvent } from "../live/hub.ts";

export interface Loaded<T> {
  data?: T;
  error?: ApiError;
  /** Nothing was read yet. */
  first: boolean;
  reload(): void;
  /** Reads again by the clock: a pause that the server asked for is made. */
  renew(): void;
}

interface Options {
  /** Whether an event changes what is shown. */
  on?: (event: FeedEvent) => boolean;
  /** Topics that are told only while somebody wants them. Without on, what belongs to them changes what is shown. */
  topics?: string[];
  /** Milliseconds between two reads at least; default 400. */
  pause?: number;
}

let era = 0; // how often somebody else came
const all: Map<string, unknown>[] = []; // of newKept

/** What was kept last, up to a number: of more the oldest goes. */
class Latest<V> extends Map<string, V> {
  constructor(private most: number) { super(); }

  override set(key: string, value: V): this {
    this.delete(key);
    super.set(key, value);
    if (this.size > this.most) this.delete(this.keys().next().value!);
    return this;
  }
}

/** A map of what was read, or begun, last. It is emptied for whoever comes next. */
export function newKept<V>(most: number): Map<string, V> {
  const m = new Latest<V>(most);
  all.push(m);
  return m;
}

/** Another number for each person that this page reads for: what was read for one is not kept for the next. */
export const readFor = (): number => era;

/** Returns a check of what is read from now on: it fails once somebody else is here, or it is not known who. */
export function forOne(): () => void {
  const reader = era;
  return () => { if (reader !== era || signInNeeded.peek()) throw new ApiError("UNAUTHORIZED", "The session ended before all was read: begin again.", 401, ""); };
}

// What was shown last under a key: going back shows it at once, and reads it again.
const kept = newKept<unknown>(30);
const oldestMs = 5000;

export const keep = (key: string, value: unknown): void => void kept.set(key, value);

export const recall = <T>(key: string): T | undefined => kept.get(key) as T | undefined;

/** Forgets all that was read, and what is being read: it is for somebody else. */
export function forgetRead(): void {
  era++;
  for (const m of all) m.clear();
}

// No answer at all, too many requests, and what a proxy or the server says while the server is away or stops.
const passing = [0, 429, 502, 503, 504];

/** Milliseconds after which a read is tried again that failed for now, and would not if it were made later; undefined for others. */
export function pauseAfter(error: ApiError): number | undefined {
  return passing.includes(error.status) ? Math.max(2000, error.retryAfter * 1000) : undefined;
}

/** Reports whether a read was refused: another one is, too, until the person's rights change or the thing is there. */
export const refused = (error: ApiError | undefined): boolean => error !== undefined && [401, 403, 404].includes(error.status);

/** Reads something under a key. Another key is something else. An empty key reads nothing. */
export function useLoad<T>(key: string, read: (signal: AbortSignal) => Promise<T>, o: Options = {}): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: ApiError }>({ key, data: recall<T>(key) });
  const now = useRef({ read, o });
  now.current = { read, o };
  const again = useRef<() => void>(() => undefined);
  const later = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (!key) return;
    let abort: AbortController | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let began = 0;
    let due: number | undefined; // longest pause before a read that was asked for while one goes on
    let took = 0;
    const start = async () => {
      due = undefined;
      began = performance.now();
      abort = new AbortController();
      const mine = abort;
      const reader = era;
      let pause: number | undefined; // before another try of what failed for now
      const late = () => {
        if (reader !== era) due ??= oldestMs; // effects of what is gone end a little later than it, and may see who comes next
        return mine.signal.aborted || reader !== era;
      };
      try {
        const data = await now.current.read(mine.signal);
        if (late()) return;
        keep(key, data);
        setState({ key, data });
      } catch (err) {
        if (late()) return;
        const error = err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "");
        setState((s) => ({ key, data: s.key === key ? s.data : recall<T>(key), error }));
        pause = pauseAfter(error);
      } finally {
        took = performance.now() - began;
        if (abort === mine) abort = undefined;
        if (due !== undefined || pause !== undefined) schedule(pause, due);
      }
    };
    const schedule = (least = 0, most = oldestMs) => {
      if (abort) {
        due = Math.min(most, due ?? most); // once the read that goes on is over
        return;
      }
      if (timer !== undefined) return;
      // A read that costs much is made less often: a fifth of the time is spent on it at most, unless what is shown would be too old.
      const pause = Math.min(most, Math.max(now.current.o.pause ?? 400, Math.min(took * 4, oldestMs)));
      timer = setTimeout(() => { timer = undefined; void start(); }, Math.max(least, began ? began + pause - performance.now() : 0));
    };
    again.current = () => { // asked for by a person, or after what they did: it waits for no later try, and however long the last read took
      clearTimeout(timer);
      timer = undefined;
      schedule(0, 400);
    };
    later.current = () => schedule();
    void start();
    const { topics } = now.current.o;
    const changes = (e: FeedEvent): boolean => (now.current.o.on ? now.current.o.on(e) : topics !== undefined && e.topics.some((t) => topics.includes(t)));
    const stop = listen({ events: (events) => { if (events.some(changes)) schedule(); }, gap: () => schedule() });
    const stopTopics = topics && watchTopics(...topics);
    return () => {
      stop();
      stopTopics?.();
      abort?.abort();
      abort = undefined;
      due = undefined;
      clearTimeout(timer);
    };
  }, [key]);
  const own = state.key === key ? state : { key, data: recall<T>(key), error: undefined };
  return { data: own.data, error: own.error, first: own.data === undefined && !own.error, reload: () => again.current(), renew: () => later.current() };
}

const ofRuntimes = ["agents", "health", "plugins"];

/** Reads the runtimes that agents are started on, as several screens show them. */
export const useRuntimes = (wanted = true): Loaded<RuntimeList> => useLoad(wanted ? "runtimes" : "", (signal) => get<RuntimeList>("/api/runtimes", {}, signal), { topics: ["plugins"], on: (e) => e.topics.some((t) => ofRuntimes.includes(t)), pause: 2000 });

/** Does something again and again while the page is looked at: for what has no event. 0 does nothing: so it is for what is refused. */
export function useEvery(ms: number, what: () => void): void {
  const now = useRef(what);
  now.current = what;
  useEffect(() => {
    if (ms === 0) return;
    const t = setInterval(() => { if (!document.hidden) now.current(); }, ms);
    return () => clearInterval(t);
  }, [ms]);
}
