// Files that a person takes along: made here, of what was read, in two forms.

/** Offers a file of what it holds. */
export function download(name: string, type: string, holds: string | Blob): void {
  const address = URL.createObjectURL(new Blob([holds], { type }));
  const a = document.createElement("a");
  a.href = address;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export const jsonLines = (rows: unknown[]): string => rows.map((r) => JSON.stringify(r) + "\n").join("");

/** A cell of CSV (RFC 4180). What a spreadsheet would take for a formula is text. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  let text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** Rows as CSV: the named fields, then all further ones of any row. */
export function csv(rows: Record<string, unknown>[], first: string[]): string {
  const names = [...new Set([...first, ...rows.flatMap(Object.keys)])];
  return [names, ...rows.map((r) => names.map((n) => r[n]))].map((line) => line.map(cell).join(",") + "\r\n").join("");
}
