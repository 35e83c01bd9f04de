import { useEffect } from "preact/hooks";
import { revealed } from "./text.tsx";

/** Names the page for as long as a screen is shown. */
export function useTitle(name: string): void {
  useEffect(() => { document.title = revealed(name) + " \u00b7 Wardroom"; }, [name]);
}
