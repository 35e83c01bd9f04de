package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
)

// people answer what executions ask them, over kills, until they are stopped. They outlast the load, whose
// executions wait for them. begin and finish are called once, in this order.
type people struct {
	caller *caller
	stop   context.CancelFunc
	wg     sync.WaitGroup

	// Of the goroutine of run; read after finish.
	answered map[string]string // answers that were acknowledged, by question
	refused  int               // second answers
	problems []error
}

// question is one as the API returns it.
type question struct {
	ID          string          `json:"id"`
	ExecutionID string          `json:"executionId"`
	Status      string          `json:"status"`
	Content     json.RawMessage `json:"content"`
	Answer      json.RawMessage `json:"answer"`
}

func summon(ctx context.Context, c *caller) *people {
	ctx, stop := context.WithCancel(ctx)
	p := &people{caller: c, stop: stop, answered: map[string]string{}}
	p.wg.Go(func() { p.run(ctx) })
	return p
}

// finish ends them.
func (p *people) finish() {
	p.stop()
	p.wg.Wait()
}

func (p *people) run(ctx context.Context) {
	for {
		if err := p.look(ctx); err != nil {
			if ctx.Err() == nil {
				p.problems = append(p.problems, err)
			}
			return
		}
		if !pause(ctx, 25*time.Millisecond) {
			return
		}
	}
}

// look answers all questions that are open.
func (p *people) look(ctx context.Context) error {
	var page struct {
		Questions []question `json:"questions"`
	}
	if _, _, err := p.caller.get(ctx, "/api/questions?status=open&limit=100", &page); err != nil {
		return err
	}
	for _, q := range page.Questions {
		var text string
		if err := json.Unmarshal(q.Content, &text); err != nil {
			return fmt.Errorf("question %s asks %.200s: %w", q.ID, q.Content, err)
		}
		if err := p.answer(ctx, q, spoken(text)); err != nil {
			return err
		}
	}
	return nil
}

// answer answers a question, and every other time once more in another way, which must be refused.
func (p *people) answer(ctx context.Context, q question, text string) error {
	status, err := p.send(ctx, q, text)
	if err != nil || status != http.StatusOK {
		return err
	}
	p.answered[q.ID] = text
	if len(p.answered)%2 == 0 {
		return nil
	}
	status, err = p.send(ctx, q, "another answer")
	switch {
	case err != nil:
		return err
	case status == http.StatusOK:
		return fmt.Errorf("twice: question %s took a second answer", q.ID)
	case status == http.StatusConflict:
		p.refused++
	}
	return nil
}

// send sends an answer. Status 0 means that the core died over it: the question is open still, or answered.
func (p *people) send(ctx context.Context, q question, text string) (int, error) {
	path := "/api/executions/" + q.ExecutionID + "/questions/" + q.ID + "/answer"
	r, err := p.caller.call(ctx, http.MethodPost, path, "", fmt.Appendf(nil, `{"answer":%s}`, quote(text)))
	switch {
	case errors.Is(err, errLost):
		return 0, nil
	case err != nil:
		return 0, err
	case r.status != http.StatusOK && r.status != http.StatusConflict:
		return 0, &unexpectedError{"POST " + path, r}
	}
	return r.status, nil
}

// prove reads every question whose answer was acknowledged: it must have that answer.
func (p *people) prove(ctx context.Context) []error {
	problems := p.problems
	for id, text := range p.answered {
		var q question
		_, found, err := p.caller.get(ctx, "/api/questions/"+id, &q)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !found:
			problems = append(problems, fmt.Errorf("lost: question %s was answered and is not in the store", id))
		case q.Status != "answered" || proof.Canonical(q.Answer) != quote(text):
			problems = append(problems, fmt.Errorf("changed: question %s was answered %q, and reads as %s with %.200s", id, text, q.Status, q.Answer))
		}
	}
	return problems
}
