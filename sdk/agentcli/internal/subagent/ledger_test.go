package subagent_test

import (
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/subagent"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// What a helper used counts once, and what is not known does not count, nor does less than was counted before.
func TestCount(t *testing.T) {
	var l subagent.Ledger
	for _, name := range []string{"", "a", "b", "a"} {
		l.Note(name)
	}
	var sum runtime.Usage
	l.Count("a", &runtime.Usage{Model: "m", InputTokens: 5, Requests: 1}, &sum)
	l.Count("b", nil, &sum)
	l.Count("a", &runtime.Usage{Model: "m", InputTokens: 7, Requests: 3}, &sum)
	l.Count("a", &runtime.Usage{Model: "m", InputTokens: 3, Requests: 3}, &sum)
	l.Count("a", &runtime.Usage{Model: "m", InputTokens: 9, Requests: 2}, &sum)
	if fmt.Sprint(l.Helpers) != "[a b]" || sum != (runtime.Usage{Model: "m", InputTokens: 7, Requests: 3}) {
		t.Errorf("%+v has %+v", l, sum)
	}
}

// What is remembered is bounded.
func TestBounds(t *testing.T) {
	var l subagent.Ledger
	var sum runtime.Usage
	for i := range 1000 {
		l.Note(fmt.Sprint(i))
		l.Count(fmt.Sprint(i), &runtime.Usage{Requests: 1}, &sum)
	}
	if len(l.Helpers) != 64 || len(l.Counted) != 256 || sum.Requests != 1000 {
		t.Errorf("%d are to be read and %d counted, with %d requests", len(l.Helpers), len(l.Counted), sum.Requests)
	}
}
