package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/wardroom/wardroom/sdk/client"
)

// asking makes a thread, an agent and the inbox show the variable asked as what waits for an answer, and keeps the answers that a page
// gives in given: of each the prompt and the words.
const asking = `{ const real = window.fetch; window.given = []; window.asked = undefined;
	window.question = (n, kind) => ({id: "p" + n, kind: kind ?? "question", text: "This is number " + n + ".", options: kind ? [{id: "allow", label: "Allow"}, {id: "deny", label: "Deny"}] : []});
	const json = (v) => new Response(JSON.stringify(v), {headers: {"Content-Type": "application/json"}});
	window.fetch = async (address, o) => {
		const path = new URL(address, location.href).pathname;
		if (o?.method === "POST" && path.endsWith("/answer")) { const b = JSON.parse(o.body); given.push([b.promptId, b.choice ?? b.text].join(" ")); return json({}); }
		if (path === "/api/inbox") {
			const items = asked ? [{source: "managed_agent", id: "magent_01ARZ3NDEKTSV4RRFFQ69G5FAV", name: "writer", since: new Date().toISOString(), ...asked, promptId: asked.id, id: "magent_01ARZ3NDEKTSV4RRFFQ69G5FAV"}] : [];
			return json({items, total: items.length, limit: 100, offset: 0, hasMore: false});
		}
		const answer = await real(address, o);
		if (o?.method !== "GET" || !/^[/]api[/]managed-(threads[/]thread|agents[/]magent)_[^/]+$/.test(path)) return answer;
		const body = await answer.json();
		return json(path.includes("threads") ? {...body, status: asked ? "blocked" : "running", prompt: asked} : {...body, statusReason: asked ? "blocked" : undefined, prompt: asked});
	}; }`

// placesOfAnswers are the screens on which questions come one after the other, and what has each look again.
func placesOfAnswers(t *testing.T, run func(t *testing.T, p *page, again func())) {
	t.Run("thread", func(t *testing.T) {
		thread := shell(t, client.ThreadSpec{Objective: "echo one"})
		p := beforeIn(t, asking)
		p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
		p.until("the conversation, live", `document.querySelector(".talk-box .agent") && `+live)
		run(t, p, func() {
			if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "true"}); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("agent", func(t *testing.T) {
		id := spawnShell(t, "asks-one-after-the-other")
		p := beforeIn(t, asking)
		p.do(chromedp.Navigate(shared.URL + "/agents/" + id + "?tab=about"))
		p.until("the agent, live", `document.querySelector("main .facts") && `+live)
		run(t, p, func() {
			untilReady(t, id)
			if _, err := shared.Client.SendManagedAgent(t.Context(), id, client.ManagedAgentInput{Message: "true"}); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("inbox", func(t *testing.T) {
		putUrgency(t)
		p := beforeIn(t, asking)
		p.do(chromedp.Navigate(shared.URL + "/inbox"))
		p.until("the inbox, live", main+`.includes("Nothing waits for you") && `+live)
		run(t, p, func() {
			if _, err := shared.Client.CancelExecution(t.Context(), begun(t), "for the test"); err != nil {
				t.Fatal(err)
			}
		})
	})
}

const (
	answerText  = `document.querySelector(".answerbox")?.innerText`
	answerField = `document.querySelector(".answerbox textarea")`
	isAsked     = `document.querySelector(".answerbox .asked")?.innerText.includes("number %d")`
	waitsNot    = `document.querySelector("main")?.innerText.includes("It waits for no answer any more")`
)

// goOn goes on from what waits no more. The inbox has a next one.
func (p *page) goOn() {
	p.t.Helper()
	p.click(button("Go on") + " ?? " + button("Next"))
}

func (p *page) given() (answers string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(`given.join()`, &answers))
	return answers
}

// What is typed as an answer is for the question that it was typed for: one that takes its place begins empty, is given nothing of
// it, and takes the focus only from who goes on to it.
func TestAnswerIsForItsQuestion(t *testing.T) {
	placesOfAnswers(t, func(t *testing.T, p *page, again func()) {
		p.do(chromedp.Evaluate(`asked = question(1); 0`, nil))
		again()
		p.until("the first question", fmt.Sprintf(isAsked, 1))
		p.click(answerField)
		p.do(chromedp.KeyEvent("for the first"), chromedp.Evaluate(`asked = question(2); 0`, nil))
		again()
		p.until("that the first waits no more, or the second", waitsNot+` || !`+fmt.Sprintf(isAsked, 1))
		p.do(chromedp.KeyEvent(" alone"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		if given := p.given(); given != "" {
			t.Fatalf("what was typed for the first question was given as an answer to another: %s", given)
		}
		if !p.holds(answerField + `?.value === "for the first alone" && document.activeElement === ` + answerField) {
			t.Fatalf("what was typed for the first question is gone, or the focus is\n%s", p.text())
		}
		p.checkAxe(t, "an answer to what waits no more")
		p.shoot("gone")
		p.goOn()
		p.until("the second question, with an empty field", fmt.Sprintf(isAsked, 2)+` && `+answerField+`.value === ""`)
		if !p.holds(`document.activeElement !== document.body`) {
			t.Error("the focus is lost")
		}
		p.until("that it takes an answer", `document.querySelector(".answerbox [aria-disabled=false]")`)
		p.click(answerField)
		p.do(chromedp.KeyEvent("second"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
		p.until("the answer", `given.length > 0`)
		if given := p.given(); given != "p2 second" {
			t.Errorf("answered: %s", given)
		}
	})
}

// So it is where nothing takes the place of the question at once, and what was typed outlives a look at another screen.
func TestAnswerKeptUntilGoneOnFrom(t *testing.T) {
	placesOfAnswers(t, func(t *testing.T, p *page, again func()) {
		p.do(chromedp.Evaluate(`asked = question(1); 0`, nil))
		again()
		p.until("the first question", fmt.Sprintf(isAsked, 1))
		p.click(answerField)
		p.do(chromedp.KeyEvent("for the first"))
		var at string
		p.do(chromedp.Evaluate(`location.pathname + location.search`, &at))
		p.click(css(`nav a[href$="/patterns"]`))
		p.until("the patterns", `document.querySelector("h1")?.innerText === "Patterns"`)
		p.to(at)
		p.until("what was typed, again", answerField+`?.value === "for the first"`)
		p.do(chromedp.Evaluate(`asked = undefined; 0`, nil))
		again()
		p.until("that it waits no more, or nothing to answer", waitsNot+` || !`+answerField)
		if !p.holds(answerField + `?.value === "for the first"`) {
			t.Fatalf("what was typed is gone\n%s", p.text())
		}
		p.goOn()
		p.until("that nothing is left of it", `!document.querySelector(".answerbox")`)
		if p.holds(`document.activeElement === document.body`) {
			t.Error("the focus is lost")
		}
	})
}

// Of a question that another person answered the inbox shows who and what in one notice, with one way on, whatever was typed for it.
func TestOneNoticeOfAnAnswerElsewhere(t *testing.T) {
	e, err := shared.Client.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "enterprise-review", Input: []byte(`{"task": "a command that counts words"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = shared.Client.CancelExecution(context.WithoutCancel(t.Context()), e.ExecutionID, "over")
	})
	p := open(t, "/inbox?execution="+e.ExecutionID)
	p.click(answerField)
	p.do(chromedp.KeyEvent("mine"))
	list, err := shared.Client.ListQuestions(t.Context(), client.QuestionFilter{Status: "open", ExecutionID: e.ExecutionID})
	if err != nil || len(list.Questions) != 1 {
		t.Fatalf("open: %+v, %v", list, err)
	}
	q := list.Questions[0]
	if _, err := shared.Client.AnswerQuestion(t.Context(), q.ExecutionID, q.ID, []byte(`"from elsewhere"`)); err != nil {
		t.Fatal(err)
	}
	p.until("what was answered", `document.querySelector(".detail .notice.good")?.innerText.includes("from elsewhere")`)
	if n := p.count(`document.querySelectorAll(".detail .notice").length`); n != 1 {
		t.Errorf("%d notices\n%s", n, p.text())
	}
	if !p.holds(`/by .+/.test(document.querySelector(".detail .notice").innerText) && document.querySelector(".detail .notice").innerText.includes("What you typed stays") && ` + answerField + `?.value === "mine"`) {
		t.Errorf("who answered is not told, or what was typed is gone\n%s", p.text())
	}
	p.checkAxe(t, "a question that another person answered")
	p.shoot("answered")
	p.goOn()
	p.until("that nothing is left of it", `!document.querySelector(".answerbox") && !Object.values(sessionStorage).includes("mine")`)
}

// Enter on an option that was chosen by its digit answers the question that it was chosen of, however long after; one that is held
// down answers that alone.
func TestChosenOptionIsOfItsQuestion(t *testing.T) {
	thread := shell(t, client.ThreadSpec{Objective: "echo one"})
	p := beforeIn(t, asking)
	p.do(chromedp.Navigate(shared.URL + "/threads/" + thread.ID))
	p.until("the conversation, live", `document.querySelector(".talk-box .agent") && `+live)
	asks := func(n int) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`asked = question(%d, "approval"); 0`, n), nil))
		if _, err := shared.Client.SendThread(t.Context(), thread.ID, client.ThreadInput{Message: "true"}); err != nil {
			t.Fatal(err)
		}
	}
	takes := `document.querySelector(".answerbox [data-option=allow]:not(:disabled)")?.ariaDisabled === "false"`
	asks(1)
	p.until("the first question", fmt.Sprintf(isAsked, 1)+` && `+takes)
	p.do(chromedp.KeyEvent("1"))
	p.until("its first option, chosen", `document.activeElement?.dataset.option === "allow"`)
	asks(2)
	p.until("that the first waits no more, or that the second takes an answer", waitsNot+` || `+fmt.Sprintf(isAsked, 2)+` && `+takes)
	p.do(chromedp.KeyEvent(kb.Enter))
	if given := p.given(); given != "" {
		t.Fatalf("an option of the first question answered another: %s", given)
	}
	p.click(button("Go on"))
	p.until("the second question", fmt.Sprintf(isAsked, 2)+` && `+takes)
	// A key that is held down: it comes again and again, and the next question takes the place of the one that it answered.
	p.do(chromedp.KeyEvent("1"), chromedp.Evaluate(`asked = question(3, "approval"); document.activeElement.dataset.option`, nil), chromedp.KeyEvent(kb.Enter))
	p.until("an answer, and the next question", `given.length > 0 && `+fmt.Sprintf(isAsked, 3)+` && `+takes+` && document.activeElement?.dataset.option === "allow"`)
	p.do(repeated(kb.Enter))
	if given := p.given(); given != "p2 allow" {
		t.Errorf("a key that is held down answered: %s", given)
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("the answer to a key that is pressed anew", `given.join() === "p2 allow,p3 allow"`)
}

// What is typed for a login is given to the login alone, and not to what waits when it comes: it is a secret.
func TestCodeIsForItsLogin(t *testing.T) {
	id := spawnShell(t, "wants-a-login")
	p := beforeIn(t, asking+`{ const asked = window.fetch; window.fetch = async (address, o) => {
		const answer = await asked(address, o);
		if (o?.method !== "GET" || !/^[/]api[/]managed-agents[/]magent_[^/]+$/.test(new URL(address, location.href).pathname)) return answer;
		const body = await answer.json();
		return new Response(JSON.stringify(body.prompt ? body : {...body, statusReason: "login_required", loginUrl: "https://login.example.com/"}), {headers: {"Content-Type": "application/json"}});
	}; }`)
	p.do(chromedp.Navigate(shared.URL + "/agents/" + id + "?tab=about"))
	p.until("the login", `document.querySelector(".answerbox")?.innerText.includes("Code")`)
	p.click(answerField)
	p.do(chromedp.KeyEvent("1234"))
	if p.holds(`Object.values(sessionStorage).includes("1234")`) {
		t.Error("a code is kept in the browser")
	}
	p.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2)))
	p.until("the answer", `given.length > 0`)
	if given := p.given(); given != "login 1234" {
		t.Errorf("the answer %q names no login", given)
	}
	// The code was wrong, and while another one is typed the login is over and a question comes.
	p.until("an empty field", answerField+`?.value === "" && document.querySelector(".answerbox form button[aria-disabled=false]")`)
	p.click(answerField)
	p.do(chromedp.KeyEvent("56"), chromedp.Evaluate(`asked = question(1); 0`, nil))
	if _, err := shared.Client.SendManagedAgent(t.Context(), id, client.ManagedAgentInput{Message: "true"}); err != nil {
		t.Fatal(err)
	}
	p.until("that the login waits no more, or the question", waitsNot+` || `+fmt.Sprintf(isAsked, 1))
	if !p.holds(waitsNot + ` && ` + answerField + `?.value === "56"`) {
		t.Errorf("the field in which a code is typed is of a question now\n%s", p.text())
	}
}

// repeated is a key as it comes again while it is held down.
func repeated(key string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for _, e := range kb.Encode(rune(key[0])) {
			e.AutoRepeat = true
			if err := e.Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
