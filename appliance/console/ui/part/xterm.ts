// The emulator of a terminal, and the socket to it: wardroom.terminal.v1. What the agent writes is hostile: nothing in
// it is answered, copied or followed without a person.

import { Terminal } from "@xterm/xterm";
import { FitAddon } from "@xterm/addon-fit";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { find } from "./find.ts";

export interface Shown { state: "connecting" | "live" | "broken" | "ended"; writing: boolean; title: string; reason?: string; others: Other[]; total: number }

/** Somebody else at the terminal. */
export interface Other { who: string; typing?: boolean }

interface Control { type: string; offset?: number; lost?: number; cols?: number; rows?: number; code?: number; reason?: string; error?: { message?: string }; total?: number; viewers?: Other[]; window?: number }

/** What the page hands in, so that this file is one of its own. */
export interface Page {
  address(query: Record<string, string | number | boolean>): string;
  /** What admits one socket, and whether that looks on alone, whatever is wanted; it rejects with a status of HTTP, or 0. */
  ticket(readOnly: boolean): Promise<{ ticket: string; readOnly: boolean }>;
  dark(): boolean;
  onTheme(f: () => void): () => void;
  /** Calls f each time that connections may be dead without a word, until the function that it returns is called. */
  onWake(f: () => void): () => void;
}

/** Parts of the emulator that are not of its interface; the add-ons reach them in the same way. */
interface Core { _bufferService: { buffers: { setupTabStops(): void } }; _renderService: RenderService; _syncTextArea(): void }
interface RenderService { refreshRows(start: number, end: number, redrawOnly?: boolean): void; addRefreshCallback(f: () => void): number }

const protocols = ["wardroom.terminal.v1", "wardroom.terminal.ack"];
const tail = 1000; // lines before a screen that is drawn as a whole
const ackEvery = 128 << 10; // bytes
const pauses = [250, 500, 1000, 2000, 4000, 8000];
const frameShare = 4; // much output has this many times as long as the frame before, until it is drawn again
const framePause = { least: 50, most: 250 }; // ms
const muchOutput = 32 << 10; // bytes that the emulator has to take, or took of late; a key's echo and a screen that is drawn anew are fewer
const ofLate = 100; // ms; what was taken of late is that of one or two of these
const maxWaiting = 4 << 20; // bytes that the emulator did not take yet; beyond, the socket is closed and resumed
const dark = { background: "#0d1117", foreground: "#f0f6fc", cursor: "#f0f6fc", selectionBackground: "#264f78" };
const light = {
  background: "#ffffff", foreground: "#1f2328", cursor: "#1f2328", selectionBackground: "#b6d7ff", black: "#1f2328", red: "#cf222e", green: "#116329", yellow: "#7d4e00",
  blue: "#0550ae", magenta: "#6639ba", cyan: "#1b5f66", white: "#59636e", brightBlack: "#59636e", brightRed: "#a40e26", brightGreen: "#1a7f37", brightYellow: "#633c01",
  brightBlue: "#0969da", brightMagenta: "#8250df", brightCyan: "#12606a", brightWhite: "#424a53",
};

export class Screen {
  private term: Terminal;
  private fit = new FitAddon();
  private socket?: WebSocket;
  private offset?: number;
  private tries = 0;
  private turn = 0; // of connecting
  private waiting = 0;
  private acks = false; // the server wants to know what the emulator took
  private took = 0; // bytes of this socket that it took
  private acked = 0; // of them, acknowledged
  private timer?: ReturnType<typeof setTimeout>;
  private repaint?: number; // the next bytes draw the whole screen, and stand for everything up to here
  private missed = false; // they come in place of output that was left out
  private came = 0; // bytes of this socket
  private taken = { since: 0, now: 0, before: 0 }; // bytes that the emulator took of late: from since on, and before it
  private card = false; // a graphics card draws
  private closed = false;
  private state: Shown = { state: "connecting", writing: false, title: "", others: [], total: 0 };
  private stops: (() => void)[] = [];

  constructor(private box: HTMLElement, private page: Page, private tell: (s: Shown) => void, private ask: (text: string) => void) {
    this.term = new Terminal({
      fontFamily: getComputedStyle(box).getPropertyValue("--mono") || "monospace", fontSize: 13, scrollback: 5000, disableStdin: true, cursorBlink: false,
      theme: page.dark() ? dark : light, allowProposedApi: true, convertEol: false,
      linkHandler: { activate: (_, to) => follow(to), allowNonHttpProtocols: false },
    });
    this.term.loadAddon(this.fit);
    this.term.loadAddon(new WebLinksAddon((_, to) => follow(to)));
    this.swallow();
    this.term.open(box);
    this.skipFrames();
    void this.accelerate();
    this.term.onData((data) => this.send(data));
    this.term.onBinary((data) => this.sendBytes(Uint8Array.from(data, (c) => c.charCodeAt(0))));
    this.term.onTitleChange((title) => this.set({ title: title.slice(0, 200) }));
    this.term.attachCustomKeyEventHandler((e) => {
      if (e.ctrlKey && e.key === "]" && e.type === "keydown") {
        e.preventDefault();
        this.write(false);
        return false;
      }
      return !(e.ctrlKey && e.shiftKey && (e.key === "C" || e.key === "V")); // the browser copies and pastes
    });
    box.addEventListener("paste", this.pasted, { capture: true });
    const sizes = new ResizeObserver(() => { if (this.state.writing) this.resize(); });
    sizes.observe(box);
    const theme = () => { this.term.options.theme = page.dark() ? dark : light; };
    const media = matchMedia("(prefers-color-scheme: dark)");
    media.addEventListener("change", theme);
    const left = () => this.socket?.close(); // a page that is left may be kept with its sockets; it connects again when it is back
    addEventListener("pagehide", left);
    this.stops.push(page.onWake(() => {
      if (this.state.state === "ended") return;
      this.set({ state: "broken", reason: undefined });
      void this.connect();
    }));
    this.stops.push(() => removeEventListener("pagehide", left), () => sizes.disconnect(), () => media.removeEventListener("change", theme), page.onTheme(theme));
    void this.connect();
  }

  /** Ends it. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.box.removeEventListener("paste", this.pasted, { capture: true });
    for (const stop of this.stops) stop();
    this.term.dispose();
  }

  private get core(): Core { return (this.term as unknown as { _core: Core })._core; }

  focus(): void { this.term.focus(); }

  find(text: string, next: boolean): void { if (text) find(this.term, text, next); }

  setReader(on: boolean): void { this.term.options.screenReaderMode = on; }

  /** Takes the keyboard over, or gives it back. */
  write(on: boolean): void {
    if (on === this.state.writing) return;
    this.type(on, "connecting"); // keys count once the socket that takes them is there
    void this.connect();
    if (on) this.term.focus();
  }

  private type(on: boolean, state = this.state.state): void {
    this.set({ writing: on, state });
    this.term.options.disableStdin = !on;
    this.blink();
  }

  /** Pastes what a person has looked at, and reports whether there was a connection to send it by. It cannot end its bracket: no escape is in it. */
  paste(text: string): boolean {
    if (!this.takes()) return false;
    this.term.paste(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, ""));
    this.term.focus();
    return true;
  }

  /** Whether what is typed is sent. */
  private takes(): boolean { return this.state.writing && this.state.state === "live" && this.socket?.readyState === WebSocket.OPEN; }

  private pasted = (e: ClipboardEvent): void => {
    e.preventDefault();
    e.stopImmediatePropagation();
    const text = e.clipboardData?.getData("text/plain") ?? "";
    if (!this.state.writing || !text) return;
    if (/[\r\n]/.test(text.trimEnd()) || !this.paste(text)) this.ask(text); // what cannot be sent now is kept there
  };

  private set(change: Partial<Shown>): void {
    this.state = { ...this.state, ...change };
    if (!this.closed) this.tell(this.state);
  }

  private async accelerate(): Promise<void> {
    try {
      if (!graphicsCard()) return;
      const { WebglAddon } = await import("@xterm/addon-webgl");
      if (this.closed) return;
      const gl = new WebglAddon();
      gl.onContextLoss(() => { // the document's renderer takes over
        gl.dispose();
        this.card = false;
        this.blink();
      });
      this.term.loadAddon(gl);
      this.card = true;
      this.blink();
    } catch {
      // likewise
    }
  }

  /** Has the cursor blink while a person types. In the document that would be an animation, which takes a frame each time and holds keys up. */
  private blink(): void { this.term.options.cursorBlink = this.card && this.state.writing; }

  /**
   * While there is much output, frames take a share of the time only: the slower one is drawn, the longer is the pause to the next.
   * Little is drawn at once, so a key's echo does not wait.
   */
  private skipFrames(): void {
    const core = this.core, service = core._renderService;
    const refresh = service.refreshRows.bind(service);
    const withFrame = service.addRefreshCallback.bind(service);
    const drawn = new MessageChannel();
    const place = core._syncTextArea.bind(core);
    let moved = false; // the cursor, where the text area has to go: that would take a layout of the page each time
    let rows: { start: number; end: number; only: boolean } | undefined; // that are to be drawn
    let after: (() => void)[] = []; // what is to be done with the same frame
    let began = 0; // of a frame that is asked for; 0 if none is
    let next = 0; // when output that waits may be drawn again
    drawn.port1.onmessage = () => {
      const now = performance.now();
      next = now + Math.min(Math.max(frameShare * (now - began), framePause.least), framePause.most);
      began = 0;
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.stops.push(() => { drawn.port1.close(); clearTimeout(timer); });
    const draw = () => {
      if (!rows && !after.length) return;
      const pause = began ? framePause.most : next - performance.now();
      if (pause > 0 && this.much()) {
        timer ??= setTimeout(() => { timer = undefined; draw(); }, pause);
        return;
      }
      if (!began) {
        began = performance.now();
        requestAnimationFrame(() => { began = performance.now(); drawn.port2.postMessage(0); });
      }
      if (moved) place();
      moved = false;
      if (rows) refresh(rows.start, rows.end, rows.only);
      for (const f of after) withFrame(f);
      rows = undefined;
      after = [];
    };
    core._syncTextArea = () => { moved = true; }; // rows are asked for behind each move
    service.refreshRows = (start, end, only = false) => {
      rows = { start: Math.min(start, rows?.start ?? start), end: Math.max(end, rows?.end ?? end), only: only && (rows?.only ?? true) };
      draw();
    };
    service.addRefreshCallback = (f) => {
      after.push(f);
      draw();
      return 0;
    };
  }

  /** Counts bytes that the emulator took. */
  private take(bytes: number): void {
    const at = performance.now(), ago = at - this.taken.since;
    if (ago > ofLate) this.taken = { since: at, now: 0, before: ago > 2 * ofLate ? 0 : this.taken.now };
    this.taken.now += bytes;
  }

  /** Reports whether there is much output. */
  private much(): boolean {
    const ago = performance.now() - this.taken.since;
    const of = ago > 2 * ofLate ? 0 : this.taken.now + (ago > ofLate ? 0 : this.taken.before);
    return of + this.waiting > muchOutput;
  }

  /** What would make the emulator answer, or reach beyond its box, is taken out: each viewer would type the answer. */
  private swallow(): void {
    const p = this.term.parser;
    const drop = () => true;
    for (const id of [
      { final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" }, { final: "n" }, { prefix: "?", final: "n" }, { prefix: ">", final: "n" },
      { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" }, { prefix: ">", final: "q" }, { final: "t" }, { final: "x" },
      { prefix: "?", final: "u" }, { prefix: ">", final: "t" }, { prefix: "?", final: "S" },
    ]) p.registerCsiHandler(id, drop);
    p.registerDcsHandler({ intermediates: "$", final: "q" }, drop);
    p.registerDcsHandler({ intermediates: "+", final: "q" }, drop);
    for (const code of [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]) p.registerOscHandler(code, (data) => data.includes("?"));
    for (const code of [9, 52, 99, 777, 1337]) p.registerOscHandler(code, drop);
    p.registerEscHandler({ final: "Z" }, drop);
  }

  private async connect(): Promise<void> {
    clearTimeout(this.timer);
    const turn = ++this.turn;
    const before = this.socket;
    this.socket = undefined;
    before?.close();
    if (this.closed) return;
    let admitted: { ticket: string; readOnly: boolean };
    try {
      admitted = await this.page.ticket(!this.state.writing);
    } catch (err) {
      if (turn === this.turn && !this.closed) this.refused(err as Error & { status?: number });
      return;
    }
    if (turn !== this.turn || this.closed) return;
    if (admitted.readOnly && this.state.writing) this.type(false); // the right to type is gone
    const query = { readonly: !this.state.writing, tail, ...(this.offset === undefined ? {} : { offset: this.offset }) };
    const url = new URL(this.page.address(query), location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url, [...protocols, "ticket." + admitted.ticket]);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.came = this.took = this.acked = 0;
    this.acks = false;
    this.repaint = undefined; // what was announced and did not come is not shown
    socket.onmessage = (e: MessageEvent<ArrayBuffer | string>) => {
      if (socket !== this.socket) return;
      if (typeof e.data === "string") this.control(e.data);
      else this.output(new Uint8Array(e.data), socket);
    };
    socket.onclose = (e) => { if (socket === this.socket) this.lost(e); };
  }

  private lost(e: CloseEvent): void {
    this.socket = undefined;
    if (e.code === 1000 || e.code === 4404 || e.code === 4403 || e.code === 4401) {
      this.set({ state: "ended", reason: this.state.reason ?? (e.reason || "the agent has no terminal any more") });
      return;
    }
    this.again(e.reason);
  }

  private refused(err: { status?: number; message?: string; details?: { reason?: unknown } }): void {
    if (err.status === 404) this.set({ state: "ended", reason: this.state.reason ?? "the agent has no terminal any more" });
    else if (err.status === 403 && err.details?.reason !== "csrf") this.set({ state: "ended", reason: err.message });
    else this.again(err.status ? err.message : undefined); // also where another tab has signed in, until this one knows
  }

  private again(reason?: string): void {
    this.set({ state: "broken", reason: reason || undefined });
    const pause = pauses[Math.min(this.tries++, pauses.length - 1)]!;
    this.timer = setTimeout(() => void this.connect(), pause * (0.75 + Math.random() / 2));
  }

  private control(text: string): void {
    let c: Control;
    try {
      c = JSON.parse(text) as Control;
    } catch {
      return;
    }
    switch (c.type) {
      case "attached":
        this.tries = 0;
        this.acks = Boolean(c.window);
        this.set({ state: "live", reason: undefined, others: [], total: 0 });
        if (this.state.writing) this.resize();
        break;
      case "repaint": case "output": case "resized": {
        if (c.type === "repaint") {
          this.repaint = c.offset ?? 0;
          this.missed = Boolean(c.lost);
        } else if (c.offset !== undefined) this.offset = c.offset;
        const { cols, rows } = c;
        if (cols && rows) this.term.write("", () => { if (!this.closed) this.term.resize(cols, rows); }); // what came before has the size before
        break;
      }
      case "exit":
        this.set({ state: "ended", reason: c.reason || `the agent ended with exit code ${c.code ?? 0}` });
        break;
      case "viewers":
        this.set({ others: c.viewers ?? [], total: c.total ?? 0 });
        break;
      case "error":
        this.set({ reason: c.error?.message });
    }
  }

  private output(data: Uint8Array, socket: WebSocket): void {
    const bytes = data.length;
    if (this.repaint !== undefined) {
      this.offset = this.repaint;
      this.repaint = undefined;
      const resets = data[0] === 0x1b && data[1] === 0x63;
      if (this.missed && this.came > 0) {
        this.term.write(cleared, () => this.core._bufferService.buffers.setupTabStops());
        if (resets) data = data.subarray(2);
      } else if (!resets) this.term.write("\x1bc"); // begins with a reset, in its place among what waits
    } else this.offset = (this.offset ?? 0) + bytes;
    this.came += bytes;
    this.waiting += bytes;
    this.term.write(data, () => {
      this.take(bytes);
      this.waiting -= bytes;
      if (socket !== this.socket) return;
      this.took += bytes;
      if (!this.acks || this.took - this.acked < ackEvery) return;
      this.acked = this.took;
      this.sendText(JSON.stringify({ type: "ack", bytes: this.took }));
    });
    if (this.waiting > maxWaiting && socket === this.socket) {
      // The emulator does not keep up: what comes next is read again once it has.
      this.socket = undefined;
      socket.close();
      this.term.write("", () => void this.connect());
    }
  }

  private resize(): void {
    this.fit.fit();
    this.sendText(JSON.stringify({ type: "resize", cols: this.term.cols, rows: this.term.rows }));
  }

  private send(data: string): void { this.sendBytes(new TextEncoder().encode(data)); }

  private sendBytes(data: Uint8Array<ArrayBuffer>): void {
    if (this.state.writing && this.socket?.readyState === WebSocket.OPEN) this.socket.send(data);
  }

  private sendText(text: string): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
  }
}

/**
 * What brings the emulator to the state behind a reset, but for its tab stops, and leaves the lines before the screen where they are: to drop them and to make
 * room for as many costs more than to draw what comes, and while there is much output it would be done several times a second.
 */
const cleared = "\x1b[?1049l\x1b[?1000;1006;2026l\x1b[20l\x1b[!p\x1b[2J\x1b[H";

const softwareRenderer = /swiftshader|llvmpipe|softpipe|lavapipe|software|basic render/i;
let card: boolean | undefined;

/** Reports whether a graphics card draws WebGL. What the processor draws instead holds the page up at each frame for longer than the document's renderer does. */
function graphicsCard(): boolean {
  if (card === undefined) {
    const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
    const info = gl?.getExtension("WEBGL_debug_renderer_info");
    card = gl !== null && !softwareRenderer.test(String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER)));
    gl?.getExtension("WEBGL_lose_context")?.loseContext(); // a page has few contexts
  }
  return card;
}

/** Opens a link of the terminal, after a look at where it leads. */
function follow(to: string): void {
  let url: URL;
  try {
    url = new URL(to);
  } catch {
    return;
  }
  if (!["http:", "https:", "mailto:"].includes(url.protocol)) return;
  if (confirm("The agent's terminal links to:\n\n" + url.href + "\n\nOpen it?")) open(url.href, "_blank", "noopener,noreferrer");
}
