import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../api/client.ts";
import { href, queryOf, segments } from "../route.ts";
import { Text, plural } from "./text.tsx";

const advice: Record<string, string> = {
  UNREACHABLE: "The console tries again by itself. Is the server running, and the network up?",
  NO_ANSWER: "The server is busy or stopped. The console tries again by itself.",
  UNAUTHORIZED: "Sign in again: the key is missing, wrong or over.",
  FORBIDDEN: "Your key does not permit this. Whoever runs the server can give you the right.",
  NOT_FOUND: "It does not exist, or was removed by retention.",
  RATE_LIMITED: "Too many requests: wait a little.",
  CONFLICT: "Something changed in between: look at how it is now.",
};

// Of what was sent: it waits for the person, and may have been done.
const adviceOfSent: Record<string, string> = {
  UNREACHABLE: "It is not sent again by itself, and may have arrived. Is the server running, and the network up?",
  NO_ANSWER: "The server is busy or stopped. It is not sent again by itself, and may have arrived.",
};

/** What the runtime of an agent calls it, where it comes from there: it says more than the code of the answer. */
const codeOf = (error: ApiError) => typeof error.details.runtimeCode === "string" ? error.details.runtimeCode : error.code;

/** What to do about a failure. */
function adviceFor(error: ApiError): string | undefined {
  const text = error.sent && adviceOfSent[error.code] || advice[codeOf(error)] || advice[error.code];
  return error.sent && error.retryAfter > 0 ? [text, `The server asks for a pause of ${plural(Math.ceil(error.retryAfter), "second")}.`].filter(Boolean).join(" ") : text;
}

/** Lets a person know that what is typed now would be lost with the page. */
export const NotKept = () => <p class="hot" role="status">Not kept by this browser as it is now: it is too long, or there is no room for it.</p>;

const maxProblems = 50; // that are named

/** What is wrong of what was sent, where it is more than the message has. */
function Problems({ of: error }: { of: ApiError }) {
  const list = error.details.errors;
  if (!Array.isArray(list) || list.length < 2) return null;
  return <ul class="plain">{(list as { path?: string; reason?: string }[]).slice(0, maxProblems).map((p, i) => <li key={i}><span class="mono"><Text>{p.path}</Text></span> <Text>{p.reason}</Text></li>)}
    {list.length > maxProblems && <li class="soft">and {plural(list.length - maxProblems, "further one")}</li>}</ul>;
}

/** The list of what the address names, where the error is that this is not there; "" for other errors. */
function listOfMissing(error: ApiError): string {
  const [noun, id] = segments.value;
  const version = queryOf("version");
  const named = id && (error.details.id === id || version && error.details.id === id + "@" + version);
  return error.status === 404 && named ? "/" + noun + (id.startsWith("magent_") ? "?tab=managed" : "") : "";
}

/** What went wrong: code, reason, request and what to do. Old data stays beside it. */
export function Failure({ error, old, again }: { error: ApiError; old?: boolean; again?: () => void }) {
  const [tried, setTried] = useState<ApiError>(); // the failure after which it was tried again: the next one is another
  const trying = tried === error;
  const list = listOfMissing(error);
  return <div class="notice bad" role="alert">
    <div>
      <strong>{codeOf(error)}</strong> <Text>{error.message}</Text>
      <Problems of={error} />
      {adviceFor(error) && <div class="soft">{adviceFor(error)}{list && !old && <> <a href={href(list)}>To the list</a></>}</div>}
      {old && <div class="soft">What is shown below is from before.</div>}
      {error.requestId && <div class="soft mono">request {error.requestId}</div>}
    </div>
    {again && <button type="button" class="button" aria-busy={trying} onClick={() => { setTried(error); again(); }}>{trying ? "Trying\u2026" : "Try again"}</button>}
  </div>;
}

/** Says that what is shown was removed meanwhile. */
export function Gone({ what, to }: { what: string; to: string }) {
  return <div class="notice bad" role="alert"><div><strong>{what} was removed.</strong><div class="soft">What is shown below is from before.</div></div><a class="button" href={href(to)}>To the list</a></div>;
}

/** Shows what came of what was sent, where something was changed since then: that is still here. */
export function Meanwhile({ children }: { children: ComponentChildren }) {
  return <div class="notice good" role="status"><div>{children}<div class="soft">What was changed since then is not in it, and is still here.</div></div></div>;
}

/** A list without entries says how to get a first one. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return <div class="empty"><strong>{title}</strong>{children && <div>{children}</div>}</div>;
}

export function Waiting() {
  return <div class="waiting" role="status">Reading&hellip;</div>;
}

/** What is read, once it is there. Where it could not be read again, that it is from before. */
export function Read<T>({ of: l, children }: { of: { data?: T; error?: ApiError; reload(): void }; children: (data: T) => ComponentChildren }) {
  return <>{l.error && <Failure error={l.error} old={l.data !== undefined} again={l.reload} />}{l.data !== undefined ? children(l.data) : !l.error && <Waiting />}</>;
}

/** A command line to copy. */
export { Command } from "./command.tsx";
