package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/sdk/client"
)

// copying is a script that keeps what a page copies in the variable copied.
const copying = `window.copied = []; Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { copied.push(text); }}});`

// copyOf presses a button that copies, and returns what it copies.
func (p *page) copyOf(t *testing.T, name string) (text string) {
	t.Helper()
	p.do(chromedp.Evaluate(`copied.length = 0; 0`, nil))
	p.click(fmt.Sprintf(`[...(document.querySelector("dialog") ?? document.querySelector("main")).querySelectorAll("button")].find((b) => b.innerText.trim() === %q && b.title.startsWith("Copy"))`, name))
	p.until("a copy as "+name, `copied.length > 0`)
	p.do(chromedp.Evaluate(`copied.at(-1)`, &text))
	return text
}

// fill writes into a field of a form.
func (p *page) fill(field, text string) {
	p.t.Helper()
	p.until("the field "+field, field)
	p.do(chromedp.Evaluate(fmt.Sprintf(`{ const e = %s; e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); } 0`, field, text), nil))
}

// inShell runs a line in a shell, which has the command line, and a credential if there is one, and returns what it prints.
func inShell(t *testing.T, server, token, shell string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(shared.binary)+":"+os.Getenv("PATH"), "WARDROOM_SERVER="+server, "WARDROOM_TOKEN="+token, "HOME="+cmd.Dir)
	out, err := cmd.Output()
	if err != nil {
		text := ""
		if failed, ok := err.(*exec.ExitError); ok {
			text = string(failed.Stderr)
		}
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, text)
	}
	return out
}

// inGo runs lines of a function of Go that has a context, and returns what they print.
func inGo(t *testing.T, token, lines string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	imports := "\t\"context\"\n\t\"fmt\"\n"
	if strings.Contains(lines, "os.") {
		imports += "\t\"os\"\n"
	}
	source := "package main\n\nimport (\n" + imports + "\n\t\"github.com/wardroom/wardroom/sdk/client\"\n)\n\nfunc run(ctx context.Context) error {\n" + lines + "return nil\n}\n\nfunc main() {\n\tif err := run(context.Background()); err != nil {\n\t\tpanic(fmt.Sprint(err))\n\t}\n}\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", file)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "WARDROOM_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, lines)
	}
	return strings.TrimSpace(string(out))
}

// oddText has what shells, curl, Go and JSON read something into.
const oddText = "-x it's \"$HOME\" `id` $(id) \\ \\n %s !! {a,b} [0-9] @/etc/hostname\nsecond\tline\r\n\u202e\ufeff \U0001f680 \u0000 end"

// What is copied of the form that runs a pattern does what its button does, whatever is typed, with a credential and without, and
// wherever the server lies; no credential is in it.
func TestCopiesOfRun(t *testing.T) {
	const definition = "name: Odd.name_1-x\nversion: 1.0.0+b.2\ninput:\n  text: {type: string}\n  n: {type: number}\nagents: {capabilities: [of-no-agent], min: 1}\naggregation: {strategy: first}\n"
	check := func(t *testing.T, p *page, api *client.Client, server, token string) {
		t.Helper()
		if _, err := api.GetPattern(t.Context(), "Odd.name_1-x", ""); err != nil {
			if _, err := api.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
				t.Fatal(err)
			}
		}
		p.do(chromedp.Navigate(server + "/patterns/Odd.name_1-x"))
		p.click(button("Run"))
		p.fill(`document.querySelectorAll("dialog textarea")[0]`, oddText)
		p.fill(`document.querySelectorAll("dialog textarea")[1]`, "12345678901234567890")
		p.fill(`document.querySelectorAll("dialog textarea")[2]`, `{"more": [0.1000000000000000055, -1e400, "it's"]}`)
		p.choose("dialog select", "high")
		line, curl, lines := p.copyOf(t, "CLI"), p.copyOf(t, "curl"), p.copyOf(t, "Go")
		var session struct {
			CSRFToken string `json:"csrfToken"`
			SessionID string `json:"sessionId"`
		}
		p.do(chromedp.Evaluate(fmt.Sprintf(`fetch(%q).then((r) => r.json())`, server+"/api/session"), &session, awaited))
		for _, secret := range []string{token, session.CSRFToken, session.SessionID} {
			if secret != "" && strings.Contains(line+curl+lines, secret) {
				t.Errorf("a credential is copied")
			}
		}
		p.click(`[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText === "Run")`)
		p.until("what the button began", `/exec_[^/]+$/.test(location.pathname)`)
		var pressed string
		p.do(chromedp.Evaluate(`location.pathname.split("/").at(-1)`, &pressed))
		ids := map[string]string{"button": pressed, "Go": inGo(t, token, lines)}
		ids["CLI"] = strings.TrimPrefix(strings.TrimSpace(string(inShell(t, server, token, "sh", "-c", line+" --async -o name"))), "execution/")
		var accepted client.Execution
		if out := inShell(t, server, token, "bash", "-O", "failglob", "-c", curl); json.Unmarshal(out, &accepted) != nil || accepted.ExecutionID == "" {
			t.Errorf("curl begins nothing: %s", out)
		}
		ids["curl"] = accepted.ExecutionID
		var want []byte
		for _, how := range []string{"button", "CLI", "curl", "Go"} {
			x, err := api.GetExecution(t.Context(), ids[how])
			if err != nil {
				t.Errorf("%s: %v", how, err)
				continue
			}
			_, _ = api.CancelExecution(context.WithoutCancel(t.Context()), ids[how], "not needed")
			x.Input = bytes.ReplaceAll(x.Input, []byte(`\ufeff`), []byte("\ufeff")) // in Go it is written like that: the same text
			if how == "button" {
				want = x.Input
				for _, text := range []string{"12345678901234567890", "0.1000000000000000055", "-1e400"} {
					if !bytes.Contains(want, []byte(text)) {
						t.Errorf("the button rounds %s: %s", text, want)
					}
				}
			}
			if !bytes.Equal(x.Input, want) || x.Pattern.Version != "1.0.0+b.2" || x.Options.Priority != "high" {
				t.Errorf("%s begins version %s with priority %s and the input\n%s\nnot\n%s", how, x.Pattern.Version, x.Options.Priority, x.Input, want)
			}
		}
		// What is copied of an execution reads it.
		p.do(chromedp.Navigate(server + "/executions/" + pressed))
		var read client.Execution
		if out := inShell(t, server, token, "bash", "-O", "failglob", "-c", p.copyOf(t, "curl")); json.Unmarshal(out, &read) != nil || read.ExecutionID != pressed {
			t.Errorf("curl does not read the execution: %s", out)
		}
		if out := inShell(t, server, token, "sh", "-c", p.copyOf(t, "CLI")); len(out) == 0 {
			t.Error("the command line shows no timeline")
		}
	}
	t.Run("open", func(t *testing.T) {
		check(t, beforeIn(t, copying), shared.Client, shared.URL, "")
	})
	t.Run("secured", func(t *testing.T) {
		proxy := newProxied(t, true)
		s, key := secured(t, fmt.Sprintf("server: {listen: $LISTEN, baseUrl: %q}\nstore: {path: $DIR/store}\nsecurity:\n  authentication: {apiKeys: {enabled: true}}\n", proxy.address("")))
		proxy.leads(t, s.URL)
		p := beforeIn(t, copying)
		t.Cleanup(func() { _ = chromedp.Run(p.ctx, network.ClearBrowserCookies()) }) // ports share them
		p.away(true)                                                                 // that it is not known yet who asks is answered with 401, which browsers report
		p.do(chromedp.Navigate(proxy.address("/patterns")))
		p.signInBy(key)
		p.away(false)
		check(t, p, withEcho(t, s, key), proxy.address(""), key)
	})
}

// What is copied does what its button does as well where it is longer than a word of a command may be.
func TestCopiesOfLongTexts(t *testing.T) {
	putUrgency(t)
	long := strings.Repeat("it's long ", 20<<10)
	p := beforeIn(t, copying)
	p.do(chromedp.Navigate(shared.URL + "/patterns/urgency"))
	p.click(button("Run"))
	p.fill(`document.querySelector("dialog textarea")`, long)
	for how, script := range map[string]string{"CLI": p.copyOf(t, "CLI") + " --async -o json", "curl": p.copyOf(t, "curl")} {
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		var made client.Execution
		if out := inShell(t, shared.URL, "", "sh", file); json.Unmarshal(out, &made) != nil || made.ExecutionID == "" {
			t.Fatalf("%s begins nothing: %s", how, out)
		}
		x, err := shared.Client.CancelExecution(t.Context(), made.ExecutionID, "not needed")
		if err != nil {
			t.Fatal(err)
		}
		if x, err := shared.Client.GetExecution(t.Context(), x.ExecutionID); err != nil || !bytes.Contains(x.Input, []byte(long)) {
			t.Errorf("%s begins it with another input: %v", how, err)
		}
	}
	p.do(chromedp.Evaluate(fmt.Sprintf(`sessionStorage.setItem("draft:new-thread", JSON.stringify({type: "bash", objective: ": " + %q, name: "long"})); 0`, long), nil), chromedp.Navigate(shared.URL+"/threads?tab=new"))
	p.until("the form", `document.querySelector("textarea[name=objective]")?.value.length > 100000`)
	for how, script := range map[string]string{"CLI": p.copyOf(t, "CLI") + " -o json", "curl": p.copyOf(t, "curl")} {
		file := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		var made client.Thread
		if out := inShell(t, shared.URL, "", "sh", file); json.Unmarshal(out, &made) != nil || !strings.Contains(made.Objective, long) {
			t.Fatalf("%s starts no thread with that objective: %.200s", how, out)
		}
		if err := shared.Client.StopThread(t.Context(), made.ID, true, 0); err != nil {
			t.Error(err)
		}
	}
}

// What is copied of the form for a new thread starts it as it is written, also where the command line would read files; numbers that are
// none are not copied.
func TestCopiesOfNewThread(t *testing.T) {
	p := beforeIn(t, copying)
	form := func(t *testing.T, fields map[string]any) {
		t.Helper()
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		p.do(chromedp.Navigate(shared.URL + "/threads"))
		p.do(chromedp.Evaluate(fmt.Sprintf(`sessionStorage.setItem("draft:new-thread", %q); 0`, text), nil))
		p.do(chromedp.Navigate(shared.URL + "/threads?tab=new"))
		p.until("the form", `document.querySelector("textarea[name=objective]")?.value`)
	}
	for _, one := range []struct {
		name   string
		fields map[string]any
	}{
		{"text", map[string]any{"type": "bash", "objective": ": " + strings.ReplaceAll(oddText, "\u0000", ""), "name": "-n $(id)", "role": "it's", "turns": "7", "cost": "0.5", "files": []map[string]string{{"path": "a b/it's.md", "content": "x\n$y"}}}},
		{"the name of a file", map[string]any{"type": "bash", "objective": "@/etc/hostname", "name": "file"}},
		{"the input", map[string]any{"type": "bash", "objective": "-", "name": "stdin"}},
		{"a file that names one", map[string]any{"type": "bash", "objective": ":", "name": "content", "files": []map[string]string{{"path": "owners", "content": "@team"}}}},
		{"a path with a sign", map[string]any{"type": "bash", "objective": ":", "name": "path", "files": []map[string]string{{"path": "a=b", "content": "c=d"}}}},
	} {
		t.Run(one.name, func(t *testing.T) {
			form(t, one.fields)
			line, curl := p.copyOf(t, "CLI"), p.copyOf(t, "curl")
			var made [2]client.Thread
			for i, out := range [][]byte{inShell(t, shared.URL, "", "sh", "-c", line+" -o json"), inShell(t, shared.URL, "", "sh", "-c", curl)} {
				if err := json.Unmarshal(out, &made[i]); err != nil || made[i].ID == "" {
					t.Fatalf("no thread: %v\n%s", err, out)
				}
				t.Cleanup(func() { _ = shared.Client.StopThread(context.WithoutCancel(t.Context()), made[i].ID, true, 0) })
				if want := one.fields["objective"]; made[i].Objective != want {
					t.Errorf("the objective is %q, not %q", made[i].Objective, want)
				}
				if want := one.fields["name"]; made[i].Name != want {
					t.Errorf("the name is %q, not %q", made[i].Name, want)
				}
				if files, ok := one.fields["files"].([]map[string]string); ok {
					want := files[0]["path"] + "\n" + files[0]["content"]
					found := false
					for _, f := range made[i].Preparation.ContextFiles {
						found = found || f.Content != nil && f.Path+"\n"+*f.Content == want
					}
					if !found {
						t.Errorf("its files are %+v, not %q", made[i].Preparation.ContextFiles, want)
					}
				}
			}
			a, _ := json.Marshal(made[0].Policy)
			b, _ := json.Marshal(made[1].Policy)
			if !bytes.Equal(a, b) {
				t.Errorf("the policies are %s and %s", a, b)
			}
		})
	}
	for _, one := range []map[string]any{{"turns": "many"}, {"turns": "0"}, {"cost": "free"}, {"cost": "-1"}} {
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			one["type"], one["objective"] = "bash", ":"
			form(t, one)
			p.do(chromedp.Evaluate(`window.copies = ["CLI", "curl"].map((name) => [...document.querySelectorAll("form button")].find((b) => b.innerText.trim() === name)); 0`, nil))
			for i, name := range []string{"CLI", "curl"} {
				p.click(fmt.Sprintf(`copies[%d]`, i)) // its words are others meanwhile
				p.until("an answer", fmt.Sprintf(`copied.length > 0 || copies[%d].querySelector("[role=status]").textContent.includes("must be")`, i))
				if p.holds(`copied.length > 0`) {
					t.Errorf("%s is copied without the limit that was typed", name)
				}
			}
		})
	}
	p.until("the buttons as they were", `![...document.querySelectorAll("form [role=status]")].some((s) => s.textContent.includes("must be"))`)
}

// The command that goes on behind the events which a journal shows is one for shells that read patterns into a question mark.
func TestCommandOfJournal(t *testing.T) {
	putUrgency(t)
	id := begun(t)
	t.Cleanup(func() { _, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), id, "not needed") })
	p := beforeIn(t, copying+answering("/api/executions/"+id+"/events", pagesOf(6000, `{id: "e" + n, executionId: "x", sequence: n, type: "task.progress", timestamp: "2026-01-02T03:04:05Z", data: {}}`)))
	p.do(chromedp.Navigate(shared.URL + "/executions/" + id + "?tab=journal"))
	p.until("the journal", `document.querySelector(".journal li")`)
	var line string
	p.do(chromedp.Evaluate(`[...document.querySelectorAll("main code")].find((c) => c.innerText.startsWith("curl"))?.innerText ?? ""`, &line))
	var list struct{ Events []any }
	if out := inShell(t, shared.URL, "", "bash", "-O", "failglob", "-c", line); json.Unmarshal(out, &list) != nil || list.Events == nil {
		t.Errorf("no events: %s", out)
	}
	if !strings.Contains(line, "since=5000") {
		t.Errorf("it does not go on behind the last event: %s", line)
	}
	// What was said is of the same events.
	p.click(css(`.tabs a[href$="tab=messages"]`))
	p.until("the messages, of which part", `document.querySelector("main").innerText.includes("first 5,000 events")`)
}
