package runtimes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// maxInput bounds one input, in bytes.
const maxInput = 1 << 20

// SendManagedAgent implements core.ManagedAgentService.
func (s *Service) SendManagedAgent(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
	if err := checkInput(in); err != nil {
		return core.ManagedAgentReply{}, err
	}
	r, rt, err := s.runtimeOf(id)
	if err != nil {
		return core.ManagedAgentReply{}, err
	}
	if r.Gone() {
		return core.ManagedAgentReply{}, gone(r)
	}
	timeout := cmp.Or(max(in.Timeout, 0), defaultTimeout)
	// The runtime keeps the time; ours is behind it so that its answer, which knows more, comes first.
	ctx, cancel := context.WithTimeout(ctx, timeout+stopAnswerReserve)
	defer cancel()
	if s.draining.Err() != nil {
		return core.ManagedAgentReply{}, core.Unavailable("shutting_down", "the service is shutting down")
	}
	defer context.AfterFunc(s.draining, cancel)()
	began := s.opts.Clock.Now()
	result, err := rt.Send(ctx, id, runtime.Input{
		Message: in.Message, Raw: in.Raw, Keys: in.Keys, Interrupt: in.Interrupt, ExpectResponse: in.ExpectResponse, Timeout: timeout, ID: in.Key,
	})
	if err != nil {
		if s.draining.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
			return core.ManagedAgentReply{}, drained(r, in)
		}
		var known *runtime.Error
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.As(err, &known) {
			return core.ManagedAgentReply{}, unanswered(in, timeout)
		}
		late := s.opts.Clock.Now().Sub(began) >= timeout
		return core.ManagedAgentReply{}, timedOut(err, s.failed(err, id), timeout, late)
	}
	reply := core.ManagedAgentReply{Sent: result.Sent}
	if result.Response != nil {
		reply.Response = result.Response
		s.awaitEnd(ctx, id, result.Response.Turn)
	}
	return reply, nil
}

// awaitEnd waits until the end of a turn can be read as an event of its agent, so that a caller who has the answer finds it. The
// answer and the event come apart from the runtime: an event that does not come in time holds up no answer.
func (s *Service) awaitEnd(ctx context.Context, id string, turn int) {
	due, stop := pause.After(s.opts.Clock, turnEndWait)
	defer stop()
	for {
		s.mu.RLock()
		known, ended, moved := s.agents[id] != nil, s.ended[id], s.moved
		s.mu.RUnlock()
		if !known || ended >= turn {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
			return
		case <-moved:
		}
	}
}

// drained is the error of a send that was cut off because the service ends. Whether the agent has the input by then
// is not known: a sender with a key sends it again without harm, and any other has to know before it is sent again. To
// interrupt twice does no more than once.
func drained(r *core.ManagedAgentRecord, in core.ManagedAgentInput) error {
	switch {
	case in.Interrupt:
		return core.Unavailable("shutting_down", "the service is shutting down")
	case keyed(in):
		return core.Unavailable("shutting_down",
			"the service is shutting down; the agent may have the input, and the same Idempotency-Key gives it once")
	}
	e := runtime.Errorf(runtime.CodeDeliveryUnknown, "the service is shutting down, and the agent may have the input")
	e.Hint = "look at the agent before sending it again; with an Idempotency-Key it can be sent again"
	return translate(e, r)
}

// keyed reports whether the sender of an input can send it again by its key.
func keyed(in core.ManagedAgentInput) bool { return in.Key != "" && !in.OwnKey }

// unanswered is the error of a send to which the runtime gave no answer at all, as one that is frozen.
func unanswered(in core.ManagedAgentInput, timeout time.Duration) error {
	e := core.Errorf(core.CodeTimeout, "the runtime did not answer in time")
	code := runtime.CodeTimeout
	switch {
	case in.Message != "" && keyed(in):
		e.Message += "; the message may have been taken, and the same Idempotency-Key finds its turn"
	case in.Message != "":
		code = runtime.CodeDeliveryUnknown
		e.Message += "; the message may have been taken: look at the agent before sending it again"
	}
	e.Details = map[string]any{"timeoutMs": timeout.Milliseconds(), "runtimeCode": string(code)}
	return e
}

// timedOut makes a TIMEOUT of the error of a send whose time was over, also when it is not known whether the
// agent took the message: that is left to details.runtimeCode.
func timedOut(err, translated error, timeout time.Duration, late bool) error {
	code := runtime.CodeTimeout
	if late && runtime.ErrorCode(err) == runtime.CodeDeliveryUnknown {
		code = runtime.CodeDeliveryUnknown
	} else if core.ErrorCode(translated) != core.CodeTimeout {
		return translated
	}
	e := *core.AsError(translated)
	details := map[string]any{"timeoutMs": timeout.Milliseconds(), "runtimeCode": string(code)}
	if hint, ok := e.Details["hint"]; ok {
		details["hint"] = hint
	}
	e.Code, e.Details = core.CodeTimeout, details
	return &e
}

// checkInput finds what is wrong with an input; key names are the runtime's to check.
func checkInput(in core.ManagedAgentInput) error {
	given := 0
	for _, there := range []bool{in.Message != "", in.Raw != "", len(in.Keys) > 0, in.Interrupt} {
		if there {
			given++
		}
	}
	switch {
	case given == 0:
		return core.Invalid("message", "is missing: give exactly one of message, raw, keys and interrupt")
	case given > 1:
		return core.Invalid("message", "give exactly one of message, raw, keys and interrupt")
	case in.ExpectResponse && in.Message == "":
		return core.Invalid("expectResponse", "goes with a message only")
	case len(in.Message) > maxInput || len(in.Raw) > maxInput:
		return core.Invalid("message", "is longer than %d bytes", maxInput)
	case len(in.Keys) > 1000:
		return core.Invalid("keys", "are more than 1000")
	case in.Timeout < 0 || in.Timeout > 24*time.Hour:
		return core.Invalid("timeout", "must be between 1 and %d ms", (24 * time.Hour).Milliseconds())
	}
	return nil
}

// AnswerManagedAgent implements core.ManagedAgentService.
func (s *Service) AnswerManagedAgent(ctx context.Context, id string, answer core.ManagedAgentAnswer) (*core.ManagedAgent, error) {
	if answer.Choice == "" && answer.Text == "" {
		return nil, core.Invalid("choice", "is missing: give the id of an option, or text")
	}
	r, rt, err := s.runtimeOf(id)
	if err != nil {
		return nil, err
	}
	if r.Gone() {
		return nil, gone(r)
	}
	choice, err := choiceOf(r, answer)
	if err != nil {
		return nil, err
	}
	err = rt.Answer(ctx, id, runtime.Answer{PromptID: answer.PromptID, Choice: choice, Text: answer.Text})
	if err != nil {
		return nil, s.failed(err, id)
	}
	var open runtime.Prompt
	_ = json.Unmarshal(r.Prompt, &open) // without an id where the record knows of none
	if open.ID == "" && r.StatusReason == runtime.ReasonLoginRequired {
		open.ID = runtime.PromptLogin
	}
	s.answeredBy(ctx, id, cmp.Or(answer.PromptID, open.ID), cmp.Or(choice, "text"))
	return s.refresh(ctx, id, rt)
}

// answeredBy notes who answered a prompt, where that is known. A failure to do so is no reason to say that it was not.
func (s *Service) answeredBy(ctx context.Context, id, promptID, choice string) {
	by := core.PrincipalFrom(ctx)
	if core.IsReserved(by.ID) {
		return
	}
	_, err := s.change(context.WithoutCancel(ctx), id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		var open runtime.Prompt
		_ = json.Unmarshal(r.Prompt, &open) // without an id where there is none
		if open.ID != "" && open.ID != promptID {
			return nil, false // the next one is there already, and has its own
		}
		r.Ruling = &core.PromptRuling{PromptID: promptID, Answer: choice, By: core.RulingByPerson, Person: by.ID}
		return nil, true
	})
	if err != nil {
		s.log.Warn("who answered a prompt was not stored", "agent", id, "principal", by.ID, "error", err)
	}
}

// choiceOf returns the id of the option that an answer means, which it names by id or by label. A prompt that we do not
// know, or know another one of, is the runtime's to judge.
func choiceOf(r *core.ManagedAgentRecord, answer core.ManagedAgentAnswer) (string, error) {
	var p runtime.Prompt
	if answer.Choice == "" || json.Unmarshal(r.Prompt, &p) != nil || len(p.Options) == 0 ||
		answer.PromptID != "" && answer.PromptID != p.ID {
		return answer.Choice, nil
	}
	if p.Kind == runtime.PromptApproval && (answer.Choice == runtime.ChoiceAllow || answer.Choice == runtime.ChoiceDeny) {
		return answer.Choice, nil
	}
	var byLabel []string
	names := make([]string, 0, len(p.Options))
	for _, o := range p.Options {
		if o.ID == answer.Choice {
			return o.ID, nil
		}
		if strings.EqualFold(strings.TrimSpace(o.Label), strings.TrimSpace(answer.Choice)) {
			byLabel = append(byLabel, o.ID)
		}
		names = append(names, fmt.Sprintf("%s (%s)", o.ID, o.Label))
	}
	switch len(byLabel) {
	case 1:
		return byLabel[0], nil
	case 0:
		return "", core.Invalid("choice", "%q is no option of the prompt; it has %s", answer.Choice, strings.Join(names, ", "))
	}
	return "", core.Invalid("choice", "%q is the label of several options: %s; give the id of one", answer.Choice, strings.Join(byLabel, ", "))
}

// failed translates the error of a call about an agent. One that its runtime does not reach is noted so, until the
// runtime says otherwise; it is not said to have stopped, since it runs as far as is known.
func (s *Service) failed(err error, id string) error {
	r, recordErr := s.record(id)
	if recordErr != nil {
		return translate(err, nil)
	}
	switch runtime.ErrorCode(err) {
	case runtime.CodeUnavailable:
		if s.reaches(r.Runtime) && !r.Gone() {
			s.setAway(id, true)
		}
	case runtime.CodeNotRunning:
		if s.view(r).Status == core.ManagedUnreachable {
			return core.Unavailable("agent_unreachable", "the agent cannot be reached now; as far as is known it runs")
		}
	}
	return translate(err, r)
}

// refresh stores how the agent is now, so that the caller sees what its call did.
func (s *Service) refresh(ctx context.Context, id string, rt runtime.Runtime) (*core.ManagedAgent, error) {
	a, err := rt.Inspect(ctx, id)
	if err != nil {
		return s.FindManagedAgent(ctx, id)
	}
	r, err := s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		take(r, &a, s.opts.Clock.Now())
		return nil, true
	})
	if err != nil {
		return nil, err
	}
	return s.view(r), nil
}

// gone is the error of calls that need a running agent.
func gone(r *core.ManagedAgentRecord) error {
	err := core.Conflict("managed agent", r.ID, string(r.Status), "the agent has stopped (%s)", r.StatusReason)
	err.Details["runtimeCode"] = string(runtime.CodeNotRunning)
	return err
}
