// A call of the API as a line for a shell.

import { session } from "./session.ts";
import { address, quote, type Query } from "../api/client.ts";

/** The variable that a credential comes from, as for the command line: no copy has one in it. */
export const tokenVariable = "WARDROOM_TOKEN";

/** Whether the server takes no request without a credential. */
export const needsToken = (): boolean => session.peek()?.authenticated ?? false;

const longestWord = 100_000; // bytes: a system starts no program with a longer one, most with 131,071

/** A command that takes a text from its input: a shell writes that by itself, however long it is. */
export const fromInput = (text: string, command: string): string => `printf %s ${quote(text)} | ${command}`;

/** A command that takes a text as a word of its own, or, where it is too long for one, from its input. */
export function withText(text: string, asWord: (word: string) => string, asInput: string): string {
  const word = quote(text);
  return new TextEncoder().encode(word).length <= longestWord ? asWord(word) : fromInput(text, asInput);
}

/** The same call by curl: a body makes it a POST. */
export function curlOf(path: string, query?: Query, body?: unknown): string {
  const line = "curl -s" + (body === undefined ? "" : " -X POST") + " " + quote(location.origin + address(path, query)) +
    (needsToken() ? ` -H "Authorization: Bearer $${tokenVariable}"` : "");
  if (body === undefined) return line;
  const json = line + " -H 'Content-Type: application/json'";
  return withText(JSON.stringify(body), (text) => `${json} -d ${text}`, json + " --data-binary @-");
}
