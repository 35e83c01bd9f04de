package plugin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestConfigureAgain has agents live on under a new configuration, and end with the program only.
func TestConfigureAgain(t *testing.T) {
	a := &author{}
	conn, process := connect(t, a.options())
	ctx := within(t)
	configure := func(config string, generation uint64) error {
		_, err := conn.Configure(ctx, json.RawMessage(config), generation)
		return err
	}
	if err := configure(`{}`, 1); err != nil {
		t.Fatal(err)
	}
	rt := conn.Runtime()
	agent, err := rt.Spawn(ctx, runtime.Spec{ID: "one", Type: "sh"})
	if err != nil {
		t.Fatal(err)
	}
	if err := configure(`{"maxAgents": 13}`, 2); !strings.Contains(errText(err), "bad luck") {
		t.Errorf("a configuration that New refuses: %v", err)
	}
	if err := configure(`{"maxAgents": "x"}`, 2); err == nil {
		t.Error("a configuration that the schema refuses is taken")
	}
	if err := configure(`{"maxAgents": 1}`, 3); err != nil {
		t.Fatal(err)
	}
	if c, err := rt.Capabilities(ctx); err != nil || c.MaxAgents != 1 || c.Name != "pen" || c.Recover {
		t.Errorf("capabilities %+v, error %v", c, err)
	}
	result, err := rt.Send(ctx, "one", runtime.Input{Message: "echo pid-$$", ExpectResponse: true})
	if err != nil || result.Response == nil || !strings.HasPrefix(result.Response.Text, "pid-") {
		t.Fatalf("the agent after a new configuration: %+v, %v", result, err)
	}
	if found, err := rt.Inspect(ctx, "one"); err != nil || found.PID != agent.PID {
		t.Errorf("the agent was process %d and is %+v, error %v", agent.PID, found, err)
	}
	if _, err := rt.Spawn(ctx, runtime.Spec{ID: "two", Type: "sh"}); runtime.ErrorCode(err) != runtime.CodeResourceLimit {
		t.Errorf("one agent more than maxAgents: %v", err)
	}
	text, err := conn.Metrics(ctx)
	if err != nil || !strings.Contains(string(text), `runtime_agents{runtime="pen",status="ready"} 1`) {
		t.Errorf("metrics %s, error %v", text, err)
	}
	if !strings.Contains(string(text), `runtime_agents{runtime="pen",status="unreachable"} 0`) {
		t.Errorf("metrics do not have the agents out of reach: %s", text)
	}
	if h, err := conn.Health(ctx); err != nil || h.Status != plugin.StatusOK {
		t.Errorf("health %+v, error %v", h, err)
	}
	if n := a.ends.Load(); n != 0 {
		t.Errorf("End was called %d times by configurations", n)
	}
	if err := process.Close(ctx); err != nil {
		t.Errorf("the end of the program: %v", err)
	}
	if n := a.ends.Load(); n != 1 {
		t.Errorf("End was called %d times", n)
	}
}

// TestHealth is the launcher's while its runtime is open, and closes it.
func TestHealth(t *testing.T) {
	a := &author{}
	a.health = plugin.Health{Status: plugin.StatusDegraded, Reason: "the disk is slow"}
	o := a.options()
	conn, process := connect(t, o)
	ctx := within(t)
	if _, err := conn.Configure(ctx, json.RawMessage(`{}`), 1); err != nil {
		t.Fatal(err)
	}
	if h, err := conn.Health(ctx); err != nil || h.Status != plugin.StatusDegraded || h.Reason != "the disk is slow" {
		t.Errorf("health %+v, error %v", h, err)
	}
	if place := <-a.places; place.Host == nil || place.StateDir != process.StateDir || place.RunDir != process.RunDir {
		t.Errorf("the place is %+v", place)
	}
	if err := process.Close(ctx); err != nil {
		t.Error(err)
	}
	if n := a.closed.Load(); n != 1 {
		t.Errorf("the launcher was closed %d times", n)
	}
}
