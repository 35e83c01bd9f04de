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

const partBytes = 1 << 20;

/**
 * Reads lines into what a file holds, up to a number of bytes, and reports whether that is all of them. It ends with a whole line. What is
 * read is handed to the browser in parts, which it need not hold in memory. heard is called with each piece, and may end it by an error.
 */
export async function lines(answer: Response, most: number, heard: (bytes: number) => void): Promise<{ holds: Blob; whole: boolean }> {
  const reader = answer.body!.getReader();
  const parts: Blob[] = [];
  let part: Uint8Array<ArrayBuffer>[] = [];
  let size = 0; // of part
  let bytes = 0;
  let end = 0; // of the last whole line
  const put = () => {
    parts.push(new Blob(part));
    part = [];
    size = 0;
  };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      heard(bytes);
      const fits = value?.subarray(0, most - bytes);
      if (fits) {
        end = fits.includes(10) ? bytes + fits.lastIndexOf(10) + 1 : end;
        part.push(fits);
        bytes += fits.length;
        if ((size += fits.length) >= partBytes) put();
      }
      const whole = fits?.length === value?.length;
      if (whole && !done) continue;
      put();
      return { holds: whole ? new Blob(parts) : new Blob(parts).slice(0, end), whole };
    }
  } finally {
    void reader.cancel().catch(() => undefined); // of what ended already it does nothing
  }
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
