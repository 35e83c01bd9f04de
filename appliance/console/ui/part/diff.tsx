// Differences: a unified diff as rows, of which long ones are shown in parts.

import { useState } from "preact/hooks";
import { count, reveal } from "./text.tsx";

export interface DiffLine { kind: "add" | "del" | "same" | "hunk" | "meta"; text: string; before?: number; after?: number }
export interface DiffFile { path: string; lines: DiffLine[]; added: number; removed: number; binary: boolean }

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
      const m = /^diff --git (?:"?a\/.*?"? )"?b\/(.*?)"?$/.exec(line);
      begin(m?.[1] ?? line.slice(11));
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
        const path = line.slice(4).replace(/^"?b\//, "").replace(/"$/, "");
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

/** Whether the input of a tool is an edit of a file. */
export function isEdit(o: Record<string, unknown>): boolean {
  return typeof o.old_string === "string" && typeof o.new_string === "string" || typeof o.file_path === "string" && typeof o.content === "string";
}

/** Such an edit as a diff: what goes, and what comes. */
export function editDiff(o: Record<string, unknown>): string {
  const path = String(o.file_path ?? o.path ?? "file");
  const lines = (text: unknown, sign: string) => (typeof text === "string" && text !== "" ? text.replace(/\n$/, "").split("\n").map((l) => sign + l).join("\n") + "\n" : "");
  return `diff --git a/${path} b/${path}\n@@ -1 +1 @@\n` + lines(o.old_string, "-") + lines(o.new_string ?? o.content, "+");
}

const shownLines = 400;

export function Diff({ text, label }: { text: string; label: string }) {
  return <div class="diff" role="region" aria-label={label}>{parseDiff(text).map((f, i) => <File key={i + f.path} file={f} />)}</div>;
}

export function File({ file, open = true }: { file: DiffFile; open?: boolean }) {
  const [size, setSize] = useState(shownLines);
  return <details class="file" open={open}>
    <summary><span class="mono">{reveal(file.path || "file")}</span> <span class="added">+{count(file.added)}</span> <span class="removed">&minus;{count(file.removed)}</span></summary>
    {file.binary ? <p class="soft">A binary file: its content is not shown.</p> :
      <div class="scroll" tabIndex={0} role="region" aria-label={"Changes of " + file.path}><table class="lines"><tbody>
        {file.lines.slice(0, size).map((l, i) => <tr key={i} class={l.kind}>
          <td class="no">{l.before ?? ""}</td><td class="no">{l.after ?? ""}</td>
          <td class="sign">{l.kind === "add" ? "+" : l.kind === "del" ? "\u2212" : ""}</td><td class="line">{reveal(l.text.length > 4000 ? l.text.slice(0, 4000) + "\u2026" : l.text)}</td>
        </tr>)}
      </tbody></table></div>}
    {file.lines.length > size && <button class="link" onClick={() => setSize(size * 4)}>Show more: {count(file.lines.length - size)} further lines</button>}
  </details>;
}
