package runtimecode_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

func TestCodes(t *testing.T) {
	with := func(code any) error {
		e := core.Conflict("agent", "a", "stopped", "says the runtime")
		e.Details = map[string]any{"runtimeCode": code}
		return fmt.Errorf("wrapped: %w", e)
	}
	for name, test := range map[string]struct {
		err              error
		code             string
		passing, noAgent bool
	}{
		"Nil":        {nil, "", false, false},
		"Foreign":    {errors.New("x"), "", false, false},
		"NoText":     {with(7), "", false, false},
		"Blocked":    {with(runtimecode.Blocked), runtimecode.Blocked, false, false},
		"Canceled":   {with(runtimecode.Canceled), runtimecode.Canceled, true, false},
		"NotRunning": {with(runtimecode.NotRunning), runtimecode.NotRunning, false, true},
		"NotFound":   {core.NotFound("agent", "a"), "", false, true},
		"Away":       {&core.Error{Unavailable: true}, "", true, false},
	} {
		if code := runtimecode.Of(test.err); code != test.code || runtimecode.Passing(test.err) != test.passing || runtimecode.NoAgent(test.err) != test.noAgent {
			t.Errorf("%s: code %q, passing %t, no agent %t", name, code, runtimecode.Passing(test.err), runtimecode.NoAgent(test.err))
		}
	}
}
