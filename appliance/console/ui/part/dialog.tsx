import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, freshKey } from "../api/client.ts";
import { Gathered } from "../live/gathered.ts";
import { readFor } from "../store/load.ts";
import { Failure } from "./notice.tsx";
import { Text, count } from "./text.tsx";

/** A dialog over the page. Escape and a click beside it close it. about is the id of what it says. */
export function Dialog({ title, about, close, wide, children }: { title: string; about?: string; close: () => void; wide?: boolean; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => { // shown as soon as it is there: the next key is for it
    const el = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    el.showModal();
    if (document.activeElement === el.querySelector("header button")) el.focus(); // what the dialog is for is heard first
    return () => { el.close(); before?.focus?.(); };
  }, []);
  const pressed = useRef(false); // the press began beside the dialog: one that began in it may select text, and end anywhere
  return <dialog ref={ref} tabIndex={-1} class={wide ? "wide" : ""} aria-label={title} aria-describedby={about} onCancel={(e) => { e.preventDefault(); close(); }}
    onClose={() => { if (ref.current && !ref.current.open) ref.current.showModal(); }} // a second Escape in a row cannot be prevented: whether the dialog goes is up to close
    onPointerDown={(e) => { pressed.current = e.target === ref.current; }} onClick={(e) => { if (pressed.current && e.target === ref.current) close(); }}>
    <div class="dialog">
      <header role="none"><h2>{title}</h2><button type="button" class="quiet" aria-label="Close" onClick={close}>&times;</button></header>
      {children}
    </div>
  </dialog>;
}

/** Runs what a button does: once at a time, with its error shown. A button that is disabled meanwhile has the focus again afterwards. */
export function useAct(): { busy: boolean; error?: ApiError; act: (what: () => Promise<unknown>) => Promise<boolean>; clear(): void } {
  const [state, set] = useState<{ busy: boolean; error?: ApiError }>({ busy: false });
  const running = useRef(false);
  const turn = useRef(0); // an error that comes after a clear is of what is not shown any more
  return {
    ...state,
    clear: () => { turn.current++; set({ busy: running.current }); },
    act: async (what) => {
      if (running.current) return false;
      running.current = true;
      const mine = ++turn.current;
      const pressed = document.activeElement as HTMLElement | null;
      set({ busy: true });
      try {
        await what();
        set({ busy: false });
        return true;
      } catch (err) {
        set({ busy: false, error: mine !== turn.current ? undefined : err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "") });
        return false;
      } finally {
        running.current = false;
        requestAnimationFrame(() => { if (document.activeElement === document.body) pressed?.focus({ preventScroll: true }); }); // once it is enabled
      }
    },
  };
}

/** Gives what is sent an Idempotency-Key, the same one as long as that is the same: a repeat after a lost answer does nothing twice, and what was changed is done. */
export function useKeyOf(): (sent: unknown) => string {
  const last = useRef({ sent: "", key: "" });
  return (sent) => {
    const text = JSON.stringify(sent);
    if (last.current.sent !== text) last.current = { sent: text, key: freshKey() };
    return last.current.key;
  };
}

const outcomesMs = 250; // between two drawings of outcomes: of many, each drawing takes as long as many of them
const step = 10; // outcomes between two words of how far a selection is, for who hears them

/**
 * Does the same to each of a selection, one after the other, and holds the outcome of each. What is asked to end while that goes on lets
 * the one that is under way come to its outcome, and leaves those behind it as they are; else it closes, with those that it was done to.
 * What is said of it is how far it is, now and then: to hear each outcome would take longer than the work.
 * A sign-out ends it likewise: nothing is done in the name of whoever comes next.
 */
export function useEach(close: (done: ReadonlySet<string>) => void): { state: "asked" | "busy" | "over"; said: string; out: Record<string, ComponentChildren>; run(keys: string[], each: (key: string) => Promise<ComponentChildren>): Promise<void>; end(): void } {
  const [state, setState] = useState<"asked" | "busy" | "over">("asked");
  const [out, setOut] = useState<Record<string, ComponentChildren>>({});
  const done = useRef(new Set<string>());
  const [total, setTotal] = useState(0);
  const far = Object.keys(out).length;
  const said = state === "asked" ? "" : state === "busy" ? `${count(far - far % step)} of ${count(total)}\u2026` : `${count(done.current.size)} of ${count(total)} done.`;
  const ending = useRef(false);
  return {
    state, said, out,
    run: async (keys, each) => {
      setState("busy");
      setTotal(keys.length);
      const asker = readFor();
      const outcomes = new Gathered<[string, ComponentChildren]>(outcomesMs, (some) => setOut((o) => ({ ...o, ...Object.fromEntries(some) })), Infinity);
      for (const key of keys) {
        let words: ComponentChildren = "left as it is";
        try {
          if (!ending.current && asker === readFor()) {
            words = await each(key);
            done.current.add(key);
          }
        } catch (err) {
          words = <Text>{err instanceof Error ? err.message : String(err)}</Text>;
        }
        outcomes.add([[key, words]]);
      }
      outcomes.flush();
      setState("over");
    },
    end: () => { if (state === "busy") ending.current = true; else close(done.current); },
  };
}

/** Asks before something is done that cannot be undone, and shows what went wrong. A click that repeats one whose answer was lost has the same Idempotency-Key. */
export function Confirm({ title, action, danger, close, run, children }: {
  title: string; action: string; danger?: boolean; close: () => void; run: (key: string) => Promise<unknown>; children?: ComponentChildren;
}) {
  const a = useAct();
  const [key] = useState(freshKey);
  const about = useId();
  return <Dialog title={title} about={about} close={close}>
    <div class="body" id={about}>{children}{a.error && <Failure error={a.error} />}</div>
    <footer>
      <button type="button" class="button" autoFocus={danger} onClick={close}>Keep as it is</button>
      <button type="button" class={"button " + (danger ? "danger" : "main")} disabled={a.busy} autoFocus={!danger}
        onClick={() => void a.act(() => run(key)).then((ok) => { if (ok) close(); })}>{action}</button>
    </footer>
  </Dialog>;
}
