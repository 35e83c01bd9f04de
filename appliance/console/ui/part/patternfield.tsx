// A field for the name of a pattern: whatever is typed is looked for among all patterns.

import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { PatternList } from "../api/types.gen.ts";
import { useLoad } from "../store/load.ts";
import { may } from "../store/session.ts";

const offered = 50; // names at once: more letters find the others
const pauseMs = 200;

/** With form, each change is told; else a name that is there, one that is entered, and none at all. */
export function PatternField({ label, value, set, form }: { label: string; value: string; set: (name: string) => void; form?: boolean }) {
  const [text, setText] = useState(value);
  const [sought, setSought] = useState("");
  const put = useRef([value]); // told by this field, the last at the end: what comes back late takes nothing of what is typed since
  const wanted = useRef(""); // typed, and not among the names yet
  useEffect(() => {
    if (!put.current.includes(value)) { setText(value); wanted.current = ""; }
    if (value !== put.current.at(-1) && put.current.includes(value)) return;
    put.current = [value];
  }, [value]);
  useEffect(() => {
    const t = setTimeout(() => setSought(!form && text === value ? "" : text.trim()), pauseMs);
    return () => clearTimeout(t);
  }, [text, value, form]);
  const found = useLoad(may("patterns.read") ? "patterns-sought:" + sought : "", (signal) => get<PatternList>("/api/patterns", { search: sought, limit: offered }, signal), { on: (e) => e.topics.includes("patterns") });
  const names = [...new Set((found.data?.patterns ?? []).map((p) => p.name))];
  const tell = (name: string) => { wanted.current = ""; if (name !== put.current.at(-1)) { put.current.push(name); set(name); } };
  useEffect(() => { if (names.includes(wanted.current)) tell(wanted.current); }, [found.data]);
  const id = "patterns-of-" + (form ? "form" : "filter");
  return <label class={form ? undefined : "choice pattern-field"}><span>{label}</span>
    <input name={form ? "pattern" : undefined} required={form} list={id} value={text} placeholder={form ? "a name, or a part of it" : "any"} spellcheck={false} autocomplete="off"
      onInput={(e) => { const v = e.currentTarget.value, name = v.trim(); setText(v); if (form || name === "" || names.includes(name)) tell(name); else wanted.current = name; }}
      onChange={(e) => tell(e.currentTarget.value.trim())} onKeyDown={(e) => { if (e.key === "Enter" && !form) tell(e.currentTarget.value.trim()); }} />
    <datalist id={id}>{names.map((n) => <option key={n} value={n} />)}</datalist>
  </label>;
}
