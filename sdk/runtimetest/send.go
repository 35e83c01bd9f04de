package runtimetest

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const defaultTimeout = 120 * time.Second

// keys are the names that Send knows, in what a terminal sends for them.
var keys = map[string]string{
	"ENTER": "\r", "TAB": "\t", "ESC": "\x1b", "BACKSPACE": "\x7f", "SPACE": " ", "CTRL_C": "\x03", "CTRL_D": "\x04", "CTRL_U": "\x15",
}

func (a *agent) send(ctx, alive context.Context, in runtime.Input) (runtime.SendResult, error) {
	given := 0
	for _, has := range []bool{in.Message != "", in.Raw != "", len(in.Keys) > 0, in.Interrupt} {
		if has {
			given++
		}
	}
	switch {
	case given != 1:
	case in.Message != "":
		return a.message(ctx, alive, in)
	case in.Interrupt:
		return runtime.SendResult{Sent: true}, a.interrupt()
	case in.Raw != "":
		return runtime.SendResult{Sent: true}, a.typed([]byte(in.Raw))
	default:
		var bytes []byte
		for _, name := range in.Keys {
			key, ok := keys[strings.ToUpper(name)]
			if !ok {
				return runtime.SendResult{}, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "keys", Message: "there is no key " + name}
			}
			bytes = append(bytes, key...)
		}
		return runtime.SendResult{Sent: true}, a.typed(bytes)
	}
	return runtime.SendResult{}, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "message", Message: "give exactly one of message, raw, keys and interrupt"}
}

func (a *agent) message(ctx, alive context.Context, in runtime.Input) (runtime.SendResult, error) {
	timeout := in.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	j, err := a.enqueue(in)
	if err != nil {
		return runtime.SendResult{}, err
	}
	awaited := j.taken
	if in.ExpectResponse {
		awaited = j.done
	}
	select {
	case <-awaited:
	case <-j.done:
	case <-ctx.Done():
		return runtime.SendResult{}, a.leave(j, ended(ctx, alive))
	case <-alive.Done():
		return runtime.SendResult{}, a.leave(j, ended(ctx, alive))
	}
	select {
	case <-j.done:
		if j.err != nil {
			return runtime.SendResult{}, j.err
		}
	default:
	}
	result := runtime.SendResult{Sent: true}
	if in.ExpectResponse {
		result.Response = &runtime.Response{
			Text: j.text, Turn: j.turn, DurationMs: j.took.Milliseconds(), TurnOutcome: runtime.TurnOutcome{Interrupted: j.broken},
		}
	}
	return result, nil
}

// enqueue gives a line to the loop, or finds it by the id of an earlier call.
func (a *agent) enqueue(in runtime.Input) (*job, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if earlier := a.seen[in.ID]; in.ID != "" && earlier != nil && !earlier.left {
		return earlier, nil
	}
	switch a.state.Status {
	case runtime.StatusStopped:
		return nil, notRunning(a.spec.ID)
	case runtime.StatusBlocked:
		return nil, runtime.Errorf(runtime.CodeBlocked, "agent %q waits for an answer", a.spec.ID)
	default:
	}
	j := &job{line: in.Message, taken: make(chan struct{}), done: make(chan struct{})}
	select {
	case a.life.jobs <- j:
	default:
		return nil, runtime.Errorf(runtime.CodeResourceLimit, "too many messages wait for agent %q", a.spec.ID)
	}
	if in.ID != "" {
		a.seen[in.ID] = j
	}
	return j, nil
}

// leave gives up waiting. A line that did not begin is taken back.
func (a *agent) leave(j *job, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !j.begun {
		j.left = true
		return err
	}
	if runtime.ErrorCode(err) == runtime.CodeTimeout {
		return err
	}
	return runtime.Errorf(runtime.CodeDeliveryUnknown, "the agent had taken the message when the call ended")
}

// interrupt ends the line that runs.
func (a *agent) interrupt() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Status == runtime.StatusStopped {
		return notRunning(a.spec.ID)
	}
	if a.cancel == nil {
		return runtime.Errorf(runtime.CodeNotRunning, "agent %q runs nothing", a.spec.ID)
	}
	a.cancel()
	return nil
}

// typed is keyboard input: each line that is entered runs, in its turn.
func (a *agent) typed(p []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Status == runtime.StatusStopped {
		return notRunning(a.spec.ID)
	}
	for _, c := range p {
		switch c {
		case '\r', '\n':
			line := string(bytes.TrimSpace(a.typing))
			a.typing = nil
			if line == "" {
				continue
			}
			select {
			case a.life.jobs <- &job{line: line, taken: make(chan struct{}), done: make(chan struct{})}:
			default:
				return runtime.Errorf(runtime.CodeResourceLimit, "too many lines wait for agent %q", a.spec.ID)
			}
		case 0x7f:
			if n := len(a.typing); n > 0 {
				a.typing = a.typing[:n-1]
			}
		case 0x15:
			a.typing = nil
		default:
			if c >= ' ' {
				a.typing = append(a.typing, c)
			}
		}
	}
	return nil
}

func (a *agent) answered(ctx context.Context, answer runtime.Answer) error {
	a.mu.Lock()
	prompt, l, stopped := a.state.Prompt, a.life, a.state.Status == runtime.StatusStopped
	a.mu.Unlock()
	switch {
	case stopped:
		return notRunning(a.spec.ID)
	case prompt == nil || answer.PromptID != "" && answer.PromptID != prompt.ID:
		return runtime.Errorf(runtime.CodeNoPrompt, "agent %q does not wait for this answer", a.spec.ID)
	}
	given := answer.Text
	if answer.Choice != "" {
		given = ""
		for _, option := range prompt.Options {
			if option.ID == answer.Choice {
				given = option.ID
			}
		}
		if given == "" {
			return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "choice", Message: "the prompt does not have this option"}
		}
	}
	select {
	case l.answer <- given:
		return nil
	case <-l.ctx.Done():
		return notRunning(a.spec.ID)
	case <-ctx.Done():
		return ended(ctx, context.Background())
	}
}
