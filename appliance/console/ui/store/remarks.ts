// Remarks on lines of a diff, which go as one message. It is plain: no document.

import type { DiffFile, DiffLine } from "../part/diff.tsx";

export interface Remark { file: string; line: number; old: boolean; code: string; text: string }

/** The line of a diff that a remark is on; of lines that came, the new number. */
export function placeOf(l: DiffLine): { line: number; old: boolean } | undefined {
  if (l.after !== undefined) return { line: l.after, old: false };
  if (l.before !== undefined) return { line: l.before, old: true };
  return undefined;
}

/** Whether a remark is on a line: on that place, as long as it has the text that the remark was written on. */
export const sameRemark = (a: Remark, file: string, at: { line: number; old: boolean; code: string }): boolean => a.file === file && a.line === at.line && a.old === at.old && a.code === at.code;

/** Whether two are the same remark, wherever its line has moved. */
export const sameText = (a: Remark, b: Remark): boolean => a.file === b.file && a.old === b.old && a.code === b.code && a.text === b.text;

/** The same line where it is now: the nearest with its text. One that is gone keeps its place. */
export function moved<T extends Omit<Remark, "text">>(o: T, files: DiffFile[]): T {
  const far = (l: DiffLine) => Math.abs(placeOf(l)!.line - o.line);
  const same = files.find((f) => f.path === o.file)?.lines.filter((l) => l.text === o.code && placeOf(l)?.old === o.old) ?? [];
  const nearest = same.reduce<DiffLine | undefined>((best, l) => (!best || far(l) < far(best) ? l : best), undefined);
  return nearest ? { ...o, ...placeOf(nearest)! } : o;
}

/** Remarks where their lines are now. One whose place another has already stays where it was. */
export function movedAll(remarks: Remark[], files: DiffFile[]): Remark[] {
  const out: Remark[] = [];
  for (const r of remarks) {
    const to = moved(r, files);
    out.push(out.some((o) => sameRemark(o, to.file, to)) ? r : to);
  }
  return out;
}

const maxCode = 500;

/** One message of all remarks, in the order of files and lines. */
export function messageOf(remarks: Remark[]): string {
  const files = [...new Set(remarks.map((r) => r.file))];
  const sorted = files.flatMap((f) => remarks.filter((r) => r.file === f).sort((a, b) => a.line - b.line));
  return (sorted.length === 1 ? "A remark on your changes:" : `${sorted.length} remarks on your changes:`) + "\n\n" +
    sorted.map((r) => `${r.file}:${r.line}${r.old ? " (removed)" : ""}\n> ${r.code.length > maxCode ? r.code.slice(0, maxCode) + "..." : r.code}\n${r.text.trim()}`).join("\n\n");
}

export interface Pair { left?: DiffLine; right?: DiffLine; whole?: DiffLine }

/** Lines side by side: what went beside what came in its place. */
export function paired(lines: DiffLine[]): Pair[] {
  const out: Pair[] = [];
  for (let i = 0; i < lines.length;) {
    const l = lines[i]!;
    if (l.kind === "hunk" || l.kind === "meta") { out.push({ whole: l }); i++; continue; }
    if (l.kind === "same") { out.push({ left: l, right: l }); i++; continue; }
    const gone: DiffLine[] = [];
    const came: DiffLine[] = [];
    while (i < lines.length && (lines[i]!.kind === "del" || lines[i]!.kind === "add")) (lines[i]!.kind === "del" ? gone : came).push(lines[i++]!);
    for (let k = 0; k < Math.max(gone.length, came.length); k++) out.push({ left: gone[k], right: came[k] });
  }
  return out;
}
