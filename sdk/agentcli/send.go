package agentcli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
)

// Send implements runtime.Runtime.
func (r *Runtime) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	timeout, err := checkInput(&in)
	if err != nil {
		return runtime.SendResult{}, err
	}
	a, err := r.get(id)
	if err != nil {
		return runtime.SendResult{}, err
	}
	s := a.session()
	if s == nil {
		return runtime.SendResult{}, a.notRunning()
	}
	if in.Message != "" {
		return s.sendMessage(ctx, in, timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.once(ctx, &in, func() error { return s.sendNow(ctx, &in) }); err != nil {
		return runtime.SendResult{}, err
	}
	return runtime.SendResult{Sent: true}, nil
}

// sendNow types raw input, keys, or what interrupts a turn.
func (s *session) sendNow(ctx context.Context, in *runtime.Input) (err error) {
	if in.Interrupt {
		return s.interrupt(ctx)
	}
	steps := []Step{{Write: []byte(in.Raw)}}
	if len(in.Keys) > 0 {
		_, appCursor := s.display.modes()
		if steps, err = keySteps(in.Keys, appCursor); err != nil {
			return keysError(err)
		}
	}
	s.typist.touched()
	return s.typeJob(ctx, &typing{steps: steps, person: true})
}

// keySteps encodes keys. Escape is a step of its own, as it would be Alt of the key behind it.
func keySteps(keys []string, appCursor bool) ([]Step, error) {
	if _, err := vt.EncodeKeys(keys, appCursor); err != nil {
		return nil, err
	}
	var steps []Step
	apart := true
	for i := range keys {
		p, err := vt.EncodeKeys(keys[i:i+1], appCursor)
		if err != nil {
			return nil, err
		}
		escape := string(p) == escapeKey
		if apart || escape {
			steps = append(steps, Step{})
		}
		apart = escape
		last := &steps[len(steps)-1]
		last.Write = append(last.Write, p...)
	}
	return steps, nil
}

func keysError(err error) error {
	e := runtime.Errorf(runtime.CodeInvalidArgument, "%s", err.Error())
	e.Field = "keys"
	if unknown, ok := errors.AsType[*vt.KeyError](err); ok {
		e.Field = fmt.Sprintf("keys[%d]", unknown.Index)
		e.Message = strings.TrimPrefix(e.Message, e.Field+": ")
	}
	return e
}

// sendMessage queues a message and waits for its outcome.
func (s *session) sendMessage(ctx context.Context, in runtime.Input, timeout time.Duration) (runtime.SendResult, error) {
	m := newMessage(in, timeout)
	if !s.mail.post(func() { s.delivery.enqueue(m) }) {
		return runtime.SendResult{}, s.a.notRunning()
	}
	select {
	case <-m.done:
		return m.result, m.err
	case <-time.After(timeout):
	case <-ctx.Done():
	}
	// The loop knows how far it came. If it has ended, it has answered.
	s.mail.post(func() { s.delivery.abandon(m) })
	<-m.done
	return m.result, m.err
}

// interrupt stops the turn that runs, and returns when the terminal took the key. How the turn ends is reported with its end.
func (s *session) interrupt(ctx context.Context) error {
	steps, err := ask(ctx, s, s.planInterrupt)
	if err != nil {
		return err
	}
	return s.typeNow(ctx, steps)
}

// planInterrupt asks the driver how to stop the turn that runs.
func (s *session) planInterrupt() ([]Step, error) {
	switch {
	case s.over:
		return nil, s.gone()
	case s.fusion.turn == nil:
		e := runtime.Errorf(runtime.CodeNotRunning, "no turn of agent %q runs, so there is nothing to interrupt", s.a.id)
		e.Hint = "its status is " + string(s.agent.Status)
		return nil, e
	}
	s.book.note("interrupt")
	return s.stopTurn(), nil
}

// ask lets the session's loop decide what is to be typed.
func ask(ctx context.Context, s *session, decide func() ([]Step, error)) ([]Step, error) {
	type plan struct {
		steps []Step
		err   error
	}
	asked := make(chan plan, 1)
	if !s.mail.post(func() {
		steps, err := decide()
		asked <- plan{steps, err}
	}) {
		return nil, s.a.notRunning()
	}
	select {
	case p := <-asked:
		return p.steps, p.err
	case <-ctx.Done():
		return nil, errUnknown("the time was over")
	}
}

// typeNow types past the queue, and returns when the terminal took it.
func (s *session) typeNow(ctx context.Context, steps []Step) error {
	return s.typeJob(ctx, &typing{steps: steps})
}

// typeJob is typeNow for a job without done.
func (s *session) typeJob(ctx context.Context, job *typing) error {
	done := make(chan error, 1)
	job.done = func(err error, _ uint64) { done <- err }
	if !s.typist.put(job) {
		return s.a.notRunning()
	}
	select {
	case err := <-done:
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errNotTyped), errors.Is(err, ErrGone), s.ctx.Err() != nil:
			return s.a.notRunning()
		case runtime.ErrorCode(err) == runtime.CodeUnavailable:
			return errUnreachable(s.a.id)
		case errors.Is(err, context.DeadlineExceeded):
			return &runtime.Error{Code: runtime.CodeTimeout, Message: "the agent does not read what is typed"}
		default:
			s.logger.Warn("typing failed", "error", err)
			return runtime.Errorf(runtime.CodeInternal, "the terminal did not take it")
		}
	case <-ctx.Done():
		if s.typist.take(job) {
			return &runtime.Error{Code: runtime.CodeTimeout, Message: "the terminal was busy; nothing was typed", Retry: true}
		}
		return errUnknown("the time was over")
	}
}

// Answer implements runtime.Runtime.
func (r *Runtime) Answer(ctx context.Context, id string, answer runtime.Answer) error {
	a, err := r.get(id)
	if err != nil {
		return err
	}
	s := a.session()
	if s == nil {
		return a.notRunning()
	}
	steps, err := ask(ctx, s, func() ([]Step, error) { return s.answerPrompt(answer) })
	if err != nil || len(steps) == 0 {
		return err
	}
	return s.typeNow(ctx, steps)
}

// answerPrompt asks the driver how to answer the open prompt.
func (s *session) answerPrompt(answer runtime.Answer) ([]Step, error) {
	if s.over {
		return nil, s.gone()
	}
	p := s.agent.Prompt
	if p == nil && s.loginOpen() {
		return s.answerLogin(answer)
	}
	if p == nil {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "agent %q does not wait for an answer", s.a.id)
	}
	if answer.PromptID != "" && answer.PromptID != p.ID {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "agent %q waits for an answer to prompt %q, not to %q", s.a.id, p.ID, answer.PromptID)
	}
	if answer.Choice == "" && answer.Text == "" {
		e := runtime.Errorf(runtime.CodeInvalidArgument, "an answer has a choice or a text")
		e.Field = "choice"
		return nil, e
	}
	if err := checkChoice(p, answer.Choice); err != nil {
		return nil, err
	}
	s.dirty = true
	s.book.note("answer " + p.ID + " " + answer.Choice)
	return s.giveAnswer(p, answer)
}

// answerLogin types what a login has shown, such as its code. Nothing else of an answer fits a login.
func (s *session) answerLogin(answer runtime.Answer) ([]Step, error) {
	code := strings.TrimSpace(answer.Text)
	bad := func(field, format string, args ...any) ([]Step, error) {
		e := runtime.Errorf(runtime.CodeInvalidArgument, format, args...)
		e.Field = field
		return nil, e
	}
	switch {
	case s.agent.LoginURL == "": // what asks for the code is not on the screen yet
		return nil, errAuth("")
	case answer.PromptID != "" && answer.PromptID != runtime.PromptLogin:
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "agent %q waits for a login, not for an answer to prompt %q", s.a.id, answer.PromptID)
	case answer.Choice != "":
		return bad("choice", "a login has no choices: give what it shows as text")
	case code == "" || len(code) > maxCode || len(strings.Fields(code)) != 1:
		return bad("text", "what a login shows is one word of at most %d bytes", maxCode)
	}
	s.dirty = true
	s.book.note("answer " + runtime.PromptLogin)
	return codeSteps(code), nil
}

// codeSteps types what a login has shown.
func codeSteps(code string) []Step {
	return []Step{{Write: []byte(code), Wait: codeGap}, {Write: []byte("\r")}}
}

func checkChoice(p *runtime.Prompt, choice string) error {
	if choice == "" || p.Kind == runtime.PromptApproval && (choice == runtime.ChoiceAllow || choice == runtime.ChoiceDeny) {
		return nil
	}
	var known []string
	for _, o := range p.Options {
		if o.ID == choice {
			return nil
		}
		known = append(known, o.ID)
	}
	e := runtime.Errorf(runtime.CodeInvalidArgument, "the prompt has no choice %q", choice)
	e.Field = "choice"
	if p.Kind == runtime.PromptApproval {
		for _, always := range []string{runtime.ChoiceDeny, runtime.ChoiceAllow} {
			if !slices.Contains(known, always) {
				known = append([]string{always}, known...)
			}
		}
	}
	e.Hint = "it has " + quoteAll(known)
	return e
}
