import { Copy } from "./id.tsx";
import { reveal } from "./text.tsx";

export function Command({ text }: { text: string }) {
  return <span class="command"><code>{reveal(text)}</code><Copy text={text} label="Copy the command" /></span>;
}
