package agentcli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// said returns what was told of the turns of an agent, in pieces, and what they came to.
func said(events []runtime.Event) (pieces, texts []string, times []time.Time) {
	for _, e := range events {
		switch e.Type {
		case runtime.EventMessage:
			pieces, times = append(pieces, e.Text), append(times, e.Time)
		case runtime.EventTurnComplete:
			texts = append(texts, e.Text)
		default:
		}
	}
	return pieces, texts, times
}

// TestOutputIsToldAsItComes has a command print for a while: what it prints is told while it runs, in order, once, and not
// more than ten times a second.
func TestOutputIsToldAsItComes(t *testing.T) {
	for name, command := range map[string]string{
		"slowly":   "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.15; done",
		"quickly":  "for i in $(seq 1 300); do echo line $i; sleep 0.003; done",
		"by parts": "for i in 1 2 3; do printf 'half '; sleep 0.2; echo and half; echo; done; printf 'no end'",
		"at once":  "seq 1 2000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := open(t, newLauncher(t, nil), nil)
			g.bash("b")
			got := g.ask("b", command).Text
			pieces, texts, times := said(g.events("b"))
			if len(texts) != 1 || texts[0] != got || strings.TrimRight(strings.Join(pieces, ""), "\n") != got {
				t.Errorf("it told %q of %q", pieces, texts)
			}
			if name != "at once" && len(pieces) < 3 {
				t.Errorf("it told it in %d pieces: %q", len(pieces), pieces)
			}
			for i := 1; i < len(times)-1; i++ { // the last one is the rest
				if since := times[i].Sub(times[i-1]); since < 95*time.Millisecond {
					t.Errorf("piece %d came %s after the one before", i, since)
				}
			}
		})
	}
}

// TestToldOnce kills the runtime while a command prints.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b")
	in := runtime.Input{ID: "i1", Message: "for i in $(seq 1 20); do echo line $i; sleep 0.1; done", ExpectResponse: true}
	go func() { _, _ = g.Send(t.Context(), "b", in) }()
	wait(t, "some pieces", func() bool {
		pieces, _, _ := said(g.events("b"))
		return len(pieces) >= 3
	})
	next := g.crash()
	res, err := next.Send(t.Context(), "b", in)
	if err != nil || res.Response == nil || strings.Count(res.Response.Text, "line") != 20 {
		t.Fatalf("%+v, %v", res, err)
	}
	pieces, _, _ := said(next.events("b"))
	var told []string
	for _, line := range strings.Split(strings.Join(pieces, ""), "\n") {
		if line != "" {
			told = append(told, line)
		}
	}
	if once := slices.Compact(slices.Clone(told)); len(once) != len(told) || len(told) > 20 || told[0] != "line 1" || told[len(told)-1] != "line 20" {
		t.Errorf("it told %q", told)
	}
}

// TestToldByAProgramThatDoesNotEcho tells the answer at its end, when it is sure what belongs to it.
func TestToldByAProgramThatDoesNotEcho(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["quiet"] = runtime.DeclaredType{
			Command: "bash", Idle: runtime.Duration(300 * time.Millisecond),
			Args: []string{"-c", `stty -echo; while read -r line; do echo "${line^^}"; echo end; done`},
		}
	})
	g.spawn(runtime.Spec{ID: "q", Type: "quiet"})
	g.status("q", runtime.StatusReady)
	for _, text := range []string{"one", "two"} {
		g.ask("q", text)
	}
	if pieces, _, _ := said(g.events("q")); strings.Join(pieces, "|") != "ONE\nend|TWO\nend" {
		t.Errorf("it told %q", pieces)
	}
}
