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

/** Puts what changed into a timeline. What did not change keeps its objects, and everything the order that the server gives. */
export function merged(had: Timeline, news: Timeline): Timeline {
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
  if (threads.length === 0) return { ...news, entries };
  // A thread stands before the first entry that began later.
  const out: TimelineEntry[] = [];
  let next = 0;
  for (const e of entries) {
    const at = Date.parse(e.startedAt);
    while (next < threads.length && Date.parse(threads[next]!.startedAt) < at) out.push(threads[next++]!);
    out.push(e);
  }
  return { ...news, entries: [...out, ...threads.slice(next)] };
}
