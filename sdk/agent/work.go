package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"
	"unicode/utf8"
)

// begin runs a task on a goroutine of its own, which goes on with the tasks that wait for its slot.
func (a *Agent) begin(work context.Context, t *Task) {
	a.handlers.Go(func() {
		for t != nil {
			ctx, cancel := t.entry.clock.begin(work)
			a.ledger.started(t, cancel)
			ans := a.handle(ctx, t)
			cancel(nil)
			t = a.ledger.finish(t, ans, false)
		}
	})
}

// runInline runs a task, and those that wait for its slot, on the reading goroutine.
func (a *Agent) runInline(work context.Context, t *Task) {
	for t != nil {
		t = a.ledger.finish(t, a.handle(work, t), true)
	}
}

// handle calls the handler and makes an answer of what it returns.
func (a *Agent) handle(ctx context.Context, t *Task) answer {
	ans := answer{taskID: t.TaskID, executionID: t.ExecutionID}
	began := time.Now()
	value, err := a.call(ctx, t)
	ans.duration = time.Since(began)
	if err == nil {
		ans.result, err = encodeResult(value)
	}
	if err != nil {
		ans.result, ans.err = nil, asTaskError(err)
	}
	return *a.maxFrame.cut(&ans)
}

// call calls the handler. A panic becomes an error: it would be the same on another attempt.
func (a *Agent) call(ctx context.Context, t *Task) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.opts.Logger.Error("agent handler panicked", "task", t.TaskID, "panic", p, "stack", string(debug.Stack()))
			err = &Error{Code: CodePanic, Message: fmt.Sprintf("the handler panicked: %v", p)}
		}
	}()
	return a.opts.Handler(ctx, t)
}

// encodeResult encodes what a handler returned. Raw JSON is checked and taken as it is.
func encodeResult(value any) (json.RawMessage, error) {
	var data []byte
	if raw, isRaw := value.(json.RawMessage); isRaw && json.Valid(raw) {
		data = bytes.Clone(raw) // the handler may reuse its buffer
	} else {
		var err error
		if data, err = json.Marshal(value); err != nil {
			return nil, &Error{Code: CodeBadResult, Message: "the result is not JSON: " + err.Error(), cause: err}
		}
	}
	if !utf8.Valid(data) { // encoding/json lets it through in raw values; a server cannot take it
		return nil, &Error{Code: CodeBadResult, Message: "the result is not valid UTF-8"}
	}
	return data, nil
}
