// Threads as a board: what its columns are, and what is in each. It is plain: no document, no clock.

import type { ThreadBody } from "../api/types.gen.ts";

export type BoardBy = "state" | "execution" | "repository";

/** The columns of a board by state: what needs people first, what is over last. */
export const lanes: [string, string[]][] = [
  ["blocked", ["blocked"]], ["running", ["running"]], ["begins", ["pending", "preparing", "starting"]], ["ready", ["ready"]], ["idle", ["idle"]],
  ["failed", ["failed"]], ["completed", ["completed"]], ["stopped", ["stopped"]],
];

export interface Lane { key: string; threads: ThreadBody[] }

/** Groups threads by what they belong to, in the order in which the groups come first. */
export function grouped(threads: ThreadBody[], by: "execution" | "repository"): Lane[] {
  const out = new Map<string, Lane>();
  for (const t of threads) {
    const key = by === "execution" ? t.executionId : t.workspace?.repo ?? "";
    const lane = out.get(key) ?? { key, threads: [] };
    lane.threads.push(t);
    out.set(key, lane);
  }
  return [...out.values()];
}
