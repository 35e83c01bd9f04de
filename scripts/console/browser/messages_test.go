package browser_test

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// What a role asks people, and what they answer, stands among the messages once, and counts as one.
func TestQuestionIsSaidOnce(t *testing.T) {
	id := asks(t)
	var question string
	err := testbed.Until(t.Context(), waiting, "the question", func(ctx context.Context) (bool, error) {
		list, err := shared.Client.ListQuestions(ctx, client.QuestionFilter{ExecutionID: id})
		if err == nil && len(list.Questions) == 1 {
			question = list.Questions[0].ID
		}
		return question != "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	const asked = `[...document.querySelectorAll("main .talk li")].filter((l) => l.innerText.includes("May this be released")).length`
	p := open(t, "/executions/"+id+"?tab=messages")
	p.until("the question", asked+` > 0`)
	if n := p.count(asked); n != 1 {
		t.Errorf("it is there %d times\n%s", n, p.text())
	}
	p.until("as many messages as the tab counts", `document.querySelector(".tabs [aria-current] .count")?.innerText === String([...document.querySelectorAll("main .talk li")].filter((l) => l.querySelector(".badge").innerText === "question").length)`)
	if _, err := shared.Client.AnswerQuestion(t.Context(), id, question, []byte(`"yes, they are short"`)); err != nil {
		t.Fatal(err)
	}
	const answered = `[...document.querySelectorAll("main .talk li")].filter((l) => l.innerText.includes("yes, they are short")).length`
	p.until("the end", `document.querySelector(".head .state")?.innerText.includes("completed") && `+answered+` > 0`)
	if n := p.count(answered); n != 1 {
		t.Errorf("the answer is there %d times\n%s", n, p.text())
	}
}

// So does what is no short text, and what was to be asked of a role that is not there.
func TestQuestionOfAnyContentIsSaidOnce(t *testing.T) {
	id := asks(t)
	for name, change := range map[string]string{
		"Fields": `{content: {text: "Is it the one?", risk: "low"}}`,
		"Long":   `{content: "Is it the one? ".padEnd(6000, "long ")}`,
		"Wish":   `{content: "Is it the one?", wish: "nurse"}`,
	} {
		t.Run(name, func(t *testing.T) {
			// The question has the words of the content, at most 4,000 bytes of them.
			p := beforeIn(t, changing("/api/executions/"+id+"/events", `(body) => {
				const sent = `+change+`, words = (sent.content.text ?? sent.content).slice(0, 4000);
				return {...body, events: body.events.map((e) => e.type === "message.sent" ? {...e, data: {...e.data, ...sent}} :
					e.type === "question.asked" ? {...e, data: {...e.data, question: {...e.data.question, content: sent.content, text: words}}} : e)};
			}`))
			p.do(chromedp.Navigate(shared.URL + "/executions/" + id + "?tab=messages"))
			const asked = `[...document.querySelectorAll("main .talk li")].filter((l) => l.innerText.includes("Is it the one?"))`
			p.until("the question", asked+`.length > 0 && document.querySelector(".tabs [aria-current] .count")`)
			if n := p.count(asked + `.length`); n != 1 {
				t.Errorf("it is there %d times\n%.400s", n, p.text())
			}
			if !p.holds(asked + `[0].querySelector(".line").innerText.includes("to people")`) {
				t.Errorf("it is not shown that people are asked\n%.400s", p.text())
			}
		})
	}
}

// So does one that roles were asked before it came to people.
func TestEscalatedQuestionIsSaidOnce(t *testing.T) {
	id := asks(t)
	p := beforeIn(t, changing("/api/executions/"+id+"/events", `(body) => ({...body, events: body.events.flatMap((e) => e.type === "message.sent" ? [{...e, data: {...e.data, to: "owner"}}] :
		e.type === "question.asked" ? [{...e, sequence: e.sequence - 0.5, type: "message.escalated", data: {messageId: e.data.question.messageId, depth: 1, reason: "owner did not answer"}}, e] : [e])})`)+
		changing("/api/executions/"+id+"/timeline", `(body) => ({...body, entries: body.entries.flatMap((e) => e.kind === "message" ? [{...e, to: "owner", startedAt: new Date(Date.parse(e.startedAt) - 1000).toISOString()}] :
		e.kind === "question" ? [{kind: "escalation", id: "msg_of_the_test", to: "user", step: e.step, role: e.role, attempt: 1, status: "open", startedAt: e.startedAt, sequence: e.sequence}, e] : [e])})`))
	p.do(chromedp.Navigate(shared.URL + "/executions/" + id + "?tab=messages"))
	const said = `[...document.querySelectorAll("main .talk li")]`
	p.until("the escalation", said+`.some((l) => l.innerText.includes("owner did not answer"))`)
	if n := p.count(said + `.filter((l) => l.innerText.includes("May this be released")).length`); n != 1 {
		t.Errorf("the question is there %d times\n%s", n, p.text())
	}
	p.until("as many messages as the tab counts", `document.querySelector(".tabs [aria-current] .count")?.innerText === String(`+said+`.filter((l) => l.querySelector(".badge").innerText === "question").length)`)
}

// What comes to people is told in the same words everywhere, and an escalation that came to none is not shown as one that people have.
func TestEscalationIsToldAsItWas(t *testing.T) {
	id := asks(t)
	for name, one := range map[string]struct{ to, title string }{
		"People": {`to: "user"`, "escalated to people"},
		"None":   {`to: undefined`, "escalated: no role is left to ask"},
	} {
		t.Run(name, func(t *testing.T) {
			p := beforeIn(t, changing("/api/executions/"+id+"/events", `(body) => ({...body, events: body.events.flatMap((e) => e.type === "question.asked" ?
				[{...e, type: "message.escalated", data: {messageId: e.data.question.messageId, depth: 1, reason: "owner did not answer"}}, ...("`+name+`" === "People" ? [e] : [])] : [e])})`)+
				changing("/api/executions/"+id+"/timeline", `(body) => ({...body, entries: body.entries.map((e) => e.kind === "question" ? {...e, kind: "escalation", id: "msg_of_the_test", `+one.to+`, attempt: 1} : e)})`))
			p.do(chromedp.Navigate(shared.URL + "/executions/" + id))
			const rows = `[...document.querySelectorAll("[role=row]")].map((r) => r.innerText).join("|")`
			p.until("the escalation", `document.querySelector("[data-key^='escalation:']")`)
			if !p.holds(rows+`.includes("`+one.title+`")`) || !p.holds(rows+`.includes("architect → people")`) {
				t.Errorf("the timeline does not say %q\n%s", one.title, p.text())
			}
			p.to("/executions/" + id + "?tab=messages")
			const escalated = `[...document.querySelectorAll("main .talk li")].find((l) => l.innerText.includes("owner did not answer"))`
			p.until("the escalation among the messages", escalated)
			if p.holds(escalated+`.innerText.includes("to people")`) != (name == "People") {
				t.Errorf("the messages have it wrong\n%s", p.text())
			}
		})
	}
}
