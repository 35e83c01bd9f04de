package browser_test

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// axe is axe-core 4.14.1, as npm has it (MPL-2.0, see testdata/axe-LICENSE). It is of the tests only.
//
//go:embed testdata/axe.min.js.gz
var axe []byte

// awaited has an expression's promise waited for.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// axeScript is axe, unpacked once.
var axeScript = sync.OnceValues(func() (string, error) {
	packed, err := gzip.NewReader(bytes.NewReader(axe))
	if err != nil {
		return "", err
	}
	script, err := io.ReadAll(packed)
	return string(script), err
})

// checkAxe fails the test for each rule of WCAG 2.2 A and AA that the page as it is now breaks.
func (p *page) checkAxe(t *testing.T, name string) {
	t.Helper()
	script, err := axeScript()
	if err != nil {
		t.Fatal(err)
	}
	var found []struct {
		ID, Help string
		Nodes    []struct{ HTML string }
	}
	p.do(chromedp.Evaluate(`typeof axe === "undefined" && (() => {`+script+`})(); 0`, nil), chromedp.Evaluate(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({ID: v.id, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html.slice(0, 240) + " " + (n.any[0]?.message ?? "")}))})))`, &found, chromedp.EvalAsValue, awaited))
	for _, v := range found {
		t.Errorf("%s: %s: %s %+v", name, v.ID, v.Help, v.Nodes)
	}
}

// No rule of WCAG 2.2 A and AA is broken, on any screen, in either theme.
func TestAccessibility(t *testing.T) {
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	putUrgency(t)
	batch, err := shared.Client.StartBatch(t.Context(), client.BatchRequest{Pattern: "urgency", Inputs: []json.RawMessage{[]byte(`{"text": "x"}`), []byte(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	schedule, trigger := starters(t)
	at := "/executions/" + done.ExecutionID
	paths := []string{"/", "/?range=30d", "/inbox", "/executions", "/executions?time=1&status=failed,completed&range=24h&metadata.team=blue", at, at + "?sel=step:0", at + "?tab=workflow", at + "?tab=messages", at + "?tab=data&with=" + done.ExecutionID, at + "?tab=journal",
		"/batches", "/batches/" + batch.BatchID, "/patterns", "/patterns/startup-team", "/patterns/startup-team?tab=versions", "/schedules", "/schedules/" + schedule, "/triggers", "/triggers/" + trigger,
		"/threads", "/threads?board=state", "/threads?board=execution", "/threads?tab=new", "/agents", "/agents?tab=managed", "/agents?tab=wall", "/agents?tab=runtimes", "/memory", "/webhooks", "/audit", "/system", "/system?tab=plugins", "/system?tab=log", "/system?tab=workspaces", "/system?tab=settings"}
	// Each is loaded once: a page follows the theme of its browser while it is looked at.
	themes := func(t *testing.T, path string, shown func(p *page)) {
		p := openIn(t, "about:blank")
		for i, theme := range []string{"light", "dark"} {
			p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}))
			if i == 0 {
				p.do(chromedp.Navigate(shared.URL + path))
				shown(p)
			}
			p.until("the theme "+theme, fmt.Sprintf(`getComputedStyle(document.documentElement).colorScheme === %q`, theme))
			p.checkAxe(t, path+", "+theme)
			p.shoot("wide " + theme)
		}
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			themes(t, path, func(p *page) {
				p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
			})
		})
	}
	for _, dialog := range [][2]string{{"/executions", "+ filter"}, {"/executions", "Columns"}, {"/batches", "Start one"}, {"/agents?tab=managed", "Start one"}, {"/webhooks", "New"}} {
		t.Run(dialog[0]+" "+dialog[1], func(t *testing.T) {
			themes(t, dialog[0], func(p *page) {
				p.click(button(dialog[1]))
				p.until("the dialog", `document.querySelector("dialog h2")`)
			})
		})
	}
}

// Screens of phones have nothing beside them: what is wider than the window scrolls in itself.
func TestNarrow(t *testing.T) {
	for _, width := range []int64{390, 320} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			for _, path := range []string{"/", "/inbox", "/executions", "/batches", "/schedules", "/audit", "/patterns/startup-team", "/threads?board=state", "/threads?tab=new", "/agents", "/agents?tab=wall", "/memory", "/webhooks", "/system", "/system?tab=workspaces"} {
				t.Run(path, func(t *testing.T) {
					p := openIn(t, "about:blank")
					p.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(shared.URL+path))
					p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
					var wide int64
					p.do(chromedp.Evaluate(`Math.max(document.documentElement.scrollWidth, document.querySelector("main").scrollWidth)`, &wide))
					if wide > width {
						t.Errorf("%s is %d wide", path, wide)
					}
					p.shoot("narrow")
				})
			}
		})
	}
}
