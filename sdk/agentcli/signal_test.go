package agentcli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	idle     = agentcli.SignalIdle
	busy     = agentcli.SignalBusy
	turnEnd  = agentcli.SignalTurnEnd
	took     = agentcli.SignalTook
	blocked  = agentcli.SignalBlocked
	answerIs = agentcli.SignalAnswer
)

func approval(id string) *runtime.Prompt {
	return &runtime.Prompt{ID: id, Kind: runtime.PromptApproval, Text: "may it?", Tool: "Bash", Options: []runtime.Option{{ID: "always", Label: "Always"}}}
}

// TestSignals gives a ready agent a list of signals, and looks at the events after its start.
func TestSignals(t *testing.T) {
	type sig = agentcli.Signal
	hook, osc, screen := runtime.SourceHook, runtime.SourceOSC, runtime.SourceScreen
	tests := []struct {
		name    string
		signals []sig
		want    string
		status  runtime.Status
		check   func(t *testing.T, events []runtime.Event)
	}{
		{"Turn", []sig{{Kind: busy}, {Kind: turnEnd, Text: "done"}}, "busy turn_complete ready", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if e[1].Text != "done" || e[1].Turn != 1 || e[1].Agent.Status != runtime.StatusReady {
					t.Errorf("event %+v", e[1])
				}
			}},
		{"EndTwice", []sig{{Kind: busy}, {Kind: turnEnd, Source: hook, Text: "a"}, {Kind: idle}, {Kind: idle}}, "busy turn_complete ready", runtime.StatusReady, nil},
		{"ScreenStartsNothing", []sig{{Kind: busy, Source: screen}}, "", runtime.StatusReady, nil},
		{"ScreenEnds", []sig{{Kind: busy, Source: hook}, {Kind: turnEnd, Source: screen}}, "busy turn_complete ready", runtime.StatusReady, nil},
		{"LateOSCStartsNothing", []sig{{Kind: took, Source: hook}, {Kind: turnEnd, Source: hook, Text: "a"}, {Kind: busy, Source: osc}}, "busy turn_complete ready", runtime.StatusReady, nil},
		{"OSCThenHookIsOneTurn", []sig{{Kind: busy, Source: osc}, {Kind: took, Source: hook, Text: "x"}, {Kind: idle, Source: osc}, {Kind: turnEnd, Source: hook, Text: "late"}}, "busy ready turn_complete", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if e[2].Text != "late" {
					t.Errorf("event %+v", e[2])
				}
			}},
		{"TextFollows", []sig{{Kind: busy}, {Kind: turnEnd, TextFollows: true}, {Kind: answerIs, Text: "here"}}, "busy ready turn_complete", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if e[2].Text != "here" || e[2].Turn != 1 {
					t.Errorf("event %+v", e[2])
				}
			}},
		{"TextNeverComes", []sig{{Kind: busy}, {Kind: agentcli.SignalText, Text: "spoken"}, {Kind: turnEnd, TextFollows: true}}, "busy message ready turn_complete", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if e[3].Text != "spoken" {
					t.Errorf("event %+v", e[3])
				}
			}},
		{"Interrupted", []sig{{Kind: busy}, {Kind: turnEnd, TurnOutcome: runtime.TurnOutcome{Interrupted: true}}}, "busy turn_complete ready", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if !e[1].Interrupted {
					t.Errorf("event %+v", e[1])
				}
			}},
		{"IdleEndsATurn", []sig{{Kind: busy}, {Kind: idle}}, "busy ready turn_complete", runtime.StatusReady, nil},
		{"Blocked", []sig{{Kind: busy}, {Kind: blocked, Prompt: approval("p1")}, {Kind: blocked, Prompt: approval("p1")}}, "busy blocked", runtime.StatusBlocked,
			func(t *testing.T, e []runtime.Event) {
				if e[1].Prompt == nil || e[1].Prompt.Tool != "Bash" || e[1].Agent.Prompt == nil {
					t.Errorf("event %+v", e[1])
				}
			}},
		{"Question", []sig{{Kind: busy}, {Kind: blocked, Prompt: &runtime.Prompt{ID: "q", Kind: runtime.PromptQuestion}}}, "busy question", runtime.StatusBlocked, nil},
		{"BusyUnblocks", []sig{{Kind: busy}, {Kind: blocked, Prompt: approval("p1")}, {Kind: busy}, {Kind: busy}}, "busy blocked unblocked", runtime.StatusBusy, nil},
		{"Granted", []sig{{Kind: busy}, {Kind: blocked, Prompt: approval("p1")}, {Kind: agentcli.SignalUnblocked, Choice: "allow"}}, "busy blocked unblocked", runtime.StatusBusy,
			func(t *testing.T, e []runtime.Event) {
				if e[2].Answered != "allow" || e[2].Agent.Prompt != nil {
					t.Errorf("event %+v", e[2])
				}
			}},
		{"RefusedEndsTurn", []sig{{Kind: busy}, {Kind: blocked, Prompt: approval("p1")}, {Kind: turnEnd, TurnOutcome: runtime.TurnOutcome{Interrupted: true}}}, "busy blocked unblocked turn_complete ready", runtime.StatusReady, nil},
		{"NextPrompt", []sig{{Kind: busy}, {Kind: blocked, Prompt: approval("p1")}, {Kind: blocked, Prompt: approval("p2")}}, "busy blocked unblocked blocked", runtime.StatusBlocked, nil},
		{"Tool", []sig{{Kind: busy}, {Kind: agentcli.SignalTool, Tool: &runtime.ToolCall{Name: "Bash", Input: map[string]any{"command": "echo s3cr3t-value"}}}, {Kind: agentcli.SignalToolDone, Tool: &runtime.ToolCall{Name: "Bash"}}}, "busy tool_running tool_done", runtime.StatusBusy,
			func(t *testing.T, e []runtime.Event) {
				if e[1].Tool == nil || e[1].Tool.Input["command"] != "echo ***" {
					t.Errorf("event %+v", e[1].Tool)
				}
				if e[2].Tool.Name != "Bash" || e[2].Tool.Input != nil || e[2].Reason != "" || e[2].DurationMs < 0 {
					t.Errorf("event %+v", e[2])
				}
			}},
		{"ToolsAtOnce", []sig{{Kind: busy}, {Kind: agentcli.SignalTool, Tool: &runtime.ToolCall{Name: "Bash"}}, {Kind: agentcli.SignalTool, Tool: &runtime.ToolCall{Name: "Read"}},
			{Kind: agentcli.SignalToolDone, Tool: &runtime.ToolCall{Name: "Bash"}, Failed: true}, {Kind: agentcli.SignalToolDone, Tool: &runtime.ToolCall{Name: "Bash"}}, {Kind: turnEnd}, {Kind: busy},
			{Kind: agentcli.SignalToolDone, Tool: &runtime.ToolCall{Name: "Read"}}}, "busy tool_running tool_running tool_done turn_complete ready busy", runtime.StatusBusy,
			func(t *testing.T, e []runtime.Event) {
				if e[3].Tool.Name != "Bash" || e[3].Reason != runtime.ToolFailed {
					t.Errorf("event %+v", e[3])
				}
			}},
		{"LoginOnce", []sig{{Kind: agentcli.SignalLogin, URL: "https://a.example/1"}, {Kind: agentcli.SignalLogin, URL: "https://a.example/1"}, {Kind: idle}}, "login_required ready", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if e[0].LoginURL != "https://a.example/1" || e[0].Agent.Reason != runtime.ReasonLoginRequired || e[1].Agent.LoginURL != "" {
					t.Errorf("events %+v", e)
				}
			}},
		{"Error", []sig{{Kind: busy}, {Kind: agentcli.SignalError, Reason: "api_error", Text: "401 for s3cr3t-value"}, {Kind: turnEnd}}, "busy error turn_complete ready", runtime.StatusReady,
			func(t *testing.T, e []runtime.Event) {
				if e[1].Text != "401 for ***" || e[1].Agent.Reason != "api_error" {
					t.Errorf("event %+v", e[1])
				}
			}},
		{"Session", []sig{{Kind: agentcli.SignalSession, Text: "sess-1"}, {Kind: busy}}, "busy", runtime.StatusBusy,
			func(t *testing.T, e []runtime.Event) {
				if e[0].Agent.SessionID != "sess-1" {
					t.Errorf("event %+v", e[0])
				}
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, _ := fake(t, &fakeCLI{}, nil)
			g.spawn(runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"KEY": "s3cr3t-value"}})
			g.status("a", runtime.StatusReady)
			for _, s := range tt.signals {
				g.l.process().signal(s)
			}
			want := strings.TrimSpace("started ready " + tt.want)
			var events []runtime.Event
			wait(t, want, func() bool {
				events = g.events("a")
				return types(events) == want
			})
			if a := g.status("a", tt.status); a.ID != "a" {
				t.Errorf("agent %+v", a)
			}
			if tt.check != nil {
				tt.check(t, events[2:])
			}
		})
	}
}

func TestHooksAreAnsweredAndTrusted(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	said := make(chan string, 1)
	call := agentcli.NewHookCall("Stop", []byte(`{"Kind":"busy","Source":"hook"}`), nil, func(b []byte) { said <- string(b) })
	g.l.process().hooks <- call
	g.status("a", runtime.StatusBusy)
	if got := <-said; got != "{}" {
		t.Errorf("answer %q", got)
	}
}

func TestStuck(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, func(o *agentcli.Options) { o.StuckAfter = 50 * time.Millisecond })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	g.l.process().kind(busy)
	wait(t, "stuck", func() bool { return strings.HasSuffix(types(g.events("a")), "busy stuck") })
	if a := g.status("a", runtime.StatusBusy); a.Status != runtime.StatusBusy {
		t.Errorf("agent %+v", a)
	}
}

func TestNotReadyAndAdoptedLater(t *testing.T) {
	c := &fakeCLI{silent: true}
	g, f := fake(t, c, nil)
	f.ready = 300 * time.Millisecond
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.l.process().print("please wait\r\n")
	a := g.status("a", runtime.StatusError)
	if a.Reason != runtime.ReasonNotReady {
		t.Errorf("agent %+v", a)
	}
	if lines := g.logs("a", runtime.LogOptions{}); !strings.Contains(lines, "terminal please wait") {
		t.Errorf("log %s", lines)
	}
	g.l.process().kind(idle)
	if a := g.status("a", runtime.StatusReady); a.Reason != "" {
		t.Errorf("agent %+v", a)
	}
	if got := g.ask("a", "hello").Text; got != "ANSWER[hello]" {
		t.Errorf("answer %q", got)
	}
}

// A start in whose way a question stood is bounded again once that is answered: the time of before may be over.
func TestNotReadyBehindAQuestion(t *testing.T) {
	c := &fakeCLI{silent: true}
	g, f := fake(t, c, nil)
	f.ready = 300 * time.Millisecond
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.l.process().signal(agentcli.Signal{Kind: blocked, Source: runtime.SourceScreen, Prompt: approval("p1")}) // which begins no turn
	g.status("a", runtime.StatusBlocked)
	g = g.again()
	g.status("a", runtime.StatusBlocked)
	g.l.process().signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Source: runtime.SourceScreen})
	if a := g.status("a", runtime.StatusError); a.Reason != runtime.ReasonNotReady {
		t.Errorf("agent %+v", a)
	}
}
