// What was typed and not sent yet, kept by the browser for whoever typed it: the next person who signs in does not see it.

import { useRef, useState } from "preact/hooks";
import { ApiError, freshKey } from "../api/client.ts";
import { base } from "../base.ts";
import { session } from "./session.ts";

/** Texts by key, of one person. Where the browser keeps nothing they live as long as their screen. */
export class Drafts {
  private who = session.peek(); // not read anew: an answer may come, and a listener end, once somebody else is here

  constructor(private storage: () => Storage, private prefix: string, private most: number) {} // most: characters of one

  get(key: string): string | undefined {
    try {
      return this.storage().getItem(this.place(key)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Keeps a text, or forgets what was kept, and reports whether that was done. A text that is too long, or for which there is no room, is
   * not kept, and the one before it stays.
   */
  set(key: string, text: string | undefined): boolean {
    try {
      if (text === undefined) {
        this.storage().removeItem(this.place(key));
        return true;
      }
      if (text.length > this.most) return false;
      this.bound(this.place(key));
      this.storage().setItem(this.place(key), text);
      return true;
    } catch {
      return text === undefined; // no storage, or a full one
    }
  }

  /** Has no more than a number of texts there with one more, where it is a new one: what the oldest tabs left goes first. */
  private bound(place: string): void {
    if (!this.prefix || this.storage().getItem(place) !== null) return;
    const all = Object.keys(this.storage()).filter((k) => k.startsWith(this.prefix)).sort(newerTab);
    for (const k of all.slice(maxDrafts - 1)) this.storage().removeItem(k);
  }

  /** The keys of all texts that tabs keep of the same thing, but for this tab; those of the newest tabs first. */
  others(key: string): string[] {
    try {
      const [before, after] = [this.prefix + base, this.place("").slice((this.prefix + base).length)];
      const keys = Object.keys(this.storage()).filter((k) => k.startsWith(before) && k.endsWith(after)).map((k) => k.slice(before.length, k.length - after.length));
      return keys.filter((k) => k !== ofTab(key) && (k === key || k.startsWith(key + inTab) && !k.includes(" ", key.length + inTab.length))).sort(newerTab);
    } catch {
      return [];
    }
  }

  private place(key: string): string {
    return this.prefix + base + key + (this.who?.authenticated ? " of " + this.who.id : "");
  }
}

const inTab = " in ";
const maxDrafts = 100; // that survive their tabs, of all people

/** Sorts keys by when their tabs began, the newest first: ids of tabs begin with the time. */
const newerTab = (a: string, b: string): number => {
  const [tabA, tabB] = [a, b].map((k) => k.split(inTab)[1] ?? "");
  return tabA! < tabB! ? 1 : tabA! > tabB! ? -1 : 0;
};

// What tells this tab from the others. It lies in the storage only while no page is open in the tab: a copy of an open tab, which begins
// with a copy of its storage, is another one.
const tab = (() => {
  const at = "wardroom-tab" + base;
  const take = (): string | null => {
    try {
      const id = sessionStorage.getItem(at);
      sessionStorage.removeItem(at);
      return id;
    } catch {
      return null;
    }
  };
  const id = take() ?? Date.now().toString(36) + freshKey();
  addEventListener("pagehide", () => {
    try {
      sessionStorage.setItem(at, id);
    } catch {
      // no storage: the next page of the tab is offered its drafts
    }
  });
  addEventListener("pageshow", (e) => { if (e.persisted) take(); });
  return id;
})();

/** The key of a draft that this tab alone writes. */
export const ofTab = (key: string): string => key + inTab + tab;

/** Drafts of whoever is here that end with their tab. A screen takes them when it begins. */
export const tabDrafts = (): Drafts => new Drafts(() => sessionStorage, "", 1 << 20);

/** Likewise drafts that survive it: under keys of their tab, of which others are offered those that are left. */
export const longDrafts = (): Drafts => new Drafts(() => localStorage, "wardroom-draft:", 256 << 10);

/** A short text that is another one for nearly every text. */
export function digest(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 2654435761);
    b = Math.imul(b ^ text.charCodeAt(i), 1597334677);
  }
  return (a >>> 0).toString(36) + (b >>> 0).toString(36);
}

/**
 * Gives what is sent of a draft its Idempotency-Key: the same one as long as that is the same, and the draft waits for its answer, also
 * after a look at another screen, or with a page that is loaded anew. A repeat after a lost answer does nothing twice. over is called with
 * the end of what was sent, and why where it failed, and where the draft is given up: what is sent after that, a success, or a conflict, is
 * something else.
 */
export function useOnce(drafts: Drafts, draft: string): { keyOf(sent: unknown): string; over(error?: unknown): void } {
  const at = "once:" + draft;
  const [begun] = useState(() => drafts.get(at) ?? ""); // not read anew: what another screen sent may be over, and still be shown here
  const once = useRef(begun);
  return {
    keyOf: (sent) => {
      once.current ||= freshKey();
      drafts.set(at, once.current);
      return once.current + "-" + digest(JSON.stringify(sent));
    },
    over: (error) => {
      if (error !== undefined && !(error instanceof ApiError && error.status === 409)) return;
      once.current = "";
      drafts.set(at, undefined);
    },
  };
}
