// What was typed and not sent yet, kept by the browser for whoever typed it: the next person who signs in does not see it.

import { base } from "../base.ts";
import { session } from "./session.ts";

/** Texts by key. Where the browser keeps nothing they live as long as their screen. */
class Drafts {
  constructor(private storage: () => Storage, private prefix: string, private most: number) {} // most: characters of one

  get(key: string): string | undefined {
    try {
      return this.storage().getItem(this.place(key)) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** Keeps a text, or forgets it. One that is too long is not kept. */
  set(key: string, text: string | undefined): void {
    try {
      if (text === undefined || text.length > this.most) this.storage().removeItem(this.place(key));
      else this.storage().setItem(this.place(key), text);
    } catch {
      // no storage, or a full one
    }
  }

  private place(key: string): string {
    const now = session.peek();
    return this.prefix + base + key + (now?.authenticated ? " of " + now.id : "");
  }
}

/** Drafts that end with their tab. */
export const tabDrafts = new Drafts(() => sessionStorage, "", 1 << 20);

/** Drafts that survive it. */
export const drafts = new Drafts(() => localStorage, "wardroom-draft:", 256 << 10);
