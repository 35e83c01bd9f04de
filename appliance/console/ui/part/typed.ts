// What is typed into a filter: it is in the address once the typing pauses, and what the address has is in the field.

import { useEffect, useRef, useState } from "preact/hooks";
import { queryOf, setQuery } from "../route.ts";

const pauseMs = 300;

/** The text of a filter that the address has under a name. A change of it takes another part of the address away. */
export function useTyped(name: string, other = ""): [string, (text: string) => void] {
  const there = queryOf(name);
  const [typed, setTyped] = useState(there);
  const put = useRef(there); // by this field: the address that comes back late takes nothing of what is typed since
  useEffect(() => {
    if (there === put.current) return;
    put.current = there;
    setTyped(there);
  }, [there]);
  useEffect(() => {
    if (typed.trim() === put.current) return;
    const timer = setTimeout(() => {
      put.current = typed.trim();
      setQuery({ [name]: put.current, ...(other && { [other]: "" }) });
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}
