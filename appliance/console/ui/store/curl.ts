// A call of the API as a line for a shell.

import { session } from "./session.ts";
import { address, quote, type Query } from "../api/client.ts";

/** The variable that a credential comes from, as for the command line: no copy has one in it. */
export const tokenVariable = "WARDROOM_TOKEN";

/** Whether the server takes no request without a credential. */
export const needsToken = (): boolean => session.peek()?.authenticated ?? false;

/** The same call by curl: a body makes it a POST. */
export function curlOf(path: string, query?: Query, body?: unknown): string {
  return "curl -s" + (body === undefined ? "" : " -X POST") + " " + quote(location.origin + address(path, query)) +
    (needsToken() ? ` -H "Authorization: Bearer $${tokenVariable}"` : "") +
    (body === undefined ? "" : ` -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}`);
}
