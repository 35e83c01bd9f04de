// Differences: a unified diff as rows, of which long ones are shown in parts.

import { useState } from "preact/hooks";
import { Line, count, inLine, reveal } from "./text.tsx";

export interface DiffLine { kind: "add" | "del" | "same" | "hunk" | "meta"; text: string; before?: number; after?: number }
export interface DiffFile { path: string; lines: DiffLine[]; added: number; removed: number; binary: boolean }

/** The name of a file in the line that begins its part: twice the same there, but for one that got another name. */
function named(both: string): string {
  const length = (both.length - 5) / 2;
  const after = both.slice(length + 5);
  if (both === `a/${after} b/${after}`) return after;
  return /^"?a\/.*?"? "?b\/(.*?)"?$/.exec(both)?.[1] ?? both;
}

/** Reads a unified diff. What it does not understand is kept as a line. */
export function parseDiff(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let file: DiffFile | undefined;
  let before = 0;
  let after = 0;
  let inHunk = false;
  const begin = (path: string) => {
    file = { path, lines: [], added: 0, removed: 0, binary: false };
    files.push(file);
    inHunk = false;
  };
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    if (line.startsWith("diff --git ")) {
      begin(named(line.slice(11)));
      continue;
    }
    if (!file || (!inHunk && line.startsWith("--- ") && file.lines.length > 0 && file.lines.some((l) => l.kind === "hunk"))) begin("");
    const f = file!;
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (hunk) {
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      inHunk = true;
      f.lines.push({ kind: "hunk", text: line });
    } else if (!inHunk) {
      if (line.startsWith("+++ ")) {
        const path = line.slice(4).replace(/\t$/, "").replace(/^"?b\//, "").replace(/"$/, ""); // a tab ends a name with spaces
        if (path !== "/dev/null") f.path = path;
      } else if (line.startsWith("Binary files") || line.startsWith("GIT binary patch")) {
        f.binary = true;
      }
      if (!/^(index |--- |\+\+\+ )/.test(line)) f.lines.push({ kind: "meta", text: line });
    } else if (line.startsWith("+")) {
      f.added++;
      f.lines.push({ kind: "add", text: line.slice(1), after: after++ });
    } else if (line.startsWith("-")) {
      f.removed++;
      f.lines.push({ kind: "del", text: line.slice(1), before: before++ });
    } else if (line.startsWith("\\")) {
      f.lines.push({ kind: "meta", text: line });
    } else {
      f.lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
    }
  }
  return files;
}

/** The input of a tool that edits a file, taken apart: the edit, and all that it does not show. Undefined where it is none. */
export function editOf(input: Record<string, unknown>): { file: DiffFile; rest: Record<string, unknown> } | undefined {
  const { old_string: was, ...o } = input;
  const name = typeof o.file_path === "string" ? "file_path" : typeof o.path === "string" ? "path" : "";
  const text = typeof was === "string" && typeof o.new_string === "string" ? "new_string" : was === undefined && o.file_path !== undefined && typeof o.content === "string" ? "content" : "";
  if (!text || !name) return undefined;
  const linesOf = (v: unknown) => (typeof v === "string" && v !== "" ? v.replace(/\n$/, "").split("\n") : []);
  const removed = linesOf(was).map((l, i): DiffLine => ({ kind: "del", text: l, before: i + 1 }));
  const added = linesOf(o[text]).map((l, i): DiffLine => ({ kind: "add", text: l, after: i + 1 }));
  const { [name]: path, [text]: _shown, ...rest } = o;
  return { file: { path: String(path), lines: [{ kind: "hunk", text: "@@ -1 +1 @@" }, ...removed, ...added], added: added.length, removed: removed.length, binary: false }, rest };
}

const shownLines = 400;

export function Diff({ text, label }: { text: string; label: string }) {
  return <div class="diff" role="region" aria-label={label}>{parseDiff(text).map((f, i) => <File key={i + f.path} file={f} />)}</div>;
}

export function File({ file, open = true }: { file: DiffFile; open?: boolean }) {
  const [size, setSize] = useState(shownLines);
  return <details class="file" open={open}>
    <summary><span class="mono">{reveal(inLine(file.path || "file"))}</span> <span class="added">+{count(file.added)}</span> <span class="removed">&minus;{count(file.removed)}</span></summary>
    {file.binary ? <p class="soft">A binary file: its content is not shown.</p> :
      <div class="scroll" tabIndex={0} role="region" aria-label={"Changes of " + file.path}><table class="lines"><tbody>
        {file.lines.slice(0, size).map((l, i) => <tr key={i} class={l.kind}>
          <td class="no">{l.before ?? ""}</td><td class="no">{l.after ?? ""}</td>
          <td class="sign">{l.kind === "add" ? "+" : l.kind === "del" ? "\u2212" : ""}</td><td class="line"><Line text={l.text} /></td>
        </tr>)}
      </tbody></table></div>}
    {file.lines.length > size && <button type="button" class="link" onClick={() => setSize(size * 4)}>Show more: {count(file.lines.length - size)} further lines</button>}
  </details>;
}
