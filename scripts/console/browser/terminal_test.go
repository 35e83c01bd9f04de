package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	browserpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// graphicsCard has WebGL say that a graphics card draws it. The browser of the tests draws by the processor.
const graphicsCard = `{ const real = WebGL2RenderingContext.prototype.getParameter; WebGL2RenderingContext.prototype.getParameter = function (name) { return name === 0x9246 || name === 0x1f01 ? "a card" : real.call(this, name); }; }`

// Without a graphics card the document draws a terminal: WebGL by the processor holds the page up at each frame.
func TestTerminalWithoutGraphicsCard(t *testing.T) {
	id := spawnShell(t, "no-card")
	const rows = `document.querySelector(".xterm-rows")?.innerText.includes("$")`
	p := open(t, "/agents/"+id)
	p.until("the prompt in the document", rows)
	if p.holds(`document.querySelector(".xterm-screen canvas")`) {
		t.Error("WebGL draws without a graphics card")
	}
	p.do(chromedp.Navigate("about:blank"))
	with := beforeIn(t, graphicsCard)
	with.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	with.until("that WebGL draws with one", `document.querySelector(".xterm-screen canvas")`)
}

// While output waits the frames in between are skipped, and what it ends with is drawn.
func TestTerminalSkipsFrames(t *testing.T) {
	id := spawnShell(t, "frames")
	p := beforeIn(t, fakeTerminal)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	p.do(chromedp.Evaluate(`sockets[0].says({type: "attached"}); sockets[0].writes("begun"); 0`, nil))
	const rows = `document.querySelector(".xterm-rows").innerText`
	p.until("the first line", rows+`.includes("begun")`)
	var drawn struct{ Frames, Ms float64 }
	p.do(chromedp.Evaluate(fmt.Sprintf(`new Promise((done) => {
		const began = performance.now(); let frames = 0, last = 0;
		const seen = () => { if (performance.now() - last > 2) frames++; last = performance.now(); if (%[1]s.includes("all-of-it")) { looks.disconnect(); done({frames, ms: performance.now() - began}); } };
		const looks = new MutationObserver(seen); looks.observe(document.querySelector(".xterm-rows"), {subtree: true, childList: true, characterData: true});
		for (let i = 0; i < 60; i++) sockets[0].writes(("a line of output " + i + "\r\n").repeat(3000));
		sockets[0].writes("all-of-it");
	})`, rows), &drawn, awaited))
	if most := drawn.Ms/50 + 3; drawn.Frames > most {
		t.Errorf("%.0f frames in %.0f ms of output that waited, more than %.0f", drawn.Frames, drawn.Ms, most)
	}
}

// A terminal is looked at until it is taken over, and again once it is given back.
func TestTerminal(t *testing.T) {
	id := spawnShell(t, "shell")
	p := beforeIn(t, graphicsCard)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.click(button("For screen readers"))
	const lines = `[...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].map((l) => l.innerText).join("\n")`
	p.until("the prompt", lines+`.includes("$")`)
	p.click(css(".terminal"))
	p.do(chromedp.KeyEvent("echo no-$((3*3))"))
	p.click(button("Take over"))
	p.until("the keyboard", `document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you type"`)
	p.shoot("terminal")
	var shown string
	p.do(chromedp.Evaluate(lines, &shown))
	if contains(shown, "no-") {
		t.Errorf("what was typed before it was taken over has reached the terminal:\n%s", shown)
	}
	// Who else is there is told to both, and that they left.
	second := open(t, "/agents/"+id)
	second.until("who types elsewhere", `document.querySelector(".others")?.innerText.includes("anonymous may type too")`)
	p.until("who looks elsewhere", `document.querySelector(".others")?.innerText.includes("anonymous looks on")`)
	second.do(chromedp.Navigate("about:blank"))
	p.until("the other left", `document.querySelector(".others")?.innerText === ""`)
	p.do(browserpage.BringToFront())
	// More than may be under way arrives: what the emulator took is acknowledged.
	p.do(chromedp.KeyEvent("yes 0123456789012345678901234567890123456789 | head -n 100000; echo all-o''f-it"), chromedp.KeyEvent("\r"))
	p.until("the end of 4 MB", lines+`.includes("all-of-it")`)
	p.sameScreen(t, id, lines)
	p.mu.Lock()
	if p.acks == 0 {
		t.Error("the page has acknowledged nothing")
	}
	p.mu.Unlock()
	// The graphics are lost: the document draws in their place.
	const rows = `document.querySelector(".xterm-rows")?.innerText`
	p.until("that the graphics draw", `!`+rows+`?.includes("all-of-it")`)
	p.do(chromedp.Evaluate(`[...document.querySelectorAll(".xterm-screen canvas")].map((c) => c.getContext("webgl2")?.getExtension("WEBGL_lose_context")?.loseContext())`, nil))
	p.do(chromedp.KeyEvent("echo drawn-a''gain"), chromedp.KeyEvent("\r"))
	p.until("the screen in the document", rows+`?.includes("drawn-again")`)
	p.hostileOutput(t, lines)
	p.click(button("Give back"))
	p.until("the keyboard is given back", `!document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you look on"`)
}

// hostileOutput has the shell write what would make a terminal type, copy or retitle by itself: the page sends the
// shell what was typed and nothing else, copies nothing, and shows a title as text.
func (p *page) hostileOutput(t *testing.T, lines string) {
	t.Helper()
	p.do(chromedp.Evaluate(`window.copied = []; navigator.clipboard.writeText = (t) => { window.copied.push(t); return Promise.resolve(); }; 0`, nil))
	const queries = `\e[c\e[>c\e[=c\e[5n\e[6n\e[?6n\e[>q\e[x\e[14t\e[21t\e[?2026$p\e]4;1;?\a\e]10;?\a\e]11;?\a\e]12;?\a\eP$qm\e\\\eP+q544e\e\\\eZ\e[?u`
	const command = `printf '` + queries + `\e]52;c;aGFja2Vk\a\e]0;<b>title</b>\a\e]8;;javascript:window.hacked=1\e\\link\e]8;;\e\\\n'; echo fini''shed`
	p.mu.Lock()
	p.typed = nil
	p.mu.Unlock()
	p.do(chromedp.KeyEvent(command), chromedp.KeyEvent("\r"))
	p.until("the end of the command", lines+`.includes("finished")`)
	p.until("the title as text", `[...document.querySelectorAll(".terminal-tab .bar .clip")].some((e) => e.innerText === "<b>title</b>")`)
	p.mu.Lock()
	typed := string(p.typed)
	p.mu.Unlock()
	if want := command + "\r"; typed != want {
		t.Errorf("typed into the terminal: %q\nby the person: %q", typed, want)
	}
	var copied []string
	var hacked bool
	if err := chromedp.Run(p.ctx, chromedp.Evaluate(`window.copied`, &copied), chromedp.Evaluate(`Boolean(window.hacked)`, &hacked)); err != nil || len(copied) > 0 || hacked {
		t.Errorf("copied %q, ran %v, %v", copied, hacked, err)
	}
}

// The field to find in takes the focus when it is shown, and gives it back to the terminal.
func TestFindTakesFocus(t *testing.T) {
	p := open(t, "/agents/"+spawnShell(t, "found"))
	p.until("the terminal", `document.querySelector(".xterm-helper-textarea")`)
	p.click(css(`button[aria-label="Find"]`))
	p.until("the field", `document.activeElement?.ariaLabel === "Find in the terminal"`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("the terminal again", `!document.querySelector("[aria-label='Find in the terminal']") && document.activeElement?.matches(".xterm-helper-textarea")`)
}

// A terminal opens by a ticket: in a page that is signed in, whose cookie alone opens none, and where there are no sessions and the
// page has a key, which a browser sends with no socket.
func TestTerminalByTicket(t *testing.T) {
	runtimes, err := testbed.LocalRuntime(shared.binary, "")
	if err != nil {
		t.Fatal(err)
	}
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n"+
		"agentTypes: {shell: {command: sh, env: {PS1: \"ready> \"}, ready: {pattern: \"^ready> $\"}}}\n"+runtimes)
	a, err := withEcho(t, s, key).SpawnManagedAgent(t.Context(), client.ManagedAgentSpec{Type: "shell", Name: "ticket"})
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{"session": `{}`, "key": keyOnly} {
		t.Run(name, func(t *testing.T) {
			p := beforeIn(t, script)
			defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
			p.away(true)                                                              // refusals are errors to browsers
			p.do(chromedp.Navigate(s.URL + "/agents/" + a.ID))
			p.click(css(".sign-in input[type=password]"))
			p.do(chromedp.KeyEvent(key), chromedp.KeyEvent(kb.Enter))
			p.types("echo by-"+name+"-an''yway", "by-"+name+"-anyway")
			p.do(chromedp.Evaluate(fmt.Sprintf(`window.ended = ""; { const s = new WebSocket("ws://" + location.host + "/api/managed-agents/%s/terminal", ["wardroom.terminal.v1"]);
				s.onopen = () => { ended = "open"; }; s.onclose = () => { ended ||= "refused"; }; } 0`, a.ID), nil))
			p.until("that a socket without a ticket is refused", `ended`)
			if !p.holds(`ended === "refused"`) {
				t.Error("a page opened a terminal by its cookie alone")
			}
		})
	}
}

// A ticket that is refused since another tab has signed in meanwhile, or for now, is asked for again.
func TestTerminalAfterRefusedTickets(t *testing.T) {
	id := spawnShell(t, "refused")
	p := beforeIn(t, `{ const asked = window.fetch, refusals = [[403, {code: "FORBIDDEN", message: "no token", details: {reason: "csrf"}}], [503, {code: "UNAVAILABLE", message: "not now"}]]; window.refused = 0;
		window.fetch = (address, o) => {
			if (!new URL(address, location.href).pathname.endsWith("/terminal/tickets") || refused === refusals.length) return asked(address, o);
			const [status, error] = refusals[refused++];
			return Promise.resolve(new Response(JSON.stringify({error}), {status, headers: {"Content-Type": "application/json"}}));
		}; }`)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.click(button("For screen readers"))
	p.until("the prompt", `refused === 2 && [...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].some((l) => l.innerText.includes("$"))`)
}

// Who comes back too late for what was written meanwhile has lines to scroll back to, not the screen alone.
func TestScrollbackAfterBreak(t *testing.T) {
	id := spawnShell(t, "scrollback")
	p := beforeIn(t, `window.drawn = []; { const asked = window.fetch, Real = window.WebSocket; let gate = Promise.resolve();
		window.hold = () => { let go; gate = new Promise((done) => { go = done; }); window.goOn = go; window.socket.close(); };
		window.fetch = async (address, o) => { if (new URL(address, location.href).pathname.endsWith("/terminal/tickets")) await gate; return asked(address, o); };
		window.WebSocket = class extends Real { constructor(...all) { super(...all); window.socket = this; let whole = false;
			this.addEventListener("message", (e) => { if (typeof e.data === "string") whole = JSON.parse(e.data).type === "repaint"; else if (whole) { whole = false; drawn.push(new TextDecoder().decode(e.data)); } }); } }; }`)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.until("the first screen", `drawn.length === 1`)
	p.do(chromedp.Evaluate(`hold(); 0`, nil))
	if _, err := shared.Client.SendManagedAgent(t.Context(), id, client.ManagedAgentInput{Message: "seq 1 200000; echo all-o''f-it"}); err != nil {
		t.Fatal(err)
	}
	if err := testbed.Until(p.ctx, waiting, "the end of what it writes", func(ctx context.Context) (bool, error) {
		screen, err := shared.Client.ManagedAgentScreen(ctx, id)
		return err == nil && strings.Contains(strings.Join(screen.Lines, "\n"), "all-of-it"), err
	}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Evaluate(`goOn(); 0`, nil))
	p.until("the screen, and lines before it", `drawn.length === 2 && drawn[1].includes("199500") && drawn[1].includes("all-of-it")`)
}

// types takes the terminal of a shell over, whose prompt is "ready> ", and has a command answered.
func (p *page) types(command, answer string) {
	p.t.Helper()
	p.click(button("For screen readers"))
	const lines = `[...document.querySelectorAll(".xterm-accessibility-tree [role=listitem]")].map((l) => l.innerText).join("\n")`
	p.until("the prompt", lines+`.includes("ready>")`)
	p.click(button("Take over"))
	p.until("the keyboard", `document.querySelector(".terminal.writing") && document.querySelector(".bar [role=status]").innerText === "you type"`)
	p.click(css(".terminal"))
	p.do(chromedp.KeyEvent(command), chromedp.KeyEvent("\r"))
	p.until("the answer", fmt.Sprintf(`%s.includes(%q)`, lines, answer))
}
