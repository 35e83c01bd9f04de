import { signal } from "@preact/signals";

/** Whether the page is being printed. Who draws something else for paper has it there before the sheets are made. */
export const printing = signal(false);

addEventListener("beforeprint", () => { printing.value = true; });
addEventListener("afterprint", () => { printing.value = false; });
