package toolthreads_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// team is an org chart with a role for each tool; each gets what the one before it said.
const team = `name: boxed-team
version: 1.0.0
structure:
  name: boxed-team
  roles:
    lead: {name: Lead, agentType: [claude], capabilities: [lead]}
    maker: {name: Maker, agentType: [codex], capabilities: [make], reportsTo: lead}
    scribe: {name: Scribe, agentType: [gemini], capabilities: [write], reportsTo: lead}
workflow:
  name: in-turn
  input:
    task: {type: string, required: true}
  steps:
    - {type: assign, name: Plan, role: lead, output: plan, task: "Plan ${input.task} SAY[planned in a box]"}
    - {type: assign, name: Make, role: maker, output: made, task: "Make ${input.task} SAY[made in a box]"}
    - {type: assign, name: Note, role: scribe, output: note, task: "Note ${input.task} SAY[noted in a box]"}
  output: {plan: "${plan}", made: "${made}", note: "${note}"}
`

// TestContainerTeam runs an org chart whose agents are the three tools, which the server spawns in containers for it, and of which
// none is left.
func TestContainerTeam(t *testing.T) {
	e, network, address := toolEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	env, url := map[string]string{}, "http://"+forward(t, address, model.URL())
	for _, tool := range tools {
		maps.Copy(env, fakemodel.Env(tool, url))
	}
	quoted, err := json.Marshal(env) // a flow mapping in YAML as well
	if err != nil {
		t.Fatal(err)
	}
	api := start(ctx, t, "docker", fmt.Sprintf("socket: %q, network: %s, env: %s", e.Socket, network, quoted)).Client
	if _, err := api.CreatePattern(ctx, client.PatternInput{Definition: team}); err != nil {
		t.Fatal(err)
	}
	begun, err := api.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "boxed-team", Input: json.RawMessage(`{"task":"a clock without hands."}`)})
	if err != nil {
		t.Fatal(err)
	}
	var done *client.Execution
	containers := map[string]string{} // of agents, by type
	err = testbed.Until(ctx, 6*time.Minute, "the team is done", func(ctx context.Context) (bool, error) {
		list, err := api.ListManagedAgents(ctx, client.ManagedAgentFilter{})
		if err != nil {
			return false, err
		}
		for _, a := range list.Agents {
			if a.Runtime == "docker" && a.ContainerID != "" {
				containers[a.Type] = a.ContainerID
			}
		}
		done, err = api.GetExecution(ctx, begun.ExecutionID)
		return err == nil && client.Terminal(done.Status), err
	})
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ Plan, Made, Note json.RawMessage }
	if err := json.Unmarshal(done.Result, &result); err != nil || done.Status != client.StatusCompleted {
		t.Fatalf("it came to %s, %v", done.Body, err)
	}
	for said, want := range map[string]json.RawMessage{"planned": result.Plan, "made": result.Made, "noted": result.Note} {
		if !strings.Contains(string(want), said+" in a box") {
			t.Errorf("%s: %s", said, want)
		}
	}
	if len(containers) != len(tools) {
		t.Errorf("the agents had the containers %v", containers)
	}
	err = testbed.Until(ctx, time.Minute, "no container is left", func(ctx context.Context) (bool, error) {
		for _, id := range containers {
			if e.Call(ctx, "GET", "/containers/"+id+"/json", nil, nil) == nil {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
}
