// The journal of an execution, read in pages as far as it is needed, and kept while its screen is open.

import { get, seg } from "../api/client.ts";
import type { EventList, EventRow } from "../api/types.gen.ts";
import { newKept } from "./load.ts";

const pageSize = 100;
const maxRead = 5000;

export interface Journal { events: EventRow[]; whole: boolean }

const journals = newKept<{ events: EventRow[]; next: number }>(1);

/** Reads the journal up to its end, or to its first 5,000 events. What was read before is not read again. */
export async function readJournal(id: string, signal: AbortSignal): Promise<Journal> {
  let j = journals.get(id);
  if (!j) {
    j = { events: [], next: 0 };
    journals.set(id, j);
  }
  while (j.events.length < maxRead) {
    const page: EventList = await get<EventList>(`/api/executions/${seg(id)}/events`, { since: j.next, limit: pageSize }, signal);
    const after = j.events.at(-1)?.sequence ?? 0;
    j.events.push(...page.events.filter((e) => e.sequence > after));
    j.next = Math.max(j.next, j.events.at(-1)?.sequence ?? 0);
    if (!page.hasMore) return { events: [...j.events], whole: true };
  }
  return { events: [...j.events], whole: false };
}
