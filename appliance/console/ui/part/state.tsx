// States: one table for all statuses of the API, each with its icon, word and colour.

export type Kind = "waits" | "runs" | "needs" | "done" | "failed" | "stopped" | "ready";

const kinds: Record<string, Kind> = {
  pending: "waits", preparing: "waits", starting: "waits", queued: "waits", idle: "ready", retrying: "waits", skipped: "stopped", missed: "needs", paused: "stopped", ended: "stopped", ignored: "stopped", attempt: "waits", denied: "failed",
  running: "runs", busy: "runs", working: "runs", delivering: "runs",
  blocked: "needs", open: "needs", login_required: "needs", disabled: "stopped",
  completed: "done", complete: "done", answered: "done", delivered: "done", succeeded: "done", ok: "done", healthy: "done", approve: "done", started: "done",
  failed: "failed", error: "failed", timeout: "failed", lost: "failed", unreachable: "failed", expired: "failed", unhealthy: "failed",
  degraded: "needs", quarantined: "failed", reject: "failed", revise: "needs", partial: "needs", dead: "failed",
  cancelled: "stopped", stopped: "stopped", disconnected: "stopped",
  ready: "ready", connected: "ready", active: "ready", enabled: "ready",
};

export const kindOf = (status: string): Kind => kinds[status] ?? "waits";

const words: Record<string, string> = { login_required: "login required", open: "waits for people" };

const marks: Record<Kind, string> = {
  waits: "M8 3.500a4.500 4.500 0 100 9 4.500 4.500 0 000-9z",
  runs: "M8 3a5 5 0 015 5M8 13a5 5 0 01-5-5",
  needs: "",
  done: "M3.500 8.300l3 3 6-6.300",
  failed: "M4.200 4.200l7.600 7.600M11.800 4.200l-7.600 7.600",
  stopped: "M4 8h8",
  ready: "",
};

export function Mark({ kind }: { kind: Kind }) {
  return <svg class={"mark " + kind} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
    {kind === "needs" && <><circle cx="8" cy="8" r="6.500" class="fill" /><path d="M8 4.500v4.300M8 11v.2" class="on" /></>}
    {kind === "ready" && <circle cx="8" cy="8" r="3" class="fill" />}
    {marks[kind] && <path d={marks[kind]} />}
  </svg>;
}

/** A status with its icon and word. An unknown one shows as its word. */
export function State({ status, word, short }: { status: string; word?: string; short?: boolean }) {
  const kind = kindOf(status);
  const text = word ?? words[status] ?? status.replace(/_/g, " ");
  return <span class={"state " + kind} title={short ? text : undefined}>
    <Mark kind={kind} /><span class={short ? "sr" : ""}>{text}</span>
  </span>;
}
