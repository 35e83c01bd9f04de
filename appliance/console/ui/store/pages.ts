// Lists in pages: the first page is read again when something happens, further ones when they come into view.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import type { FeedEvent } from "../live/hub.ts";
import { useLoad } from "./load.ts";

interface PageOf { total?: number; hasMore: boolean; nextCursor?: string }

const maxRows = 5000;

/** Reads a list. Rows of the first page change in place; ids tell rows apart. */
export function usePages<P extends PageOf, R>(key: string, read: (cursor: string | undefined, signal: AbortSignal) => Promise<P>, rowsOf: (page: P) => R[], o: { on?: (e: FeedEvent) => boolean } = {}): {
  rows?: R[]; total?: number; error?: ApiError; reload(): void; more(): void; whole: boolean;
} {
  const first = useLoad(key, (signal) => read(undefined, signal), { ...o, pause: 700 });
  const [rest, setRest] = useState<{ key: string; rows: R[]; cursor?: string; more: boolean } | undefined>();
  const busy = useRef(false);
  const abort = useRef<AbortController>(undefined);
  useEffect(() => {
    setRest(undefined);
    abort.current = new AbortController();
    return () => abort.current?.abort();
  }, [key]);
  const own = rest?.key === key ? rest : undefined;
  const head = first.data ? rowsOf(first.data) : undefined;
  const id = (r: R): unknown => (r as { id?: string }).id ?? (r as { workspaceId?: string }).workspaceId ?? (r as { batchId?: string }).batchId ?? (r as { sequence?: number }).sequence ?? (r as { name?: string }).name ?? r;
  const have = new Set(head?.map(id));
  const rows = head && own ? [...head, ...own.rows.filter((r) => !have.has(id(r)))] : head;
  const cursor = own ? own.cursor : first.data?.nextCursor;
  const left = own ? own.more : (first.data?.hasMore ?? false);
  const more = () => {
    if (busy.current || !left || !cursor || (rows?.length ?? 0) >= maxRows) return;
    busy.current = true;
    const mine = abort.current;
    read(cursor, mine!.signal).then((page) => {
      if (!mine!.signal.aborted) setRest((s) => ({ key, rows: [...(s?.key === key ? s.rows : []), ...rowsOf(page)], cursor: page.nextCursor, more: page.hasMore }));
    }, () => undefined).finally(() => { busy.current = false; });
  };
  return { rows, total: first.data?.total, error: first.error, reload: first.reload, more, whole: !left };
}
