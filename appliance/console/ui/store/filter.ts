// What a list of executions selects by: all of it is in the address.

import type { Query } from "../api/client.ts";

export const statuses = ["pending", "running", "completed", "failed", "cancelled"];

export const spans: [string, string, number][] = [["", "all time", 0], ["1h", "1 h", 3600e3], ["24h", "24 h", 864e5], ["7d", "7 days", 6048e5], ["30d", "30 days", 2592e6]];

// Parts of the address that are sent as they are.
const plain = ["status", "pattern", "batchId", "errorCode", "createdBy"];
const timed = ["range", "since", "until", "ended", "endedSince", "endedUntil"];

/** The names of all filters that an address has. */
export function filtersIn(query: URLSearchParams): string[] {
  return [...new Set([...query.keys()])].filter((n) => plain.includes(n) || timed.includes(n) || n.startsWith("metadata."));
}

/** The same for the API. A range ends now. */
export function queryOfFilter(query: URLSearchParams, now: number): Query {
  const out: Query = {};
  for (const n of filtersIn(query)) if (n !== "range" && n !== "ended") out[n] = query.get(n) ?? "";
  for (const [range, since] of [["range", "since"], ["ended", "endedSince"]] as const) {
    const span = spans.find((s) => s[0] === query.get(range))?.[2] ?? 0;
    if (span && !out[since]) out[since] = new Date(now - span).toISOString();
  }
  return out;
}

/** A key that is the same for the same filters. */
export const keyOfFilter = (query: URLSearchParams): string => filtersIn(query).sort().map((n) => n + "=" + query.get(n)).join("&");
