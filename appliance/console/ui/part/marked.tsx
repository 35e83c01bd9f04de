// The tree of a Markdown parser as elements. HTML in it is text; images are links; no address is loaded.

import { GFM, parser } from "@lezer/markdown";
import type { SyntaxNode } from "@lezer/common";
import type { ComponentChildren } from "preact";

/** How the characters of others are shown. The page hands it in, so that this file is one of its own. */
export interface Shown { reveal(text: string): ComponentChildren; revealed(text: string): string }

let reveal: Shown["reveal"];
let revealed: Shown["revealed"];

const markdown = parser.configure(GFM);
const maxNodes = 20_000;
const maxDepth = 60;

export function render(text: string, shown: Shown): ComponentChildren {
  ({ reveal, revealed } = shown);
  const budget = { left: maxNodes };
  return children(markdown.parse(text).topNode, text, budget, 0);
}

type Budget = { left: number };

/** The address of a link if it is one that may be followed: http, https, mailto. */
export function safeLink(address: string): string {
  try {
    const url = new URL(address);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

/** A link of others: where it leads is said, and it opens apart from this page. */
export function OutLink({ to, children: inner }: { to: string; children: ComponentChildren }) {
  const safe = safeLink(to);
  if (!safe) return <span>{inner} <span class="soft">({reveal(to)})</span></span>;
  let host = safe;
  try {
    host = new URL(safe).host || safe;
  } catch {
    // it was one above
  }
  return <a class="out" href={safe} target="_blank" rel="noopener noreferrer nofollow" title={revealed(safe)}>{inner}<span class="host"> [{revealed(host)}]</span></a>;
}

// Marks of the syntax, which are not shown.
const marks = /Mark$|^(?:TableDelimiter|LinkLabel|LinkReference|CodeInfo|URL|LinkTitle)$/;

function children(node: SyntaxNode, text: string, b: Budget, depth: number): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = node.from;
  const plain = (to: number) => {
    if (to > at) out.push(reveal(text.slice(at, to)));
  };
  for (let c = node.firstChild; c; c = c.nextSibling) {
    plain(c.from);
    at = Math.max(at, c.to);
    if (--b.left <= 0 || depth > maxDepth) out.push(reveal(text.slice(c.from, c.to)));
    else if (!marks.test(c.name)) out.push(element(c, text, b, depth + 1));
    else if (c.name === "URL" && node.name !== "Link" && node.name !== "Image" && node.name !== "Autolink") out.push(auto(c, text));
  }
  plain(node.to);
  return out;
}

function auto(node: SyntaxNode, text: string): ComponentChildren {
  const said = text.slice(node.from, node.to);
  const to = /^[a-z]+:/i.test(said) ? said : said.includes("@") && !said.includes("/") ? "mailto:" + said : "https://" + said;
  return <OutLink to={to}>{reveal(said)}</OutLink>;
}

function target(node: SyntaxNode, text: string): string {
  const url = node.getChild("URL");
  return url ? text.slice(url.from, url.to).replace(/^<|>$/g, "") : "";
}

function element(node: SyntaxNode, text: string, b: Budget, depth: number): ComponentChildren {
  const inner = () => children(node, text, b, depth);
  switch (node.name) {
    case "Paragraph": return <p>{inner()}</p>;
    case "ATXHeading1": case "ATXHeading2": case "SetextHeading1": case "SetextHeading2": return <p class="heading first">{inner()}</p>;
    case "ATXHeading3": case "ATXHeading4": case "ATXHeading5": case "ATXHeading6": return <p class="heading">{inner()}</p>;
    case "BulletList": return <ul>{items(node, text, b, depth)}</ul>;
    case "OrderedList": return <ol start={Number.parseInt(text.slice(node.from, node.from + 9), 10) || 1}>{items(node, text, b, depth)}</ol>;
    case "ListItem": return <li>{inner()}</li>;
    case "Task": return <span>{text.slice(node.from, node.from + 3).toLowerCase() === "[x]" ? "\u2611" : "\u2610"}{inner()}</span>;
    case "Blockquote": return <blockquote>{inner()}</blockquote>;
    case "HorizontalRule": return <hr />;
    case "FencedCode": case "CodeBlock": return <pre class="code" tabIndex={0}><code>{node.getChildren("CodeText").map((c) => reveal(text.slice(c.from, c.to)))}</code></pre>;
    case "InlineCode": return <code>{inner()}</code>;
    case "Emphasis": return <em>{inner()}</em>;
    case "StrongEmphasis": return <strong>{inner()}</strong>;
    case "Strikethrough": return <s>{inner()}</s>;
    case "HardBreak": return <br />;
    case "Escape": return reveal(text.slice(node.from + 1, node.to));
    case "Link": {
      const to = target(node, text);
      return to ? <OutLink to={to}>{inner()}</OutLink> : <span>{reveal(text.slice(node.from, node.to))}</span>;
    }
    case "Image": return <OutLink to={target(node, text)}>image: {inner()}</OutLink>;
    case "Autolink": {
      const url = node.getChild("URL");
      return url ? auto(url, text) : reveal(text.slice(node.from, node.to));
    }
    case "Table": return <div class="scroll"><table class="plain"><tbody>{rowsOf(node).map((row) =>
      <tr key={row.from}>{row.getChildren("TableCell").map((cell) => row.name === "TableHeader"
        ? <th key={cell.from}>{children(cell, text, b, depth + 1)}</th> : <td key={cell.from}>{children(cell, text, b, depth + 1)}</td>)}</tr>)}</tbody></table></div>;
    case "HTMLBlock": case "CommentBlock": case "ProcessingInstructionBlock": return <pre class="code" tabIndex={0}>{reveal(text.slice(node.from, node.to))}</pre>;
    case "HTMLTag": case "Comment": case "ProcessingInstruction": case "Entity": return reveal(text.slice(node.from, node.to));
    default: return node.firstChild ? <>{inner()}</> : reveal(text.slice(node.from, node.to));
  }
}

function items(node: SyntaxNode, text: string, b: Budget, depth: number): ComponentChildren[] {
  return node.getChildren("ListItem").map((item) => element(item, text, b, depth + 1));
}

const rowsOf = (node: SyntaxNode): SyntaxNode[] => [...node.getChildren("TableHeader"), ...node.getChildren("TableRow")];
