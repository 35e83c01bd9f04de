// Lines that are followed as server-sent events: what is there first, then each as it comes.

import { useEffect, useState } from "preact/hooks";
import { ApiError, address, call, type Query } from "../api/client.ts";
import { parseFrame, silenceMs, within } from "../live/hub.ts";

export interface Followed<T> { rows?: T[]; error?: ApiError; live: boolean }

const maxRows = 2000;
const pauseMs = 2000;
/** After a refusal, which another try would get again. */
const refusedMs = 30_000;
/** How long the lines of before a break stay while a new answer has none yet. */
const keptMs = 1000;

/** Follows events named log under an address, from their tail on; after a break from the tail again. "" follows nothing. */
export function useFollow<T>(path: string, query: Query): Followed<T> {
  const key = path && address(path, query);
  const [state, setState] = useState<Followed<T> & { key: string }>({ key, live: false });
  useEffect(() => {
    if (!key) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const follow = async () => {
      let rows: T[] = [];
      let due = false;
      const show = () => { // lines that come together are shown together
        if (due) return;
        due = true;
        queueMicrotask(() => { due = false; if (!abort.signal.aborted) setState({ key, rows: [...rows], live: true }); });
      };
      let pause = pauseMs;
      let none: ReturnType<typeof setTimeout> | undefined;
      try {
        await call("GET", path, { query, accept: "text/event-stream", signal: abort.signal, take: async (answer) => {
          setState((s) => ({ key, rows: s.key === key ? s.rows : undefined, live: true }));
          none = setTimeout(show, keptMs);
          const reader = answer.body!.getReader();
          const decoder = new TextDecoder();
          let rest = "";
          for (;;) {
            const piece = await within(silenceMs, reader);
            if (piece.done) break;
            const frames = (rest + decoder.decode(piece.value, { stream: true })).split("\n\n");
            rest = frames.pop()!;
            for (const frame of frames) {
              const f = parseFrame(frame);
              if (f.event === "log") rows.push(JSON.parse(f.data) as T);
            }
            if (rows.length === 0) continue; // what keeps the connection open
            if (rows.length > maxRows) rows = rows.slice(-maxRows);
            clearTimeout(none);
            show();
          }
        } });
        setState((s) => ({ key, rows: rows.length ? s.rows : [], live: false }));
      } catch (err) {
        clearTimeout(none);
        if (abort.signal.aborted) return;
        const error = err instanceof ApiError ? err : new ApiError("UNREACHABLE", "The server cannot be reached.", 0, "");
        if (error.status >= 400 && error.status < 500 && error.status !== 429) pause = refusedMs;
        setState((s) => ({ key, rows: s.key === key ? s.rows : undefined, error, live: false }));
      }
      clearTimeout(none);
      if (!abort.signal.aborted) timer = setTimeout(() => void follow(), pause);
    };
    void follow();
    return () => { abort.abort(); clearTimeout(timer); };
  }, [key]);
  return state.key === key ? state : { live: false };
}
