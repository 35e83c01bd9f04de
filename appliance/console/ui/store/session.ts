// Who we are, and what we may do. What we may not do is not offered.

import { signal } from "@preact/signals";
import { csrf, get, signInNeeded } from "../api/client.ts";

export interface Who { authenticated: boolean; kind: string; id: string; name: string; actions: string[]; csrfToken?: string }

export const session = signal<Who | undefined>(undefined);

/** Reads who we are. */
export async function readSession(): Promise<void> {
  try {
    session.value = await get<Who>("/api/session");
    csrf.value = session.value.csrfToken ?? "";
    signInNeeded.value = false;
  } catch {
    // 401 asks for a sign-in by itself; a server that is away is asked again once it is back
  }
}

/** Whether the caller may do something at all. */
export const may = (action: string): boolean => session.value?.actions.includes(action) ?? true;
