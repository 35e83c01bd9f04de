// A timeline that is open: read whole once, and then what changed since.

import { get, seg } from "../api/client.ts";
import type { Timeline, TimelineEntry } from "../api/types.gen.ts";

/** Reads the timeline of an execution: all of it, or what changed since one that is had. */
export async function readTimeline(id: string, had: Timeline | undefined, signal: AbortSignal): Promise<Timeline> {
  const path = `/api/executions/${seg(id)}/timeline`;
  if (had?.lastSequence) {
    const news = await get<Timeline>(path, { since: had.lastSequence }, signal);
    if (news.lastSequence >= had.lastSequence) return merged(had, news); // else the server was given another past
  }
  return get<Timeline>(path, {}, signal);
}

// An attempt that begins anew has the id of the one before, and another event that it began with.
const identity = (e: TimelineEntry): string => e.kind + ":" + e.id + ":" + (e.firstSequence ?? "");

/** Where the entries of a timeline are, by what tells them apart. */
interface Places { at: Map<string, number>; threads: number; lastThread: number }

// Of the timeline that was made last of each. It goes on to the one that is made of it.
const known = new WeakMap<TimelineEntry[], Places>();

function placesOf(entries: TimelineEntry[]): Places {
  const p: Places = { at: new Map(), threads: 0, lastThread: -Infinity };
  entries.forEach((e, i) => note(p, e, i));
  return p;
}

function note(p: Places, e: TimelineEntry, i: number): void {
  p.at.set(identity(e), i);
  if (e.kind !== "thread") return;
  p.threads++;
  p.lastThread = Math.max(p.lastThread, Date.parse(e.startedAt));
}

/** Puts what changed into a timeline. What did not change keeps its objects, and everything the order that the server gives. */
export function merged(had: Timeline, news: Timeline): Timeline {
  const places = known.get(had.entries) ?? placesOf(had.entries);
  known.delete(had.entries); // it is changed below
  const entries = isInOrder(had, news, places) ? had.entries.slice() : undefined;
  if (!entries) {
    const anew = { ...news, entries: reordered(had, news) };
    known.set(anew.entries, placesOf(anew.entries));
    return anew;
  }
  for (const e of news.entries) {
    const i = places.at.get(identity(e));
    if (i !== undefined) entries[i] = e;
    else {
      note(places, e, entries.length);
      entries.push(e);
    }
  }
  known.set(entries, places);
  return { ...news, entries };
}

/** Whether what changed keeps its place, and what is new comes last. All threads are in the news, and stand before what began later. */
function isInOrder(had: Timeline, news: Timeline, places: Places): boolean {
  let threads = 0;
  for (const e of news.entries) {
    const i = places.at.get(identity(e));
    if (e.kind === "thread") {
      if (i === undefined || had.entries[i]!.startedAt !== e.startedAt) return false;
      threads++;
    } else if (i === undefined && !(Date.parse(e.startedAt) > places.lastThread)) return false;
  }
  return threads === places.threads;
}

function reordered(had: Timeline, news: Timeline): TimelineEntry[] {
  const changed = new Map<string, TimelineEntry>();
  const threads: TimelineEntry[] = [];
  for (const e of news.entries) {
    if (e.kind === "thread") threads.push(e);
    else changed.set(identity(e), e);
  }
  const entries: TimelineEntry[] = [];
  for (const e of had.entries) {
    if (e.kind === "thread") continue; // all of them are in the news
    const key = identity(e);
    entries.push(changed.get(key) ?? e);
    changed.delete(key);
  }
  for (const e of changed.values()) entries.push(e);
  if (threads.length === 0) return entries;
  // A thread stands before the first entry that began later.
  const out: TimelineEntry[] = [];
  let next = 0;
  for (const e of entries) {
    const at = Date.parse(e.startedAt);
    while (next < threads.length && Date.parse(threads[next]!.startedAt) < at) out.push(threads[next++]!);
    out.push(e);
  }
  return [...out, ...threads.slice(next)];
}
