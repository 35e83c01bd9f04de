package claude_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// serving is the adapter of a claude that has the MCP server of drivertest.
type serving struct {
	agentcli.Adapter
	config string
}

func (s serving) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	p, err := s.Adapter.Plan(spec, room, life)
	p.Args = append(p.Args, "--mcp-config", s.config)
	return p, err
}

// startServing starts a claude that has the server, and runs its tools without asking.
func startServing(t *testing.T) *drivertest.Agent {
	t.Helper()
	return startServingWith(t, nil, nil)
}

// startServingWith is startServing with more servers, and more in the environment.
func startServingWith(t *testing.T, servers map[string]any, more map[string]string) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "claude")
	t.Parallel()
	argv, err := drivertest.ServerCommand()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"own": map[string]any{"command": argv[0], "args": argv[1:]}}
	maps.Copy(all, servers)
	config := setting.JSON(map[string]any{"mcpServers": all})
	env := modelEnv(drivertest.StartModel(t).URL)
	maps.Copy(env, more)
	a := drivertest.StartSpec(t, serving{claude.New(), config}, runtime.Spec{Env: env, Approval: "autonomous"})
	a.Wait(agentcli.SignalIdle)
	return a
}

// call is a message on which claude calls a tool of the server.
func call(tool string) string { return "CALL[mcp__own__" + tool + " {}] please" }

// What a server asks is answered with what was given, whole. A person may close the form, and an interrupt ends the turn with it.
func TestRealServerAsks(t *testing.T) {
	a := startServing(t)
	for _, tt := range []struct {
		tool   string
		answer runtime.Answer
		bad    runtime.Answer
		choice string
		want   []string // in what the server got
	}{
		{"colour", runtime.Answer{Text: "blue\nnot too dark"}, runtime.Answer{Text: "green\n"}, "accept", []string{"accept", "blue", "not too dark"}},
		{"colour", runtime.Answer{Text: "red"}, runtime.Answer{Choice: "1"}, "accept", []string{"accept", "red"}},
		{"colour", runtime.Answer{Choice: "decline"}, runtime.Answer{Text: "\nx"}, "decline", []string{"decline"}},
		{"confirm", runtime.Answer{Choice: "accept"}, runtime.Answer{Choice: "1"}, "accept", []string{"accept"}},
		{"size", runtime.Answer{Choice: "1"}, runtime.Answer{Choice: "4"}, "1", []string{"accept", `\"3\"`}},
		{"size", runtime.Answer{Text: "1"}, runtime.Answer{Text: "x"}, "accept", []string{"accept", `\"1\"`}},
	} {
		a.Send(call(tt.tool))
		p := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
		if p.Kind != agentcli.SignalBlocked || p.Source != runtime.SourceHook || !strings.HasPrefix(p.Prompt.Text, "own asks: ") {
			t.Fatalf("%s with %+v\n%s", p.Kind, p.Prompt, a.Screen())
		}
		if err := a.Answer(tt.bad); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("%s: %+v is answered with %v", tt.tool, tt.bad, err)
		}
		a.MustAnswer(tt.answer)
		if s := a.Wait(agentcli.SignalUnblocked); s.Choice != tt.choice {
			t.Errorf("%s: the choice is %q", tt.tool, s.Choice)
		}
		end := a.Turn()
		for _, want := range tt.want {
			if !strings.Contains(strings.ReplaceAll(end.Text, `"`, `\"`), want) || end.Error != nil || end.Interrupted || end.Refused {
				t.Errorf("%s, %+v: turn ended with %+v, error %+v\n%s\n%s", tt.tool, tt.answer, end.Signal, end.Error, a.History(), a.Screen())
			}
		}
	}
	a.Send(call("size"))
	a.Wait(agentcli.SignalBlocked)
	a.WaitScreen("Which size?")
	a.Keys("\x1b")
	a.Wait(agentcli.SignalUnblocked)
	if end := a.Turn(); !strings.Contains(end.Text, "cancel") || end.Error != nil {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Send("again: " + call("size"))
	a.Wait(agentcli.SignalBlocked)
	a.WaitScreen("Which size?")
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || end.Error != nil {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A server that fails, or ends within a call, is no end of the turn.
func TestRealServerFails(t *testing.T) {
	a := startServing(t)
	for _, step := range [][2]string{{"fail", "it broke"}, {"vanish", "TOOL_RESULT"}, {"fail", "TOOL_RESULT"}} {
		tool, want := step[0], step[1]
		a.Send(call(tool))
		if end := a.Turn(); !strings.Contains(end.Text, want) || end.Error != nil || end.Interrupted {
			t.Errorf("%s: turn ended with %+v, error %+v\n%s", tool, end.Signal, end.Error, a.History())
		}
	}
}

// A server that does not answer as claude starts holds up no start and no turn. One that does not answer a call is waited for, until claude
// gives up on it or the turn is interrupted.
func TestRealServerStalls(t *testing.T) {
	mute := map[string]any{"mute": map[string]any{"command": "sleep", "args": []string{"600"}}}
	t.Run("GivenUp", func(t *testing.T) {
		a := startServingWith(t, mute, map[string]string{"MCP_TOOL_TIMEOUT": "8000"})
		a.Send(call("stall"))
		if end := a.Turn(); end.Error != nil || end.Interrupted || !strings.Contains(end.Text, "TOOL_RESULT") {
			t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
		}
	})
	t.Run("Interrupted", func(t *testing.T) {
		a := startServingWith(t, mute, nil)
		a.Send(call("stall"))
		a.Wait(agentcli.SignalTool)
		a.WaitScreen("esc to interrupt")
		a.Interrupt()
		if end := a.Turn(); !end.Interrupted || end.Error != nil {
			t.Errorf("turn ended with %+v, error %+v\n%s\n%s", end.Signal, end.Error, a.History(), a.Screen())
		}
		a.Send("SAY[after it]")
		if end := a.Turn(); end.Text != "after it" || a.Count(agentcli.SignalTurnEnd) != 2 {
			t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
		}
	})
}
