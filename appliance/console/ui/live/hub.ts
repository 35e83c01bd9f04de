// The one stream of a browser: it reads GET /api/events, resumes it, and hands events to those who want them. It runs in
// the shared worker; where there is none, in the page. It touches no document.

import { Gathered } from "./gathered.ts";

import type { Overview } from "../api/types.gen.ts";

/** What there is by state: the part of the overview that the stream tells. */
export type OverviewCounts = Omit<Overview, "ranges" | "minutes" | "hours">;

/** An event as the server tells it, or a notice, which has the sequence 0. */
export interface FeedEvent {
  sequence: number; type: string; subject?: string; timestamp: string; topics: string[]; data: Record<string, unknown>;
}

export type Connection = "connecting" | "live" | "broken" | "refused";

/** What the hub says to a page. */
export type Said =
  | { kind: "events"; events: FeedEvent[] }
  | { kind: "gap" }
  | { kind: "counts"; counts: OverviewCounts }
  | { kind: "state"; state: Connection; since: number }
  | { kind: "key"; key: string }
  | { kind: "forgotten" };

/** What a page says to the hub. */
export type Asked =
  | { kind: "hello"; address: string; key: string; keyGiven: boolean }
  | { kind: "subjects"; subjects: string[]; topics: string[]; after: number } // after: the last event that the page has heard of
  | { kind: "alive" }
  | { kind: "again" }
  | { kind: "bye" };

interface Page { say(said: Said): void; subjects: string[]; topics: string[]; quiet: number } // quiet: looks since it spoke

const maxSubjects = 200;
const lookForPagesMs = 20_000;
const forgetAfter = 10; // looks without a word; timers of hidden tabs run once a minute
const answerMs = 15_000; // the server answers at once
export const silenceMs = 60_000; // the server sends a comment every 15 s
const lookEveryMs = 5000; // for silence
const tellEveryMs = 100;
const maxFrame = 8 << 20;
const rate = 50; // events of executions a second, but for subjects; the others are counted
const always = ["executions", "inbox", "threads", "agents", "patterns", "schedules", "triggers", "health"]; // further topics are those that pages ask for
const pauses = [250, 500, 1000, 2000, 4000, 8000];

/** The stream. It exists as long as there are pages, and reads as long as one of them lives. */
export class Hub {
  private pages = new Map<object, Page>();
  private address = "";
  private key = "";
  private last = "";
  private from?: number; // where the next stream begins instead: before a page asked for further subjects
  private state: Connection = "connecting";
  private since = Date.now();
  private failures = 0;
  private run?: AbortController;
  private joined = "";
  private topics = new Set<string>(); // of this stream, beside those of always
  private counts?: OverviewCounts; // of this stream
  private timer?: ReturnType<typeof setTimeout>;
  private looks?: ReturnType<typeof setInterval>; // for pages that are gone, as long as there are any
  private news = new Gathered<FeedEvent>(tellEveryMs, (events) => this.send({ kind: "events", events }));

  /** A page says something. */
  hear(from: object, say: (said: Said) => void, asked: Asked): void {
    switch (asked.kind) {
      case "hello": {
        this.pages.set(from, { say, subjects: this.pages.get(from)?.subjects ?? [], topics: this.pages.get(from)?.topics ?? [], quiet: 0 });
        this.looks ??= setInterval(() => this.prune(), lookForPagesMs);
        const other = asked.keyGiven && asked.key !== this.key;
        if (other) this.key = asked.key;
        this.address = asked.address;
        if (!asked.keyGiven) say({ kind: "key", key: this.key }); // who has one, or gave it up, goes by that
        say({ kind: "state", state: this.state, since: this.since });
        if (!this.run || other || this.state === "refused") this.restart(0);
        break;
      }
      case "subjects": {
        const page = this.pages.get(from);
        if (!page) {
          say({ kind: "forgotten" });
          return;
        }
        const had = new Set(this.joined.split(","));
        page.subjects = asked.subjects.slice(0, maxSubjects);
        page.topics = asked.topics;
        if (this.counts && page.topics.includes("counts")) page.say({ kind: "counts", counts: this.counts });
        // A topic that nobody wants any more stays until the next stream.
        if (this.union() === this.joined && page.topics.every((t) => this.topics.has(t))) return;
        // What happened to them after the page began to read, and before the stream has them, is in no event of it.
        if (this.last && page.subjects.some((id) => !had.has(id))) this.from = Math.min(this.from ?? Infinity, asked.after);
        this.restart(50);
        break;
      }
      case "alive": {
        const page = this.pages.get(from);
        if (page) page.quiet = 0;
        else say({ kind: "forgotten" }); // the browser had it stand still
        break;
      }
      case "again":
        this.failures = 0;
        this.restart(0);
        break;
      case "bye":
        this.pages.delete(from);
        if (this.pages.size === 0) this.stop();
    }
  }

  /** Forgets the pages that have not spoken for long. While the machine sleeps it does not look: a page that woke with it has had no time to speak. */
  private prune(): void {
    for (const [from, page] of this.pages) {
      if (++page.quiet > forgetAfter) this.pages.delete(from);
    }
    if (this.pages.size === 0) this.stop();
  }

  private union(): string {
    const all = new Set<string>();
    for (const page of this.pages.values()) for (const id of page.subjects) all.add(id);
    return [...all].sort().slice(0, maxSubjects).join(",");
  }

  private stop(): void {
    clearTimeout(this.timer);
    clearInterval(this.looks);
    this.looks = undefined;
    this.news.flush();
    this.run?.abort();
    this.run = undefined;
    this.last = "";
    this.from = undefined;
  }

  /** Begins the stream anew after a pause, where the one before ended. */
  private restart(pause: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.run?.abort();
      this.run = new AbortController();
      void this.follow(this.run);
    }, pause);
  }

  private tell(state: Connection): void {
    if (state === this.state) return;
    this.state = state;
    this.since = Date.now();
    this.all({ kind: "state", state, since: this.since });
  }

  /** Says something to all pages, after the events before it. */
  private all(said: Said): void {
    this.news.flush();
    this.send(said);
  }

  private send(said: Said): void {
    for (const page of this.pages.values()) page.say(said);
  }

  private async follow(run: AbortController): Promise<void> {
    this.joined = this.union();
    this.topics = new Set([...this.pages.values()].flatMap((p) => p.topics));
    this.counts = undefined;
    const query = "?rate=" + rate + "&topics=" + [...always, ...[...this.topics].sort()].join(",") + (this.joined ? "&subjects=" + encodeURIComponent(this.joined) : "");
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.key) headers.Authorization = "Bearer " + this.key;
    const from = this.from;
    const resumed = this.last !== "" && from !== 0; // of a page that has heard of no event it is not known where it began
    if (resumed) headers["Last-Event-ID"] = from === undefined ? this.last : String(Math.min(from, Number(this.last)));
    const none = new AbortController(); // of an answer that does not come: a connection may be lost without a word
    const timer = setTimeout(() => none.abort(), answerMs);
    try {
      const answer = await fetch(this.address + query, { headers, cache: "no-store", credentials: "same-origin", signal: AbortSignal.any([run.signal, none.signal]) });
      clearTimeout(timer);
      if (!answer.ok || !answer.body) {
        await answer.body?.cancel();
        if (answer.status === 400 && this.last) {
          this.last = "";
          this.from = undefined;
        }
        this.fail(run, answer.status === 401 || answer.status === 403 ? "refused" : "broken");
        return;
      }
      this.failures = 0;
      if (this.from === from) this.from = undefined;
      if (!resumed) this.all({ kind: "gap" }); // what happened between the page's reads and now is not known
      this.tell("live");
      await this.read(answer.body, run);
      this.fail(run, "connecting"); // a clean end: the server drains, or the stream was old
    } catch {
      clearTimeout(timer);
      this.fail(run, "broken");
    }
  }

  private fail(run: AbortController, state: Connection): void {
    if (run !== this.run || run.signal.aborted) return;
    this.tell(state);
    const pause = pauses[Math.min(this.failures++, pauses.length - 1)]!;
    this.restart(state === "refused" ? 15_000 : pause * (0.75 + Math.random() / 2));
  }

  /** Reads frames until the stream ends. */
  private async read(body: ReadableStream<Uint8Array>, run: AbortController): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const piece = await within(silenceMs, reader);
      if (piece.done || run !== this.run) {
        if (!piece.done) void reader.cancel().catch(() => undefined);
        return;
      }
      const frames = (rest + decoder.decode(piece.value, { stream: true })).split("\n\n");
      rest = frames.pop()!;
      if (rest.length > maxFrame) throw new Error("a frame is too long");
      const events: FeedEvent[] = [];
      let gap = false;
      for (const frame of frames) {
        const parsed = parseFrame(frame);
        if (parsed.id) this.last = parsed.id;
        if (parsed.event === "gap") {
          const of = readEvent(parsed.data)?.topics;
          if (of) events.push({ ...missed, topics: of });
          else gap = true;
        } else if (parsed.event === "event" || parsed.event === "notice") {
          const event = readEvent(parsed.data);
          if (event) events.push({ ...event, sequence: event.sequence ?? 0 });
        } else if (parsed.event === "counts") {
          this.counts = readEvent<OverviewCounts>(parsed.data);
          if (this.counts) for (const page of this.pages.values()) if (page.topics.includes("counts")) page.say({ kind: "counts", counts: this.counts });
        } else if (parsed.event === "skipped") { // an event of no subject: lists of its topics are read anew
          const event = readEvent(parsed.data);
          if (event) events.push({ ...event, type: "execution.skipped", sequence: Number(parsed.id), timestamp: "", data: {} });
        }
      }
      if (events.length) this.news.add(events);
      if (gap) this.all({ kind: "gap" });
    }
  }
}

/** Reads the next piece of a stream. One that does not come in time is an error, and ends the stream. The time in which the machine slept counts. */
export async function within(ms: number, reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
  let timer: ReturnType<typeof setInterval> | undefined;
  // One clock may be set back, and the other stands still while the machine sleeps.
  const [began, steady] = [Date.now(), performance.now()];
  const silence = new Promise<never>((_, no) => { timer = setInterval(() => { if (Math.max(Date.now() - began, performance.now() - steady) >= ms) no(new Error("silence")); }, lookEveryMs); });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (err) {
    void reader.cancel().catch(() => undefined);
    throw err;
  } finally {
    clearInterval(timer);
  }
}

/** Reads one frame of a stream. */
export function parseFrame(frame: string): { event: string; data: string; id: string } {
  const out = { event: "message", data: "", id: "" };
  for (const line of frame.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) continue;
    const value = line.slice(line[at + 1] === " " ? at + 2 : at + 1);
    const field = line.slice(0, at);
    if (field === "data") out.data += (out.data ? "\n" : "") + value;
    else if (field === "event" || field === "id") out[field] = value;
  }
  return out;
}

// Notices of a topic may have been missed: lists of it are read anew.
const missed: FeedEvent = { sequence: 0, type: "notice.missed", timestamp: "", topics: [], data: {} };

function readEvent<T = FeedEvent>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined; // one bad record ends nothing
  }
}
