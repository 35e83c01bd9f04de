package browser_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The stream of all pages forgets none that lives, and lacks nothing of what a page begins to follow.
func TestHub(t *testing.T) {
	p := openIn(t, "about:blank")
	p.do(chromedp.Evaluate(`const looks = new Map(); globalThis.setInterval = (f) => { looks.set(f, f); return f; }; globalThis.clearInterval = (f) => looks.delete(f); globalThis.look = () => { for (const f of [...looks.values()]) f(); };
		`+units(t)+`; globalThis.units = units;
		globalThis.streams = []; globalThis.fetch = (_, o) => { let to; const body = new ReadableStream({start(c) { to = c; }}); streams.push({signal: o.signal, from: o.headers["Last-Event-ID"] ?? "", frame: (id) => to.enqueue(new TextEncoder().encode("id: " + id + "\nevent: event\ndata: " + JSON.stringify({sequence: id, type: "execution.started", topics: ["executions"], data: {}}) + "\n\n"))}); return Promise.resolve(new Response(body)); };
		globalThis.page = () => { const me = {}, said = []; return {said, ask: (asked) => hub.hear(me, (s) => said.push(s.kind === "events" ? s.events.map((e) => e.sequence).join() : s.state ?? s.kind), asked), hello() { this.ask({kind: "hello", address: "", key: "", keyGiven: false}); }}; };
		globalThis.hub = new units.Hub(); globalThis.a = page(); globalThis.b = page(); a.hello(); 0`, nil))
	p.until("the stream", `streams.length === 1 && a.said.includes("gap")`)
	p.do(chromedp.Evaluate(`b.hello(); streams[0].frame(9); 0`, nil))
	p.until("an event", `a.said.includes("9")`)
	// b heard of 9, began to read, and asks for a subject once the stream is at 11: what happened to it at 10 is asked for.
	p.do(chromedp.Evaluate(`streams[0].frame(11); 0`, nil))
	p.until("the next event", `a.said.includes("11")`)
	p.do(chromedp.Evaluate(`b.ask({kind: "subjects", subjects: ["exec_1"], after: 9}); 0`, nil))
	p.until("the stream with the subject", `streams.length === 2`)
	var from string
	p.do(chromedp.Evaluate(`streams[1].from`, &from))
	if from != "9" {
		t.Errorf("the stream with the subject begins after %q, not after 9, where the page began to read", from)
	}
	// The machine sleeps: both pages hear of the break before either speaks, and the stream goes on where it was.
	p.do(chromedp.Evaluate(`const real = Date.now.bind(Date); Date.now = () => real() + 3600e3; a.said.length = b.said.length = 0; look(); 0`, nil))
	p.until("the stream after a sleep", `streams.length === 3 && [a, b].every((one) => one.said.join() === "broken,live")`)
	p.do(chromedp.Evaluate(`streams[2].from`, &from))
	if from != "11" {
		t.Errorf("the stream after a sleep begins after %q, not after 11, where it was", from)
	}
	p.do(chromedp.Evaluate(`a.ask({kind: "alive"}); b.ask({kind: "alive"}); 0`, nil))
	if p.holds(`[...a.said, ...b.said].includes("forgotten")`) {
		t.Error("a page is forgotten since the machine slept")
	}
	// A page that does not speak for long is forgotten, and comes back.
	p.do(chromedp.Evaluate(`for (let i = 0; i < 20; i++) { look(); a.ask({kind: "alive"}); } b.said.length = 0; b.ask({kind: "alive"}); 0`, nil))
	if !p.holds(`b.said.includes("forgotten")`) {
		t.Error("a page that was forgotten while it slept is not told")
	}
	if p.holds(`a.said.includes("forgotten")`) {
		t.Error("a page that speaks is forgotten")
	}
	// Once none speaks any more, nothing is read.
	p.do(chromedp.Evaluate(`for (let i = 0; i < 20; i++) look(); 0`, nil))
	if !p.holds(`streams.every((s) => s.signal.aborted)`) {
		t.Error("the stream goes on without pages")
	}
}

// A stream that gets no answer is begun anew: its connection may be lost without a word.
func TestStreamWithoutAnswer(t *testing.T) {
	p := openIn(t, "about:blank")
	p.do(chromedp.Evaluate(`{ const real = setTimeout; globalThis.setTimeout = (f, ms) => real(f, ms / 100); } `+units(t)+`; globalThis.asked = 0; globalThis.said = [];
		globalThis.fetch = (_, o) => ++asked > 2 ? Promise.resolve(new Response(new ReadableStream())) : new Promise((_, no) => o.signal.addEventListener("abort", () => no(o.signal.reason)));
		new units.Hub().hear({}, (s) => said.push(s.state ?? s.kind), {kind: "hello", address: "", key: "", keyGiven: false}); 0`, nil))
	p.until("the stream, once there is an answer", `asked === 3 && said.includes("broken") && said.at(-1) === "live"`)
}
