package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var sendChecks = []check[*suite]{
	{"send/invalid", "input that is empty, double or unknown is INVALID_ARGUMENT", false, withAgent(sendInvalid)},
	{"send/response", "a message with ExpectResponse returns the text of its own turn", false, withAgent(sendResponse)},
	{"send/once", "messages of many callers are delivered one at a time, each exactly once, in each caller's order", false, withAgent(sendOnce)},
	{"send/repeat", "a repeat with the same id returns the first result and delivers nothing", false, withAgent(sendRepeat)},
	{"send/raw-keys", "raw input and keys reach the terminal", false, withView(sendRawKeys)},
	{"send/interrupt", "an interrupt ends the turn that runs, which says so, and is NOT_RUNNING where none does", false, withAgent(sendInterrupt)},
	{"answer/no-prompt", "answering an agent that asks nothing is NO_PROMPT", false, withAgent(answerNoPrompt)},
	{"metrics/running", "metrics of a running agent count its messages", false, withAgent(metricsRunning)},
}

func sendInvalid(ctx context.Context, s *suite, id string) error {
	for name, in := range map[string]runtime.Input{
		"nothing":               {},
		"message and raw":       {Message: "echo x", Raw: "x"},
		"message and interrupt": {Message: "echo x", Interrupt: true},
		"an unknown key":        {Keys: []string{"NO_SUCH_KEY"}},
	} {
		_, err := s.rt().Send(ctx, id, in)
		if err := wantCode("Send of "+name, err, runtime.CodeInvalidArgument); err != nil {
			return err
		}
	}
	return nil
}

func sendResponse(ctx context.Context, s *suite, id string) error {
	for n := range 2 {
		text, err := s.ask(ctx, id, fmt.Sprintf("echo answer-$((40+%d))", n))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("answer-%d", 40+n); strings.TrimSpace(text) != want {
			return fmt.Errorf("the response is %q and should be %q", text, want)
		}
	}
	return nil
}

func sendOnce(ctx context.Context, s *suite, id string) error {
	const callers, each = 3, 4
	var wg sync.WaitGroup
	failed := make([]error, callers)
	for caller := range callers {
		wg.Go(func() {
			for n := range each {
				text, err := s.ask(ctx, id, onceLine(caller, n))
				if want := fmt.Sprintf("got-%d-%d", caller, n); err == nil && strings.TrimSpace(text) != want {
					err = fmt.Errorf("the response to %q is %q", onceLine(caller, n), text)
				}
				if err != nil {
					failed[caller] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	lines, err := s.log(ctx, id, runtime.LogOptions{}, runtime.StreamInput)
	if err != nil {
		return err
	}
	next := make([]int, callers)
	for _, line := range lines {
		var caller, n int
		if _, err := fmt.Sscanf(line, "echo got-%d-$((0+%d))", &caller, &n); err != nil || caller < 0 || caller >= callers {
			return fmt.Errorf("the log has an input that nobody sent: %q", line)
		}
		if n != next[caller] {
			return fmt.Errorf("message %d of caller %d was delivered when message %d was due", n, caller, next[caller])
		}
		next[caller]++
	}
	for caller, n := range next {
		if n != each {
			return fmt.Errorf("%d of %d messages of caller %d are in the log", n, each, caller)
		}
	}
	return nil
}

func onceLine(caller, n int) string { return fmt.Sprintf("echo got-%d-$((0+%d))", caller, n) }

func sendRepeat(ctx context.Context, s *suite, id string) error {
	in := runtime.Input{Message: "echo repeated", ExpectResponse: true, ID: "repeat-1"}
	first, err := s.rt().Send(ctx, id, in)
	if err != nil {
		return fmt.Errorf("Send: %w", err)
	}
	second, err := s.rt().Send(ctx, id, in)
	if err != nil {
		return fmt.Errorf("Send again: %w", err)
	}
	if first.Response == nil || second.Response == nil || *first.Response != *second.Response {
		return fmt.Errorf("the repeat returned %+v after %+v", second.Response, first.Response)
	}
	lines, err := s.log(ctx, id, runtime.LogOptions{}, runtime.StreamInput)
	if err != nil {
		return err
	}
	if len(lines) != 1 {
		return fmt.Errorf("the message was delivered %d times: %q", len(lines), lines)
	}
	return nil
}

func sendRawKeys(ctx context.Context, s *suite, id string, v *view) error {
	for _, in := range []runtime.Input{{Raw: "echo raw-$((40+1))\r"}, {Raw: "echo key-$((40+2))"}, {Keys: []string{"ENTER"}}} {
		result, err := s.rt().Send(ctx, id, in)
		if err != nil {
			return fmt.Errorf("Send(%+v): %w", in, err)
		}
		if !result.Sent {
			return fmt.Errorf("Send(%+v) says that nothing was sent", in)
		}
	}
	for _, want := range []string{"raw-41", "key-42"} {
		if err := v.until(ctx, want); err != nil {
			return err
		}
	}
	return nil
}

// answer holds what a Send returned.
type answer struct {
	result runtime.SendResult
	err    error
}

// interrupted interrupts a turn until it ends: a shell that is just about to start a command may lose the signal.
func (s *suite) interrupted(ctx context.Context, id string, answered <-chan answer) (answer, error) {
	for {
		result, err := s.rt().Send(ctx, id, runtime.Input{Interrupt: true})
		switch {
		case runtime.ErrorCode(err) == runtime.CodeNotRunning: // it has ended just now
		case err != nil:
			return answer{}, fmt.Errorf("Send of an interrupt: %w", err)
		case !result.Sent:
			return answer{}, errors.New("Send of an interrupt says that nothing was sent")
		}
		select {
		case got := <-answered:
			return got, nil
		case <-time.After(3 * time.Second):
		}
	}
}

func sendInterrupt(ctx context.Context, s *suite, id string) error {
	_, err := s.rt().Send(ctx, id, runtime.Input{Interrupt: true})
	if runtime.ErrorCode(err) == runtime.CodeUnimplemented {
		return skip("the runtime cannot interrupt")
	}
	if err := wantCode("Send of an interrupt to an idle agent", err, runtime.CodeNotRunning); err != nil {
		return err
	}
	answered := make(chan answer, 1)
	go func() {
		// It says something all the time: a type that goes by quiet is busy with it.
		result, err := s.rt().Send(ctx, id, runtime.Input{Message: "while :; do echo on; sleep 0.02; done", ExpectResponse: true})
		answered <- answer{result, err}
	}()
	if _, err := s.await(ctx, id, runtime.StatusBusy); err != nil {
		return err
	}
	got, err := s.interrupted(ctx, id, answered)
	if err != nil {
		return err
	}
	if got.err != nil {
		return fmt.Errorf("the turn that was interrupted: %w", got.err)
	}
	if got.result.Response == nil || !got.result.Response.Interrupted {
		return fmt.Errorf("the turn that was interrupted ended with %+v, which does not say so", got.result.Response)
	}
	next, err := s.rt().Send(ctx, id, runtime.Input{Message: "echo on-$((40+2))", ExpectResponse: true})
	if err != nil {
		return fmt.Errorf("the turn after it: %w", err)
	}
	if next.Response == nil || next.Response.Interrupted || strings.TrimSpace(next.Response.Text) != "on-42" {
		return fmt.Errorf("the turn after it ended with %+v", next.Response)
	}
	return nil
}

func answerNoPrompt(ctx context.Context, s *suite, id string) error {
	return wantCode("Answer", s.rt().Answer(ctx, id, runtime.Answer{Choice: runtime.ChoiceAllow}), runtime.CodeNoPrompt)
}

func metricsRunning(ctx context.Context, s *suite, id string) error {
	if _, err := s.ask(ctx, id, "echo counted"); err != nil {
		return err
	}
	metrics, err := s.rt().Metrics(ctx, id)
	if runtime.ErrorCode(err) == runtime.CodeUnimplemented {
		return skip("the runtime does not measure agents")
	}
	if err != nil {
		return fmt.Errorf("Metrics: %w", err)
	}
	if metrics.MessagesSent != 1 || metrics.UptimeSeconds <= 0 || metrics.UptimeSeconds > time.Hour.Seconds() || metrics.MemoryBytes < 0 || metrics.CPUPercent < 0 {
		return fmt.Errorf("after one message the metrics are %+v", metrics)
	}
	return nil
}
