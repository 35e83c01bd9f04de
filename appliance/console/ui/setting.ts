// What a person chose for this browser. It is kept in the browser where that can be; nothing in it is secret.

import { effect, signal } from "@preact/signals";

export interface Setting {
  theme: "system" | "light" | "dark";
  rows: "comfortable" | "compact";
  zone: "local" | "utc";
  times: "relative" | "absolute";
  keys: boolean; // single keys
  notify: boolean; // of what waits for a person
}

const standard: Setting = { theme: "system", rows: "comfortable", zone: "local", times: "relative", keys: true, notify: false };

function stored(): Setting {
  try {
    const read = JSON.parse(localStorage.getItem("wardroom") ?? "{}") as Partial<Setting>;
    return {
      theme: read.theme === "light" || read.theme === "dark" ? read.theme : "system",
      rows: read.rows === "compact" ? "compact" : "comfortable",
      zone: read.zone === "utc" ? "utc" : "local",
      times: read.times === "absolute" ? "absolute" : "relative",
      keys: read.keys !== false,
      notify: read.notify === true,
    };
  } catch {
    return standard; // no storage: chosen for as long as the page is open
  }
}

export const setting = signal<Setting>(stored());
// Another tab chose, or all was cleared (null). What comes late is kept by who chose it alone, or it would undo a later choice.
addEventListener("storage", (e) => { if (e.key === "wardroom" || e.key === null) setting.value = stored(); });

export function choose(change: Partial<Setting>): void {
  setting.value = { ...setting.peek(), ...change };
  try {
    localStorage.setItem("wardroom", JSON.stringify(setting.peek()));
  } catch {
    // no storage: as above
  }
}

effect(() => {
  const s = setting.value;
  document.documentElement.dataset.theme = s.theme;
  document.documentElement.dataset.rows = s.rows;
});

/** Height of a row of a table in pixels. */
export const rowHeight = (): number => (setting.value.rows === "compact" ? 26 : 32);
