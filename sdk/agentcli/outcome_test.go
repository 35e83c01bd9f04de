package agentcli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// TestLateAnswers has the text of a turn come after the next one began, or ended: it is for nobody.
func TestLateAnswers(t *testing.T) {
	ends := func(p *process, text string) {
		p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: text, TextFollows: text == ""})
	}
	answer := func(p *process, text string) { p.signal(agentcli.Signal{Kind: agentcli.SignalAnswer, Text: text}) }
	g, _ := ready(t, &fakeCLI{}, nil)
	p := g.l.process()
	ready := func(turn int) {
		t.Helper()
		wait(t, "the end of the turn", func() bool {
			a, err := g.Inspect(t.Context(), "a")
			return err == nil && a.Turn == turn && a.Status == runtime.StatusReady
		})
	}
	p.kind(agentcli.SignalBusy)
	ends(p, "")
	ready(1)
	p.kind(agentcli.SignalBusy) // before the text of the first came
	g.status("a", runtime.StatusBusy)
	ends(p, "")
	ready(2)
	answer(p, "of the first")
	answer(p, "of the second")
	p.kind(agentcli.SignalBusy)
	answer(p, "of nobody")
	ends(p, "of the third")
	ready(3)
	var told []string
	wait(t, "three turns", func() bool {
		told = nil
		for _, e := range g.events("a") {
			if e.Type == runtime.EventTurnComplete {
				told = append(told, e.Text)
			}
		}
		return len(told) == 3
	})
	if got := strings.Join(told, "|"); got != "|of the second|of the third" {
		t.Errorf("texts %q", got)
	}
}

// TestWordsOfATurn ends turns without a text of their own: what was said within them is theirs, and nothing of another turn is.
func TestWordsOfATurn(t *testing.T) {
	said := func(texts ...string) func(p *process, msg string) {
		return func(p *process, msg string) {
			p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
			for _, text := range texts {
				p.signal(agentcli.Signal{Kind: agentcli.SignalText, Text: text})
			}
			p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd})
		}
	}
	c := &fakeCLI{turn: said("one ", "piece ", "after another")}
	g, _ := ready(t, c, nil)
	if got := g.ask("a", "a").Text; got != "one piece after another" {
		t.Errorf("text %q", got)
	}
	c.mu.Lock()
	c.turn = said()
	c.mu.Unlock()
	if got := g.ask("a", "b").Text; got != "" {
		t.Errorf("a turn in which nothing was said came to %q", got)
	}
}

// TestCrashAtTheEndOfATurn kills the runtime between each two writes at the end of a turn: how it ended is not lost.
func TestCrashAtTheEndOfATurn(t *testing.T) {
	failed := &runtime.TurnError{Code: wire.TurnModelCut, Message: "it broke off", Retryable: true}
	for name, outcome := range map[string]runtime.TurnOutcome{
		"interrupted": {Interrupted: true},
		"failed":      {Error: failed},
		"refused":     {Refused: true, Usage: &runtime.Usage{InputTokens: 3}},
	} {
		for lost, lines := range map[string]int{"nothing lost": 0, "the event lost": 1} {
			t.Run(name+" "+lost, func(t *testing.T) {
				t.Parallel()
				c := &fakeCLI{turn: func(p *process, msg string) {
					p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
					p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, TextFollows: true, TurnOutcome: outcome})
				}}
				g, _ := ready(t, c, nil)
				in := runtime.Input{ID: "i1", Message: "hello", ExpectResponse: true}
				go func() { _, _ = g.Send(t.Context(), "a", in) }()
				wait(t, "the end of the turn", func() bool {
					a, err := g.Inspect(t.Context(), "a")
					return err == nil && a.Turn == 1
				})
				g.stateOf("a", `"held":`)
				next := g.crash(func(dir string) {
					if lines == 0 {
						return
					}
					cutLines(t, filepath.Join(dir, "events.jsonl"), "ready", lines)
					path := filepath.Join(dir, "agents", "a", "state.json") // as it was just before the event
					state, err := os.ReadFile(path)
					if err == nil {
						err = os.WriteFile(path, []byte(strings.Replace(string(state), `,"told":true`, "", 1)), 0o600)
					}
					if err != nil {
						t.Error(err)
					}
				})
				res, err := next.Send(t.Context(), "a", in)
				if err != nil || res.Response == nil {
					t.Fatalf("the repeat: %+v, %v", res, err)
				}
				got := res.Response
				if got.Interrupted != outcome.Interrupted || got.Refused != outcome.Refused || got.Turn != 1 || got.Text != "" ||
					(got.Error == nil) != (outcome.Error == nil) || got.Error != nil && *got.Error != *failed || (got.Usage == nil) != (outcome.Usage == nil) {
					t.Errorf("the turn came to %+v", got)
				}
				events := next.events("a")
				if got := types(events); !strings.HasPrefix(got, "started ready busy ready turn_complete") {
					t.Errorf("events %s", got)
				}
			})
		}
	}
}

// cutLines drops the last line of a file, if it holds words, so many times.
func cutLines(t testing.TB, path, words string, n int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(data)))
	for range n {
		if last := len(lines) - 1; strings.Contains(lines[last], `"type":"`+words+`"`) {
			lines = lines[:last]
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCrashAfterARefusal kills the runtime after the event of a refusal was stored and before the state was.
func TestCrashAfterARefusal(t *testing.T) {
	goOn := make(chan struct{})
	c := &fakeCLI{turn: func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
		p.signal(agentcli.Signal{Kind: agentcli.SignalBlocked, Prompt: approval("p1")})
		if _, ok := p.read(); !ok {
			return
		}
		p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Choice: runtime.ChoiceDeny})
		select {
		case <-goOn:
		case <-p.killed:
		}
		p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: "as you like"})
	}}
	g, _ := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{ID: "i1", Message: "hello"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBlocked)
	before := g.stateOf("a", `"status":"blocked"`)
	if err := g.Answer(t.Context(), "a", runtime.Answer{Choice: runtime.ChoiceDeny}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBusy)
	next := g.crash(func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, "agents", "a", "state.json"), before, 0o600); err != nil {
			t.Error(err)
		}
	})
	next.status("a", runtime.StatusBusy)
	close(goOn)
	res, err := next.Send(t.Context(), "a", runtime.Input{ID: "i1", Message: "hello", ExpectResponse: true, Timeout: time.Minute})
	if err != nil || res.Response == nil || !res.Response.Refused || res.Response.Text != "as you like" {
		t.Errorf("the turn came to %+v, %v", res.Response, err)
	}
}
