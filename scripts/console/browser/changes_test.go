package browser_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// asked returns how often the page asked for a path of the API.
func (p *page) asked(path string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range p.requests {
		if u, err := url.Parse(address); err == nil && u.Path == path {
			n++
		}
	}
	return n
}

// main is the text of the screen.
const main = `document.querySelector("main").innerText`

// refusing makes an endpoint at an address where nobody listens.
func refusing(t *testing.T, server *testbed.Server, events ...string) *client.Webhook {
	t.Helper()
	w, err := server.Client.CreateWebhook(t.Context(), client.WebhookSpec{URL: "http://127.0.0.1:9/hook", Events: events})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func created(t *testing.T, server *testbed.Server) {
	t.Helper()
	if _, err := server.Client.CreatePattern(t.Context(), client.PatternInput{Definition: urgency}); err != nil {
		t.Fatal(err)
	}
}

// tileOf is whether a tile of the overview says something.
func tileOf(text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".tile")].some((e) => e.innerText.replace(/\s+/g, " ").trim() === %q)`, text)
}

// The tiles of the overview have what the stream counts: nothing is read for them.
func TestTilesChange(t *testing.T) {
	server := idleServer(t)
	p := openIn(t, server.URL+"/")
	p.until("no delivery", tileOf("0 deliveries waiting"))
	p.until("the stream", `document.querySelector(".live:not(.off)")?.innerText.includes("live")`)
	p.until("what happened per minute", `document.querySelector(".charts")`)
	refusing(t, server, "pattern.created")
	before := p.asked("/api/overview")
	created(t, server)
	p.until("a delivery that waits", tileOf("1 deliveries waiting"))
	if n := p.asked("/api/overview"); n != before {
		t.Errorf("the overview was read %d times for it", n-before)
	}
}

// The list of batches, and a batch, change by what happens to batches, and by nothing else.
func TestBatchesChange(t *testing.T) {
	server := idleServer(t)
	created(t, server)
	p := openIn(t, server.URL+"/batches")
	p.until("no batch", main+`.includes("No batches yet")`)
	other := openIn(t, server.URL+"/")
	other.until("no execution", tileOf("0 waiting for their turn"))
	other.until("the stream", `document.querySelector(".live:not(.off)")?.innerText.includes("live")`)
	before := p.asked("/api/batches")
	const executions, due = 8, 3 // each is shown before the next begins, which takes half a second: a list that is read for them is read as often
	for i := range executions {
		if _, err := server.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: json.RawMessage(`{"text": "x"}`)}); err != nil {
			t.Fatal(err)
		}
		other.until("the execution", tileOf(fmt.Sprint(i+1, " waiting for their turn")))
	}
	if n := p.asked("/api/batches") - before; n > due { // the streams that began with the tabs may have had it read
		t.Errorf("the list was read %d times while there were %d executions of no batch", n, executions)
	}
	b, err := server.Client.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: []json.RawMessage{[]byte(`{"text": "x"}`), []byte(`{"text": "y"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	p.until("the batch", main+`.includes("running") && `+main+`.includes("0/2")`)
	one := openIn(t, server.URL+"/batches/"+b.BatchID)
	one.until("the batch of its own", main+`.includes("of 2") && `+main+`.includes("running")`)
	if _, err := server.Client.CancelBatch(t.Context(), b.BatchID); err != nil {
		t.Fatal(err)
	}
	one.until("its end", main+`.includes("2 cancelled")`)
	p.until("its end in the list", main+`.includes("2/2") && !`+main+`.includes("0/2")`)
}

// Endpoints come, change and go by themselves, and so do deliveries.
func TestWebhooksChange(t *testing.T) {
	server := idleServer(t)
	list := openIn(t, server.URL+"/webhooks")
	list.until("no endpoint", main+`.includes("No endpoints")`)
	w := refusing(t, server, "pattern.created")
	list.until("the endpoint", main+`.includes("127.0.0.1:9")`)
	one := openIn(t, server.URL+"/webhooks/"+w.ID)
	one.until("no delivery", main+`.includes("No deliveries")`)
	created(t, server)
	one.until("an attempt", main+`.includes("1 wait") && `+main+`.includes("refused")`)
	if _, err := server.Client.UpdateWebhook(t.Context(), w.ID, client.WebhookPatch{Enabled: new(bool)}); err != nil {
		t.Fatal(err)
	}
	one.until("that it is off", button("Enable"))
	list.until("that it is off in the list", main+`.includes("disabled")`)
	one.away(true) // what it reads meanwhile is not found
	if err := server.Client.DeleteWebhook(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	list.until("that it is gone", main+`.includes("No endpoints")`)
}

// A plugin that stops and starts is shown as it is.
func TestPluginsChange(t *testing.T) {
	server := idleServer(t)
	p := openIn(t, server.URL+"/system?tab=plugins")
	state := func(word string) string {
		return `[...document.querySelectorAll("main .card")].some((c) => c.innerText.includes("runtime-local") && c.querySelector(".line")?.innerText.includes("` + word + `"))`
	}
	p.until("the plugin", state("ready"))
	runtimes := openIn(t, server.URL+"/agents?tab=runtimes")
	ready := func(word string) string {
		return `[...document.querySelectorAll("main .card .line")].some((l) => l.innerText.includes("local") && l.querySelector(".state")?.innerText.trim() === "` + word + `")`
	}
	runtimes.until("its runtime", ready("ready"))
	if _, err := server.Client.DisablePlugin(t.Context(), "runtime-local"); err != nil {
		t.Fatal(err)
	}
	p.until("that it stands", state("disabled"))
	runtimes.until("that its runtime does too", ready("not ready"))
	if _, err := server.Client.EnablePlugin(t.Context(), "runtime-local"); err != nil {
		t.Fatal(err)
	}
	p.until("that it runs again", state("ready"))
}
