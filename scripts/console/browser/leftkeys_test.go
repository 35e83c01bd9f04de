package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// losing is a script that has the first answer to a path lost on its way, and keeps the keys of all requests to it.
func losing(path string) string {
	return fmt.Sprintf(`{ const real = window.fetch; window.keysSent = () => JSON.parse(sessionStorage.getItem("keys of the test") ?? "[]"); window.fetch = async (address, o) => {
		if (o?.method !== "POST" || !new URL(address, location.href).pathname.endsWith(%q)) return real(address, o);
		const keys = [...keysSent(), o.headers["Idempotency-Key"] ?? ""];
		sessionStorage.setItem("keys of the test", JSON.stringify(keys));
		const answer = await real(address, o);
		return keys.length > 1 ? answer : new Response(JSON.stringify({error: {code: "INTERNAL_ERROR", message: "the answer is lost"}}), {status: 503, headers: {"Content-Type": "application/json"}});
	}; }`, path)
}

// remarked is a script that has a thread's changes remarked on, unless they are.
func remarked(thread string) string {
	return fmt.Sprintf(`sessionStorage.getItem("remarks:%[1]s") ?? sessionStorage.setItem("remarks:%[1]s", JSON.stringify([{file: "a.txt", line: 1, old: false, code: "x", text: "why"}]));`, thread)
}

// sameKey checks that two requests were made, under one key.
func (p *page) sameKey(t *testing.T) {
	t.Helper()
	var keys []string
	p.do(chromedp.Evaluate(`keysSent()`, &keys))
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("the keys are %q", keys)
	}
}

// What was sent, and whose answer was lost, is sent once, also by who left the screen in between, or loaded it anew; the same words that are
// sent after that are sent again.
func TestRepeatAfterLeaving(t *testing.T) {
	leave := map[string]func(p *page, thread string){
		"another tab":    func(p *page, thread string) { p.to("/threads/" + thread + "?tab=workspace") },
		"another screen": func(p *page, _ string) { p.to("/threads") },
		"a reload":       func(p *page, _ string) { p.do(chromedp.Reload()) },
	}
	const composer, decision = `document.querySelector(".composer textarea")`, `document.querySelector("form.saying textarea")`
	for how, away := range leave {
		t.Run("message, "+how, func(t *testing.T) {
			thread := shell(t, client.ThreadSpec{Objective: "echo one"})
			p := beforeIn(t, losing("/send"))
			p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
			p.fill(composer, "echo twice")
			p.click(button("Send"))
			p.until("that the answer is lost", main+`.includes("the answer is lost")`)
			away(p, thread.ID)
			p.to("/threads/" + thread.ID)
			p.until("what was written", composer+`?.value === "echo twice"`)
			p.click(button("Send"))
			p.until("that it is sent", composer+`.value === ""`)
			if n := messages(t, thread.ID, "echo twice"); n != 1 {
				t.Fatalf("it was sent %d times", n)
			}
			p.fill(composer, "echo twice")
			p.click(button("Send"))
			p.until("that it is sent", composer+`.value === ""`)
			if n := messages(t, thread.ID, "echo twice"); n != 2 {
				t.Errorf("the same words, sent again, were sent %d times in all", n)
			}
		})
		t.Run("decision, "+how, func(t *testing.T) {
			thread := shell(t, client.ThreadSpec{Objective: "echo one"})
			p := beforeIn(t, losing("/shared-decisions"))
			at := "/threads/" + thread.ID + "?tab=memory"
			p.do(chromedp.Navigate(shared.URL + at))
			p.fill(decision, "tabs")
			p.click(button("Write it down"))
			p.until("that the answer is lost", main+`.includes("the answer is lost")`)
			away(p, thread.ID)
			p.to(at)
			p.until("what was written", decision+`?.value === "tabs"`)
			p.click(button("Write it down"))
			p.until("that it is written down", decision+`.value === ""`)
			list, err := shared.Client.ListDecisions(t.Context(), client.DecisionFilter{ThreadID: thread.ID})
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Decisions) != 1 {
				t.Errorf("it was written down %d times", len(list.Decisions))
			}
		})
	}
	t.Run("remarks", func(t *testing.T) {
		thread := shell(t, client.ThreadSpec{Objective: "echo one", Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
		p := beforeIn(t, remarked(thread.ID)+losing("/send"))
		at := "/threads/" + thread.ID + "?tab="
		p.do(chromedp.Navigate(shared.URL + at + "changes"))
		p.click(button("Send 1 remark"))
		p.until("that the answer is lost", main+`.includes("the answer is lost")`)
		p.to(at + "memory")
		p.until("another tab", `!document.querySelector(".changes")`)
		p.to(at + "changes")
		p.click(button("Send 1 remark"))
		p.until("that it is sent", main+`.includes("The remark is sent.")`)
		p.sameKey(t)
	})
	t.Run("start", func(t *testing.T) {
		other := shell(t, client.ThreadSpec{Objective: "echo one"}).ID
		for how, away := range leave {
			t.Run(how, func(t *testing.T) {
				name := "started-once-by-" + strings.ReplaceAll(how, " ", "-")
				before := threadsNamed(t, name)
				p := beforeIn(t, losing("/api/managed-threads"))
				begin := func(outcome string) {
					t.Helper()
					p.click(button("Look at"))
					p.click(button("Start it"))
					p.until("the outcome", outcome)
				}
				p.do(chromedp.Navigate(shared.URL + "/threads?tab=new"))
				p.choose("select[name=type]", "bash")
				p.fill(`document.querySelector("input[name=name]")`, name)
				p.fill(`document.querySelector("textarea[name=objective]")`, "echo one")
				begin(main + `.includes("the answer is lost")`)
				away(p, other)
				p.until("another screen, or none", `!`+main+`.includes("the answer is lost")`)
				p.to("/threads?tab=new")
				p.until("what was written", `document.querySelector("textarea[name=objective]")?.value === "echo one"`)
				begin(`/thread_[^/]+$/.test(location.pathname)`)
				p.sameKey(t)
				if n := threadsNamed(t, name) - before; n != 1 {
					t.Errorf("it was started %d times", n)
				}
			})
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		id := spawnShell(t, "interrupted-once")
		if _, err := shared.Client.SendManagedAgent(t.Context(), id, client.ManagedAgentInput{Message: "sleep 100"}); err != nil {
			t.Fatal(err)
		}
		p := beforeIn(t, losing("/send"))
		p.do(chromedp.Navigate(shared.URL + "/agents/" + id + "?tab=about"))
		p.click(button("Interrupt"))
		p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Interrupt")`)
		p.until("that the answer is lost", `document.querySelector("dialog")?.innerText.includes("the answer is lost")`)
		p.click(`[...document.querySelectorAll("dialog button")].find((b) => b.innerText === "Interrupt")`)
		p.until("that it is done", `!document.querySelector("dialog")`)
		p.sameKey(t) // else a turn that began meanwhile is interrupted as well
	})
}

// What was given up after its answer was lost is over: the same words, once they are written or sent anew, are another message.
func TestGivenUpIsSentAgain(t *testing.T) {
	const composer = `document.querySelector(".composer textarea")`
	lost := func(t *testing.T, thread *client.Thread) *page {
		t.Helper()
		p := beforeIn(t, losing("/send"))
		p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
		p.fill(composer, "echo twice")
		p.click(button("Send"))
		p.until("that the answer is lost", main+`.includes("the answer is lost")`)
		return p
	}
	t.Run("emptied", func(t *testing.T) {
		thread := shell(t, client.ThreadSpec{Objective: "echo one"})
		p := lost(t, thread)
		p.fill(composer, "")
		p.until("that it is empty", `!sessionStorage.getItem("draft:`+thread.ID+`")`)
		p.fill(composer, "echo twice")
		p.click(button("Send"))
		p.until("that it is sent", composer+`.value === ""`)
		if n := messages(t, thread.ID, "echo twice"); n != 2 {
			t.Errorf("what was written anew was sent %d times in all", n)
		}
	})
	t.Run("withdrawn", func(t *testing.T) {
		thread := shell(t, client.ThreadSpec{Objective: "echo one"})
		if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "sleep 100"}); err != nil {
			t.Fatal(err)
		}
		p := lost(t, thread)
		p.click(`[...document.querySelectorAll(".composer .queue li")].find((l) => l.innerText.includes("echo twice")).querySelector("button")`)
		p.until("that it is withdrawn", `!document.querySelector(".composer .queue")?.innerText.includes("echo twice")`)
		p.click(button("Send"))
		p.until("that it is sent", composer+`.value === ""`)
		queue, err := shared.Client.ListThreadQueue(t.Context(), thread.ID, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(queue.Inputs, func(i wire.ThreadQueueItem) bool { return i.Message == "echo twice" }) {
			t.Errorf("what was withdrawn is not sent anew: %+v", queue.Inputs)
		}
	})
	t.Run("remark", func(t *testing.T) {
		thread := shell(t, client.ThreadSpec{Objective: "echo one", Preparation: client.ThreadPreparation{Workspace: &client.WorkspaceSpec{Repo: repository(t)}}})
		p := beforeIn(t, remarked(thread.ID)+losing("/send"))
		p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID + "?tab=changes"))
		p.click(button("Send 1 remark"))
		p.until("that the answer is lost", main+`.includes("the answer is lost")`)
		p.click(button("take away"))
		p.until("that none is left", `!sessionStorage.getItem("remarks:`+thread.ID+`")`)
		p.do(chromedp.Reload()) // the same remark is there again
		p.click(button("Send 1 remark"))
		p.until("that it is sent", main+`.includes("The remark is sent.")`)
		var keys []string
		p.do(chromedp.Evaluate(`keysSent()`, &keys))
		if len(keys) != 2 || keys[0] == keys[1] {
			t.Errorf("the keys are %q", keys)
		}
	})
}

// messages counts the messages of a thread that have a text.
func messages(t *testing.T, thread, text string) (n int) {
	t.Helper()
	err := testbed.Until(t.Context(), waiting, "an empty queue", func(ctx context.Context) (bool, error) {
		now, err := shared.Client.GetThread(ctx, thread)
		return err == nil && now.QueuedInputs == 0 && now.Status != "running", err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := shared.Client.ListThreadEvents(t.Context(), thread, client.ThreadEventFilter{Types: []string{"thread_input"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range list.Events {
		var input struct{ InputID, Text string }
		if err := json.Unmarshal(e.Data, &input); err != nil {
			t.Fatal(err)
		}
		if input.Text == text {
			seen[input.InputID] = true
		}
	}
	return len(seen)
}

// threadsNamed counts the threads that have a name.
func threadsNamed(t *testing.T, name string) (n int) {
	t.Helper()
	list, err := shared.Client.ListThreads(t.Context(), client.ThreadFilter{Page: client.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Threads {
		if one.Name == name {
			n++
		}
	}
	return n
}
