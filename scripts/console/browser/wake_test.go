package browser_test

import (
	"crypto/rand"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// sleeping is a script that has sleep() be a machine that sleeps for an hour: its clock goes on, no timer of before that is longer
// than ten seconds comes any more, so that what begins anew does so within about that, and connections are dead without a word.
const sleeping = `delete window.SharedWorker; {
	const was = Date.now, asked = window.fetch;
	let slept = 0, sleeps = 0;
	Date.now = () => was() + slept;
	for (const name of ["setTimeout", "setInterval"]) {
		const timer = window[name];
		window[name] = (f, ms, ...rest) => { const at = sleeps; return timer((...a) => { if (at === sleeps || ms <= 10000) f(...a); }, ms, ...rest); };
	}
	window.streams = 0;
	window.told = 0; // pieces with an event's place
	window.sleep = () => { slept += 3600e3; sleeps++; };
	window.fetch = async (to, o) => {
		const answer = await asked(to, o);
		if (!new URL(to, location.href).pathname.endsWith("/api/events") || !answer.ok) return answer;
		streams++;
		window.resumed = o.headers["Last-Event-ID"] ?? "";
		const reader = answer.body.getReader(), mine = sleeps;
		return new Response(new ReadableStream({async pull(c) {
			const {done, value} = await reader.read();
			if (mine !== sleeps) return new Promise(() => {});
			if (done) return c.close();
			c.enqueue(value);
			if (new TextDecoder().decode(value).includes("id: ")) told++;
		}, cancel() { return reader.cancel(); }}), {headers: answer.headers});
	}; }`

// After a machine slept its page begins the stream anew at once, where it was, and shows what happened meanwhile.
func TestStreamAfterSleep(t *testing.T) {
	putUrgency(t)
	of := rand.Text() // a list without those of another run
	p := beforeIn(t, sleeping)
	p.do(chromedp.Navigate(shared.URL + "/executions?metadata.of=" + of))
	p.until("a live page", live+` && streams === 1`)
	begun(t)
	p.until("an event of it", `told > 0`)
	p.do(chromedp.Evaluate(`sleep(); 0`, nil))
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "x"}`), Options: client.ExecuteOptions{Metadata: map[string]any{"of": of}}})
	if err != nil {
		t.Fatal(err)
	}
	p.until("another stream", `streams > 1`)
	if !p.holds(`resumed !== ""`) {
		t.Error("the stream begins anew as if there had been none")
	}
	p.until("what was made meanwhile, which an empty list shows at once", `document.querySelector("tr[data-id=`+e.ExecutionID+`]")`)
	if _, err := shared.Client.CancelExecution(t.Context(), e.ExecutionID, "over"); err != nil {
		t.Error(err)
	}
}

// So does a terminal, which shows no screen of before as if it were live.
func TestTerminalAfterSleep(t *testing.T) {
	id := spawnShell(t, "slept")
	p := beforeIn(t, fakeTerminal+sleeping)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	p.do(chromedp.Evaluate(`sockets[0].says({type: "attached"}); sockets[0].writes("begun"); sleep(); 0`, nil))
	p.until("another socket, where the first was", `sockets.length === 2 && sockets[0].readyState === 3 && sockets[1].url.includes("offset=5")`)
}

// A terminal that was still on its way when the machine fell asleep gets there.
func TestTerminalAfterSleepOnTheWay(t *testing.T) {
	id := spawnShell(t, "on-the-way")
	p := beforeIn(t, fakeTerminal+sleeping)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id))
	p.until("the socket", `window.sockets.length === 1 && sockets[0].onmessage`)
	p.do(chromedp.Evaluate(`sleep(); 0`, nil))
	p.until("another socket", `sockets.length === 2 && sockets[0].readyState === 3`)
}

// A page that is shown again as it was left belongs to who is signed in by then.
func TestPageThatIsShownAgain(t *testing.T) {
	s, key := secured(t, "server: {listen: $LISTEN}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n")
	admin := withEcho(t, s, key)
	other, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "other", Owner: "other", Scopes: []string{"admin"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	p := openIn(t, "about:blank")
	defer func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }() // ports share them
	p.away(true)                                                              // refusals are errors to browsers
	p.do(chromedp.Navigate(s.URL + "/patterns"))
	p.signInBy(key)
	p.until("the list", `document.querySelector("tr[data-index]")`)
	// While the page was away another person signed in; it heard of nothing.
	p.do(chromedp.Evaluate(`fetch("/api/session", {method: "POST", headers: {Authorization: "Bearer `+other.Key+`"}}).then((r) => r.status)`, nil, awaited))
	p.do(chromedp.Evaluate(`dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true})); 0`, nil))
	p.until("the person who is signed in", `document.querySelector("button.me").innerText.includes("other")`)
	p.click(css("tr[data-index]"))
	p.until("a pattern", `document.querySelector(".head h1")?.innerText === "echo"`)
}
