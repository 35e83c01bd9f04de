import { Command } from "./command.tsx";
import { count } from "./text.tsx";

/** Stands below a list that stops short, with the command that lists all. */
export function Rest({ shown, total, command }: { shown: number; total?: number; command: string }) {
  return <p class="bar"><span class="soft">The first {count(shown)}{total !== undefined && " of " + count(total)} are here. A filter narrows the list, where there is one; all are listed by</span> <Command text={command} /></p>;
}
