// Who we are, and what we may do. What we may not do is not offered.

import { signal } from "@preact/signals";
import { ApiError, apiKey, call, csrf, get, signInNeeded } from "../api/client.ts";
import type { Session } from "../api/types.gen.ts";
import { base } from "../base.ts";
import { connectNow, counts } from "../live/live.ts";
import { forgetRead, pauseAfter } from "./load.ts";

/** How people sign in here. */
export interface Methods { apiKey: boolean; sso: boolean; provider?: string; loginUrl?: string; secure: boolean }

export const session = signal<Session | undefined>(undefined);

/** Another number for each person who signs in over the page of another. */
export const person = signal(0);

/** Whether it was asked who we are: before, nothing else is asked for. */
export const asked = signal(false);

/** Why it is not known who we are, beside that nobody has signed in. */
export const unknown = signal<ApiError | undefined>(undefined);

let again: ReturnType<typeof setTimeout> | undefined; // of a look that failed for now

/** Reads who we are. A look that failed for now is made again. */
export async function readSession(): Promise<void> {
  clearTimeout(again);
  try {
    const now = await get<Session>("/api/session");
    if (session.peek() && session.peek()!.id !== now.id) { // somebody else signed in over the page
      forgetRead();
      counts.value = undefined;
      person.value++;
    }
    session.value = now;
    csrf.value = now.csrfToken ?? "";
    signInNeeded.value = false;
    unknown.value = undefined;
    if (now.sessionId) tabs?.postMessage({ signedIn: now.sessionId });
  } catch (err) { // 401 asks for a sign-in by itself
    const error = err instanceof ApiError ? err : new ApiError("CONSOLE_ERROR", String(err), 0, "");
    unknown.value = error;
    const pause = pauseAfter(error);
    if (pause !== undefined) again = setTimeout(() => void readSession(), pause);
  } finally {
    asked.value = true;
  }
}

/** Reads how people sign in. A server that keeps no sessions takes keys alone. */
export async function readMethods(signal: AbortSignal): Promise<Methods> {
  try {
    return await get<Methods>("/api/auth/methods", {}, signal);
  } catch (err) {
    if ((err as { status?: number }).status !== 404) throw err;
    return { apiKey: true, sso: false, secure: false };
  }
}

/** Signs in by an API key. A session of this browser takes the key's place where it can: it lasts over a reload. */
export async function signIn(key: string): Promise<void> {
  await call("GET", "/api/session", { key });
  try {
    await call("POST", "/api/session", { key });
    apiKey.value = "";
  } catch {
    apiKey.value = key; // there are no sessions here: it stays in memory, where the other tabs get it
  }
  await readSession();
  connectNow();
}

/** Ends the session, here and at the identity provider, or forgets the key. */
export async function signOut(): Promise<void> {
  let after = "";
  if (session.peek()?.sessionId) after = (await call<{ logoutUrl?: string }>("DELETE", "/api/session")).logoutUrl ?? "";
  tabs?.postMessage({ signedOut: true });
  forgetWho();
  if (after) location.assign(after);
}

/** Takes away who we are and all that was read: whoever comes next sees what they may see. */
function forgetWho(): void {
  apiKey.value = "";
  csrf.value = "";
  forgetRead();
  counts.value = undefined;
  session.value = undefined;
  signInNeeded.value = true;
  connectNow();
}

// The other tabs of the browser, which have the same session, or the same key. A sign-in in one gives all of them another session, with
// another token against forged requests.
const tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("wardroom" + base) : undefined;
if (tabs) tabs.onmessage = (e: MessageEvent<{ signedOut?: boolean; signedIn?: string }>) => {
  if (e.data.signedOut) forgetWho();
  else if (asked.peek() && !apiKey.peek() && (signInNeeded.peek() || session.peek()?.sessionId !== e.data.signedIn)) void readSession().then(connectNow);
};

/** Whether the caller may do something at all. */
export const may = (action: string): boolean => session.value?.actions.includes(action) ?? true;
