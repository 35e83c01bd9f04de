package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// linesOf are the lines that the terminal of a page shows.
const linesOf = `[...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].map((l) => l.innerText.replaceAll("\u00a0", " ").trimEnd())`

// fakeTerminalOf opens the terminal of an agent, of which the test writes what comes.
func fakeTerminalOf(t *testing.T, name, script string) *page {
	id := spawnShell(t, name)
	p := beforeIn(t, fakeTerminal+script)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.click(button("For screen readers"))
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	return p
}

// A screen that comes in place of output that was left out begins as behind a reset, whatever the output before it switched on, and the
// lines before it stay. One that brings its own lines has no others. Every byte of both is acknowledged.
func TestTerminalRedrawn(t *testing.T) {
	p := fakeTerminalOf(t, "redrawn", `window.acknowledged = 0; window.sent = 0;`)
	p.do(chromedp.Evaluate(`sockets[0].send = (d) => { const c = JSON.parse(d); if (c.type === "ack") acknowledged = c.bytes; };
		globalThis.comes = (text) => { sent += new TextEncoder().encode(text).length; sockets[0].writes(text); };
		sockets[0].says({type: "attached", window: 1 << 20}); sockets[0].says({type: "repaint", offset: 10, cols: 80, rows: 24}); comes("\x1bcthe first");
		for (let i = 0; i < 300; i++) comes("\r\nan old line " + i + ".");
		comes("\x1b[3g\x1b[5;10r\x1b[?6h\x1b[4h\x1b[?7l\x1b[20h\x1b[?1003h\x1b[?25l\x1b[7m\x1b(0\x1b7\x1b[?1049h\x1b[31mother\x1b[?2026h\x1b]2;unfinished");
		sockets[0].says({type: "repaint", offset: 90000, lost: 70000}); comes("\x1bcabc\tdef\r\nghi\r\n" + "w".repeat(85) + "\r\nlast"); 0`, nil))
	p.until("the screen drawn anew", linesOf+`.slice(0, 5).join("|") === "abc     def|ghi|" + "w".repeat(80) + "|wwwww|last"`)
	if !p.holds(linesOf + `.slice(5).every((l) => l === "")`) {
		t.Error("something of before is on the screen")
	}
	p.do(chromedp.Evaluate(`sockets[0].says({type: "resized", cols: 120, rows: 24}); sockets[0].says({type: "repaint", offset: 90000, lost: 1}); comes("\x1bc\x1b[1;82Hx\ty"); 0`, nil))
	p.until("the tab stops of the new size", linesOf+`[0] === " ".repeat(81) + "x" + " ".repeat(6) + "y"`)

	find := func(text string) {
		p.click(css(`button[aria-label="Find"]`))
		p.until("the field", `document.activeElement?.ariaLabel === "Find in the terminal"`)
		p.do(chromedp.KeyEvent(text), chromedp.KeyEvent("\r"))
	}
	find("old line 150.")
	p.until("a line from before", linesOf+`.includes("an old line 150.")`)
	p.click(css(`button[aria-label="Find"]`))

	p.do(chromedp.Evaluate(`sockets[0].says({type: "repaint", offset: 90000}); comes("\x1bcwhole\r\n" + "x".repeat(79) + "\r"); comes("y".repeat(1 << 18)); comes("\r\nall-of-it"); 0`, nil))
	p.until("all of it", linesOf+`.includes("all-of-it")`)
	find("old line 150.")
	p.until("that it is sought", `document.querySelector(".find")?.value === "old line 150."`)
	p.do(chromedp.Evaluate(`comes("\r\n" + "z".repeat(1 << 17)); 0`, nil)) // the acknowledgement of which is for all that was before as well
	p.until("the acknowledgement", `acknowledged === sent`)
	if p.holds(linesOf + `.some((l) => l.startsWith("an old line"))`) {
		t.Error("lines from before a whole screen are there")
	}
}

// While there is much output few frames are drawn, in whatever pieces it comes.
func TestTerminalDrawsFewFrames(t *testing.T) {
	p := fakeTerminalOf(t, "frames", `window.drawn = 0; { const real = window.requestAnimationFrame; window.requestAnimationFrame = (f) => { drawn++; return real(f); }; }`)
	p.do(chromedp.Evaluate(`sockets[0].says({type: "attached", window: 1 << 20}); sockets[0].writes("a line of what comes\r\n".repeat(4000)); 0`, nil))
	p.until("the first lines", linesOf+`.includes("a line of what comes")`)
	var figures struct{ Frames, Pauses float64 }
	p.do(chromedp.Evaluate(`new Promise((done) => {
		let left = 300;
		const began = performance.now();
		drawn = 0;
		sockets[0].send = () => {};
		const next = () => { if (!left--) { done({frames: drawn, pauses: (performance.now() - began) / 50}); return; } sockets[0].writes("a line of what comes\r\n".repeat(1400)); setTimeout(next, 5); };
		next();
	})`, &figures, awaited))
	// One frame is asked for by the page, to see how long it takes, and up to two by the emulator: for its rows and its scroll bar.
	if most := 3 * (figures.Pauses + 2); figures.Frames > most {
		t.Errorf("%.0f frames asked for, at most %.0f expected", figures.Frames, most)
	}
}
