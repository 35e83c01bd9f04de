// The form that runs a pattern, made from its input.

import { useRef, useState } from "preact/hooks";
import { ApiError, address, call, get, quote, seg } from "../api/client.ts";
import type { ExecutionAccepted, Pattern } from "../api/types.gen.ts";
import { Dialog, useAct, useKeyOf } from "../part/dialog.tsx";
import { Copy, ID } from "../part/id.tsx";
import { Failure, Meanwhile, Waiting } from "../part/notice.tsx";
import { Text } from "../part/text.tsx";
import { onward } from "../route.ts";
import { boundsOf, boundsText, outOf, type Bounds } from "../store/bounds.ts";
import { curlOf, needsToken, tokenVariable, withText } from "../store/curl.ts";
import { parseTyped } from "../store/exact.ts";
import { useLoad } from "../store/load.ts";

export interface Field { name: string; type: string; required: boolean; fallback?: unknown; doc?: string; choices?: string[]; bounds: Bounds }

/** The fields of a pattern's input, as its definition has them. */
export function fieldsOf(definition: unknown): Field[] {
  const d = definition as { input?: Record<string, unknown>; workflow?: { input?: Record<string, unknown> } } | undefined;
  const input = d?.workflow?.input ?? d?.input; // of an org chart, else of a flat pattern
  if (!input || typeof input !== "object") return [];
  return Object.entries(input).flatMap(([name, raw]): Field[] => {
    if (typeof raw === "string") return [{ name, type: raw, required: false, bounds: {} }];
    if (!raw || typeof raw !== "object") return [];
    const o = raw as { type?: string; required?: boolean; default?: unknown; description?: string; enum?: unknown[] };
    return [{ name, type: o.type ?? "string", required: o.required === true, fallback: o.default, doc: o.description, choices: Array.isArray(o.enum) ? o.enum.map(String) : undefined, bounds: boundsOf(raw as Record<string, unknown>) }];
  });
}

/** A number of JSON. Zeros before it are none of it. */
function numberOf(f: Field, text: string): unknown {
  try {
    return parseTyped(text.trim().replace(/^(-?)0+(?=\d)/, "$1"));
  } catch (err) {
    throw new Error(`${f.name} ${(err as Error).message}`);
  }
}

/** The value of a field as it was typed; what is no JSON where some is wanted is an error. */
export function valueOf(f: Field, text: string): unknown {
  if (f.type === "string" || f.type === "text") return text || undefined;
  if (text.trim() === "") return undefined;
  switch (f.type) {
    case "number": case "integer": {
      const n = /^\s*-?\d+(\.\d+)?([eE][-+]?\d+)?\s*$/.test(text) ? numberOf(f, text) : Number(text);
      if (typeof n === "number" && !Number.isFinite(n)) throw new Error(`${f.name} must be a number`);
      return n;
    }
    case "boolean": return text === "true";
  }
  try {
    return parseTyped(text);
  } catch {
    throw new Error(`${f.name} must be JSON`);
  }
}

/** Why what was typed cannot be the value of a field; "" where it can, or nothing was typed. */
function problemOf(f: Field, text: string): string {
  try {
    const v = valueOf(f, text);
    return v === undefined ? "" : outOf(f.bounds, f.type, v);
  } catch (err) {
    return (err as Error).message;
  }
}

export function RunDialog({ name, version, input, close }: { name: string; version?: string; input?: unknown; close: () => void }) {
  const p = useLoad(`pattern:${name}@${version ?? ""}`, (signal) => get<Pattern>("/api/patterns/" + seg(name), { version }, signal));
  return <Dialog title={"Run " + name} close={close} wide>
    {p.error && <Failure error={p.error} />}
    {!p.data && !p.error && <Waiting />}
    {p.data && <RunForm pattern={p.data} input={input} close={close} />}
  </Dialog>;
}

const withComma = (text: string): string => text && ", " + text;

/** The same as a line for a shell. */
function commandOf(p: Pattern, input: string, priority: string): string {
  const line = `wardroom run ${quote(p.name)} --version ${p.version}`;
  const more = priority === "normal" ? "" : " --priority " + priority;
  return withText(input, (text) => `${line} --input ${text}${more}`, `${line} --input -${more}`);
}

/** The same by the client library. */
function goOf(p: Pattern, input: string, priority: string): string {
  const text = (s: string) => JSON.stringify(s);
  const json = input.replaceAll("\ufeff", "\\ufeff"); // a compiler takes none in the middle of a file
  const raw = json.includes("`") ? text(json) : "`" + json + "`";
  const options = priority === "normal" ? "" : `, Options: client.ExecuteOptions{Priority: ${text(priority)}}`;
  const fails = "if err != nil {\n\treturn err\n}\n";
  return `c, err := client.New(${text(location.origin + address(""))}, client.Options{${needsToken() ? `Token: os.Getenv(${text(tokenVariable)})` : ""}})\n${fails}` +
    `accepted, err := c.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: ${text(p.name)}, Version: ${text(p.version)}, Input: []byte(${raw})${options}})\n${fails}fmt.Println(accepted.ExecutionID)\n`;
}

function RunForm({ pattern, input, close }: { pattern: Pattern; input?: unknown; close: () => void }) {
  const fields = fieldsOf(pattern.definition);
  const given = (input ?? {}) as Record<string, unknown>;
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(fields.map((f) => {
    const v = given[f.name] ?? f.fallback;
    return [f.name, v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v)];
  })));
  const known = new Set(fields.map((f) => f.name));
  const rest = Object.fromEntries(Object.entries(given).filter(([k]) => !known.has(k)));
  const [raw, setRaw] = useState(Object.keys(rest).length > 0 || fields.length === 0 ? JSON.stringify(rest, null, 2) : "");
  const [priority, setPriority] = useState("normal");
  const keyOf = useKeyOf();
  const a = useAct();
  const body = (): { input: Record<string, unknown>; options?: { priority: string } } => {
    const out: Record<string, unknown> = {};
    if (raw.trim()) {
      let more: unknown;
      try {
        more = parseTyped(raw);
      } catch (err) {
        throw new Error("The JSON cannot be read: " + (err as Error).message);
      }
      if (!more || typeof more !== "object" || Array.isArray(more)) throw new Error("The JSON must be an object.");
      Object.assign(out, more);
    }
    for (const f of fields) {
      const v = valueOf(f, texts[f.name] ?? "");
      if (v !== undefined) out[f.name] = v;
    }
    return { input: out, ...(priority !== "normal" && { options: { priority } }) };
  };
  const typed = (): string => JSON.stringify(body().input);
  const path = `/api/patterns/${seg(pattern.name)}/execute`;
  const latest = useRef("");
  latest.current = JSON.stringify([texts, raw, priority]);
  const [started, setStarted] = useState("");
  const run = () => void a.act(async () => {
    const open = onward((id: string) => "/executions/" + id);
    const typed = latest.current;
    setStarted("");
    let sent: ReturnType<typeof body>;
    try {
      sent = body();
    } catch (err) {
      throw new ApiError("VALIDATION_ERROR", (err as Error).message, 400, "");
    }
    const made = await call<ExecutionAccepted>("POST", path, { query: { async: true, version: pattern.version }, body: sent, once: keyOf(sent) });
    if (latest.current !== typed) { setStarted(made.executionId); return; }
    close();
    open(made.executionId);
  });
  return <form onSubmit={(e) => { e.preventDefault(); run(); }}>
    <div class="body form">
      {fields.map((f) => <label key={f.name}><span><strong><Text>{f.name}</Text></strong> <span class="soft">{f.type}<Text>{withComma(boundsText(f.bounds, f.type === "array" ? "elements" : "characters"))}</Text>{f.required ? ", required" : ""}</span>{f.doc && <span class="soft"> &middot; <Text>{f.doc}</Text></span>}</span>
        {f.choices ? <select value={texts[f.name]} required={f.required} onChange={(e) => setTexts({ ...texts, [f.name]: e.currentTarget.value })}><option value="" />{f.choices.map((c) => <option key={c} value={c}>{c}</option>)}</select>
          : f.type === "boolean" ? <select value={texts[f.name]} required={f.required} onChange={(e) => setTexts({ ...texts, [f.name]: e.currentTarget.value })}><option value="" /><option value="true">true</option><option value="false">false</option></select>
            : <textarea rows={f.type === "string" ? 2 : f.type === "number" || f.type === "integer" ? 1 : 3} class={f.type === "string" ? "" : "mono"} required={f.required} value={texts[f.name]} ref={(el) => el?.setCustomValidity(problemOf(f, texts[f.name] ?? ""))} onInput={(e) => setTexts({ ...texts, [f.name]: e.currentTarget.value })} />}</label>)}
      <details open={raw !== ""}><summary>{fields.length ? "Further input as JSON" : "Input as JSON"}</summary><label><span class="sr">Input as JSON</span><textarea rows={5} class="mono" value={raw} onInput={(e) => setRaw(e.currentTarget.value)} spellcheck={false} /></label></details>
      <label class="short"><span>Priority</span><select value={priority} onChange={(e) => setPriority(e.currentTarget.value)}>{["low", "normal", "high", "critical"].map((v) => <option key={v} value={v}>{v}</option>)}</select></label>
      {a.error && <Failure error={a.error} />}{started && <Meanwhile>It runs: <ID id={started} to={"/executions/" + started} /></Meanwhile>}
    </div>
    <footer>
      <Copy text={() => commandOf(pattern, typed(), priority)} label="Copy as CLI">CLI</Copy>
      <Copy text={() => curlOf(path, { async: true, version: pattern.version }, body())} label="Copy as curl">curl</Copy>
      <Copy text={() => goOf(pattern, typed(), priority)} label="Copy as Go">Go</Copy>
      <span class="push" /><button type="button" class="button" onClick={close}>Close</button><button type="submit" class="button main" disabled={a.busy}>Run</button>
    </footer>
  </form>;
}
