// Lists in pages: the first page is read again when something happens, further ones when they come into view.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import type { FeedEvent } from "../live/hub.ts";
import { forOne, pauseAfter, useLoad } from "./load.ts";

interface PageOf { total?: number; hasMore: boolean; nextCursor?: string }

const maxRows = 5000;

/** What was read of a list: its first page as it is now, and what lies behind it. */
interface Had<R> { key: string; head: unknown; rows: R[]; cursor?: string; more: boolean; further: boolean }

/**
 * The rows of a first page that was read anew, and those behind it of what was had before: what new rows pushed out of the page
 * goes on behind it, and what is gone from it goes. Undefined where the two have no row in common: what lies between is not known.
 */
export function joined<R>(head: R[], had: R[], id: (row: R) => unknown): R[] | undefined {
  const now = new Set(head.map(id));
  const last = had.findLastIndex((r) => now.has(id(r)));
  return last < 0 ? undefined : [...head, ...had.slice(last + 1)];
}

/** Reads rows of a list from its beginning, up to a number of them, all for one person. What was read is heard after each page. */
export async function readRows<P extends PageOf, R>(read: (cursor: string | undefined) => Promise<P>, rowsOf: (page: P) => R[], most: number, heard?: (rows: number, more: boolean) => void): Promise<{ rows: R[]; more: boolean }> {
  const check = forOne();
  const rows: R[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    check();
    rows.push(...rowsOf(page));
    cursor = page.hasMore ? page.nextCursor : undefined;
    heard?.(rows.length, cursor !== undefined);
  } while (cursor && rows.length < most);
  return { rows: rows.slice(0, most), more: cursor !== undefined || rows.length > most };
}

/** Reads a list. Rows of the first page change in place; ids tell rows apart. One that is full has more rows than are read here. */
export function usePages<P extends PageOf, R>(key: string, read: (cursor: string | undefined, signal: AbortSignal) => Promise<P>, rowsOf: (page: P) => R[], o: { on?: (e: FeedEvent) => boolean; topics?: string[] } = {}): {
  of: string; rows?: R[]; total?: number; error?: ApiError; reload(): void; renew(): void; more(): void; whole: boolean; full: boolean;
} {
  const first = useLoad(key, (signal) => read(undefined, signal), { ...o, pause: 700 });
  const [, draw] = useState(0);
  const had = useRef<Had<R>>(undefined);
  const busy = useRef(false);
  const abort = useRef<AbortController>(undefined);
  const [failed, setFailed] = useState<{ key: string; error: ApiError }>(); // why a further page was not read
  const stale = useRef<P>(undefined); // a first page that nothing can be read behind: its list begins anew once there is another one
  const due = useRef(false); // it has begun anew, and its further page was asked for
  const again = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    abort.current = new AbortController();
    return () => { abort.current?.abort(); clearTimeout(again.current); stale.current = undefined; setFailed(undefined); };
  }, [key]);
  const id = (r: R): unknown => (r as { id?: string }).id ?? (r as { workspaceId?: string }).workspaceId ?? (r as { batchId?: string }).batchId ?? (r as { sequence?: number }).sequence ?? (r as { name?: string }).name ?? (r as { version?: string }).version ?? r;
  const page = first.data;
  if (stale.current && page !== stale.current) {
    had.current = stale.current = undefined;
    due.current = true;
  }
  if (page && (had.current?.key !== key || had.current.head !== page)) {
    const was = had.current?.key === key ? had.current : undefined;
    const rows = was?.further && page.hasMore ? joined(rowsOf(page), was.rows, id) : undefined;
    if (was && rows) Object.assign(was, { head: page, rows: rows.slice(0, maxRows), ...(rows.length > maxRows && { cursor: undefined }) });
    else had.current = { key, head: page, rows: rowsOf(page), cursor: page.nextCursor, more: page.hasMore, further: false };
  }
  const own = had.current?.key === key ? had.current : undefined;
  const latest = useRef<() => void>(() => undefined);
  const more = () => {
    if (busy.current || !own?.more || !own.cursor || own.rows.length >= maxRows) return;
    busy.current = true;
    clearTimeout(again.current);
    own.further = true; // from here on first pages are joined to what the cursor follows
    const mine = abort.current!;
    read(own.cursor, mine.signal).then((next) => {
      busy.current = false;
      if (mine.signal.aborted) return;
      setFailed(undefined);
      if (had.current === own) {
        const there = new Set(own.rows.map(id));
        Object.assign(own, { rows: [...own.rows, ...rowsOf(next).filter((r) => !there.has(id(r)))], cursor: next.nextCursor, more: next.hasMore });
        draw((n) => n + 1);
      } else latest.current(); // the list began anew meanwhile
    }, (err: unknown) => {
      busy.current = false;
      if (mine.signal.aborted) return;
      const error = err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "");
      setFailed({ key, error });
      const pause = pauseAfter(error);
      if (pause !== undefined) again.current = setTimeout(() => latest.current(), pause);
    });
  };
  latest.current = more;
  useEffect(() => {
    if (!due.current) return;
    due.current = false;
    latest.current();
  }, [page]);
  const missing = failed?.key === key ? failed.error : undefined;
  const reload = () => {
    if (missing) {
      setFailed(undefined);
      if ([400, 404, 410].includes(missing.status)) { // nothing follows that cursor any more: the list begins anew
        stale.current = page;
      } else latest.current();
    }
    first.reload();
  };
  return { of: key, rows: own?.rows, total: first.data?.total, error: first.error ?? missing, reload, renew: first.renew, more, whole: !own?.more, full: own !== undefined && own.more && own.rows.length >= maxRows };
}
