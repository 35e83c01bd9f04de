import { useEffect, useState } from "preact/hooks";

/** How long what takes the place of something else may not be pressed, in milliseconds: the second of a double click was meant for what was there before. */
export const turnMs = 500;

/** Whether what is shown under a key has been there for a moment. What is there at first has. */
export function useSteady(key: string, first = key): boolean {
  const [seen, setSeen] = useState(first);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(key), turnMs);
    return () => clearTimeout(timer);
  }, [key]);
  return seen === key;
}
