// What a JSON Schema says of a place in a definition.

import type { Outline, Step } from "./yamlplace.ts";

export interface Schema {
  $ref?: string; $defs?: Record<string, Schema>; description?: string; type?: string | string[];
  properties?: Record<string, Schema>; required?: string[]; additionalProperties?: boolean | Schema; items?: Schema;
  allOf?: Schema[]; anyOf?: Schema[]; oneOf?: Schema[]; if?: Schema; then?: Schema; else?: Schema;
  enum?: unknown[]; const?: unknown; default?: unknown; minimum?: number; maximum?: number;
}

export interface Offer { text: string; words: string; key: boolean }

const maxDepth = 24;

/** All schemas that hold for a node, as far as the text decides. */
function spread(root: Schema, s: Schema, at: string, o: Outline, out: Schema[], depth = 0): void {
  if (depth > maxDepth) return;
  const go = (next?: Schema) => { if (next) spread(root, next, at, o, out, depth + 1); };
  out.push(s);
  if (s.$ref) go(root.$defs?.[s.$ref.slice(s.$ref.lastIndexOf("/") + 1)]);
  for (const one of [...s.allOf ?? [], ...s.anyOf ?? [], ...s.oneOf ?? []]) go(one);
  if (s.if) go(holds(s.if, at, o) ? s.then : s.else);
}

function holds(s: Schema, at: string, o: Outline): boolean {
  const below = (name: string) => o.values.get(at ? at + "/" + name : name);
  if (s.required?.some((name) => below(name) === undefined)) return false;
  for (const [name, p] of Object.entries(s.properties ?? {})) if (p.const !== undefined && below(name) !== String(p.const)) return false;
  if (s.anyOf && !s.anyOf.some((one) => holds(one, at, o))) return false;
  return !s.allOf || s.allOf.every((one) => holds(one, at, o));
}

/** The schemas of a path. */
export function schemasAt(root: Schema, path: Step[], o: Outline): Schema[] {
  let now: Schema[] = [];
  spread(root, root, "", o, now);
  path.forEach((step, i) => {
    const next: Schema[] = [];
    const at = path.slice(0, i + 1).join("/");
    for (const s of now) {
      const other = typeof s.additionalProperties === "object" ? s.additionalProperties : undefined;
      const found = typeof step === "number" ? s.items : Object.hasOwn(s.properties ?? {}, step) ? s.properties![step] : other;
      if (found) spread(root, found, at, o, next);
    }
    now = next;
  });
  return now;
}

// Keys whose value is a role: of which there are, the text itself says.
const roleKeys = /^(role|approver|reviewer|reportsTo|to|from)$/;

/** What may stand at a place. */
export function offers(root: Schema, path: Step[], kind: "key" | "value", o: Outline): Offer[] {
  const found = new Map<string, Offer>();
  const add = (text: string, words: string, key: boolean) => { if (!found.has(text) || !found.get(text)!.words) found.set(text, { text, words, key }); };
  const here = path.join("/");
  for (const s of schemasAt(root, path, o)) {
    if (kind === "key") {
      for (const [name, p] of Object.entries(s.properties ?? {})) if (!o.values.has(here ? here + "/" + name : name)) add(name, sayOf(root, p), true);
    }
    for (const v of s.enum ?? (s.const !== undefined ? [s.const] : [])) if (typeof v !== "object") add(String(v), s.description ?? "", false);
    if (s.type === "boolean" && kind === "value") for (const v of ["true", "false"]) add(v, s.description ?? "", false);
  }
  if (kind === "value" && roleKeys.test(String(path.at(-1)))) {
    for (const key of o.values.keys()) {
      const m = /^structure\/roles\/([^/]+)$/.exec(key);
      if (m) add(m[1]!, "A role of this chart.", false);
    }
  }
  return [...found.values()].sort((a, b) => a.text.localeCompare(b.text));
}

function sayOf(root: Schema, s: Schema): string {
  return s.description ?? (s.$ref ? root.$defs?.[s.$ref.slice(s.$ref.lastIndexOf("/") + 1)]?.description ?? "" : "");
}

/** What a path is, in words. */
export function words(root: Schema, path: Step[], o: Outline): string {
  const all = schemasAt(root, path, o);
  if (all.length === 0) return "";
  const said = all.find((s) => s.description)?.description ?? "";
  const type = [...new Set(all.flatMap((s) => s.type ?? []))].join(" or ");
  const low = all.find((s) => s.minimum !== undefined)?.minimum;
  const high = all.find((s) => s.maximum !== undefined)?.maximum;
  const choice = all.find((s) => s.enum)?.enum;
  const bounds = low !== undefined && high !== undefined ? `${low} to ${high}` : low !== undefined ? `at least ${low}` : high !== undefined ? `at most ${high}` : "";
  return [said, [type, bounds, choice ? "one of " + choice.join(", ") : ""].filter(Boolean).join(", ")].filter(Boolean).join(" ");
}
