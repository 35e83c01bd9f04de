package browser_test

import (
	"context"
	"testing"

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
