import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiError, freshKey } from "../api/client.ts";
import { Failure } from "./notice.tsx";

/** A dialog over the page. Escape and a click beside it close it. */
export function Dialog({ title, close, wide, children }: { title: string; close: () => void; wide?: boolean; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => { // shown as soon as it is there: the next key is for it
    const el = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    el.showModal();
    return () => { el.close(); before?.focus?.(); };
  }, []);
  const pressed = useRef(false); // the press began beside the dialog: one that began in it may select text, and end anywhere
  return <dialog ref={ref} class={wide ? "wide" : ""} aria-label={title} onCancel={(e) => { e.preventDefault(); close(); }}
    onPointerDown={(e) => { pressed.current = e.target === ref.current; }} onClick={(e) => { if (pressed.current && e.target === ref.current) close(); }}>
    <div class="dialog">
      <header><h2>{title}</h2><button class="quiet" aria-label="Close" onClick={close}>&times;</button></header>
      {children}
    </div>
  </dialog>;
}

/** Runs what a button does: once at a time, with its error shown. */
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
      }
    },
  };
}

/** Asks before something is done that cannot be undone, and shows what went wrong. A click that repeats one whose answer was lost has the same Idempotency-Key. */
export function Confirm({ title, action, danger, close, run, children }: {
  title: string; action: string; danger?: boolean; close: () => void; run: (key: string) => Promise<unknown>; children?: ComponentChildren;
}) {
  const a = useAct();
  const [key] = useState(freshKey);
  return <Dialog title={title} close={close}>
    <div class="body">{children}{a.error && <Failure error={a.error} />}</div>
    <footer>
      <button class="button" autoFocus={danger} onClick={close}>Keep as it is</button>
      <button class={"button " + (danger ? "danger" : "main")} disabled={a.busy} autoFocus={!danger}
        onClick={() => void a.act(() => run(key)).then((ok) => { if (ok) close(); })}>{action}</button>
    </footer>
  </Dialog>;
}
