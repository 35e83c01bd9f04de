package browser_test

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
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

// No rule of WCAG 2.2 A and AA is broken, on any screen, in either theme.
func TestAccessibility(t *testing.T) {
	packed, err := gzip.NewReader(bytes.NewReader(axe))
	if err != nil {
		t.Fatal(err)
	}
	script, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: "startup-team", Input: []byte(`{"task": "a word counter"}`)})
	if err != nil {
		t.Fatal(err)
	}
	at := "/executions/" + done.ExecutionID
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			p := open(t, "/nothing")
			p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}))
			for _, path := range []string{"/", "/inbox", "/executions", at, at + "?sel=step:0", at + "?tab=workflow", at + "?tab=messages", at + "?tab=data", at + "?tab=journal", "/patterns", "/patterns/startup-team",
				"/threads", "/agents", "/agents?tab=managed", "/agents?tab=runtimes", "/webhooks", "/system", "/system?tab=plugins", "/system?tab=settings"} {
				p.do(chromedp.Navigate(shared.URL + path))
				p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
				var found []struct {
					ID, Help string
					Nodes    []struct{ HTML string }
				}
				p.do(chromedp.Evaluate(string(script)+"; 0", nil), chromedp.Evaluate(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"]}).then((r) => r.violations.map((v) => ({ID: v.id, Help: v.help, Nodes: v.nodes.slice(0, 3).map((n) => ({HTML: n.html.slice(0, 240) + " " + (n.any[0]?.message ?? "")}))})))`, &found, chromedp.EvalAsValue, awaited))
				for _, v := range found {
					t.Errorf("%s: %s: %s %+v", path, v.ID, v.Help, v.Nodes)
				}
				p.shoot("wide" + path)
			}
		})
	}
}

// Screens of phones have nothing beside them: what is wider than the window scrolls in itself.
func TestNarrow(t *testing.T) {
	for _, width := range []int64{390, 320} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			p := open(t, "/nothing")
			p.do(chromedp.EmulateViewport(width, 800))
			for _, path := range []string{"/", "/inbox", "/executions", "/patterns/startup-team", "/agents", "/system"} {
				p.do(chromedp.Navigate(shared.URL + path))
				p.until("the screen", `document.querySelector("h1") && !document.querySelector("main .waiting")`)
				var wide int64
				p.do(chromedp.Evaluate(`Math.max(document.documentElement.scrollWidth, document.querySelector("main").scrollWidth)`, &wide))
				if wide > width {
					t.Errorf("%s is %d wide", path, wide)
				}
				p.shoot("narrow" + path)
			}
		})
	}
}
