import { useEffect, useState } from "preact/hooks";
import { queryOf } from "../route.ts";

/** A field of a filter that a button sends: it has what the address has under its name, until something else is typed. It stays the same element, with the focus, when that is sent. */
export function Entered({ name, hint, find }: { name: string; hint?: string; find?: boolean }) {
  const there = queryOf(name);
  const [text, setText] = useState(there);
  useEffect(() => setText(there), [there]);
  return <input name={name} class={find ? "find" : undefined} value={text} placeholder={hint} spellcheck={false} autocomplete="off" onInput={(e) => setText(e.currentTarget.value)} />;
}
