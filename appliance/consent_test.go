package appliance_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Where consent is required, nothing starts without it, whichever way it is asked for, what was stored and what ran before
// that included; with it everything does.
func TestConsentIsAskedForEverywhere(t *testing.T) {
	s := openWithRuntime(t, "  audit: {enabled: true}\n  compliance: {gdpr: {enabled: true, consent: {required: false}}}\n")
	ctx, admin := t.Context(), s.client(s.adminKey)
	_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: echo})
	s.wants(err, 0)
	consent := map[string]any{"consent": true}
	type started struct {
		execution, schedule, threads string
		trigger, mapped, spawning    *client.Trigger
		thread, ended                *client.Thread
	}
	target := func(metadata map[string]any) client.Target {
		return client.Target{Execution: &client.ExecutionTarget{Pattern: "echo", Input: []byte(`{}`), Options: wire.ExecuteOptions{Metadata: metadata}}}
	}
	threadTarget := func(metadata map[string]any) client.Target {
		return client.Target{Thread: &client.ThreadSpec{AgentType: runtimetest.Type, Objective: "true", Metadata: metadata}}
	}
	scheduleOf := func(name string, what client.Target) (*client.Schedule, error) {
		return admin.CreateSchedule(ctx, client.ScheduleSpec{
			ScheduleSpec: wire.ScheduleSpec{Name: name, ScheduleTiming: wire.ScheduleTiming{Cron: "0 0 1 1 *"}}, Target: what,
		})
	}
	triggerOf := func(name string, what client.Target, mapping map[string]string) (*client.Trigger, error) {
		return admin.CreateTrigger(ctx, client.TriggerSpec{TriggerSpec: wire.TriggerSpec{Name: name, Mapping: mapping}, Target: what})
	}
	spawn := func(execution string, metadata map[string]any) (*client.Thread, error) {
		return admin.SpawnThread(ctx, client.ThreadSpec{ExecutionID: execution, AgentType: runtimetest.Type, Objective: "true", Metadata: metadata})
	}
	begin := func(name string, metadata map[string]any) (b started) {
		t.Helper()
		e, err := admin.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`), Options: client.ExecuteOptions{Metadata: metadata}})
		s.wants(err, 0)
		b.execution = e.ExecutionID
		of, err := scheduleOf(name, target(metadata))
		s.wants(err, 0)
		b.schedule = of.ID
		of, err = scheduleOf(name+"-threads", threadTarget(metadata))
		s.wants(err, 0)
		b.threads = of.ID
		b.trigger, err = triggerOf(name, target(metadata), nil)
		s.wants(err, 0)
		b.mapped, err = triggerOf(name+"-mapped", target(metadata), map[string]string{"text": "$.text"})
		s.wants(err, 0)
		b.spawning, err = triggerOf(name+"-threads", threadTarget(metadata), nil)
		s.wants(err, 0)
		b.thread, err = spawn("new", metadata)
		s.wants(err, 0)
		b.ended, err = spawn(b.execution, metadata)
		s.wants(err, 0)
		coretest.WaitFor(t, "the workspace of the thread", func() bool {
			b.ended, err = admin.GetThread(ctx, b.ended.ID)
			return err == nil && b.ended.Workspace != nil && b.ended.ManagedAgentID != ""
		})
		s.wants(admin.StopThread(ctx, b.ended.ID, true, 0), 0)
		_, err = admin.CancelExecution(ctx, b.execution, "over")
		s.wants(err, 0)
		coretest.WaitFor(t, "the thread to end", func() bool {
			b.ended, err = admin.GetThread(ctx, b.ended.ID)
			return err == nil && (b.ended.Status == "stopped" || b.ended.Status == "failed" || b.ended.Status == "completed")
		})
		return b
	}
	without, with := begin("without", nil), begin("with", consent)

	text, err := os.ReadFile(s.config)
	s.wants(err, 0)
	write(t, s.config, strings.Replace(string(text), "required: false", "required: true", 1))
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}

	ways := func(b started, metadata map[string]any, name string) map[string]func() error {
		hook := func(of *client.Trigger) func() error {
			return func() error {
				_, err := s.client("").SendHook(ctx, of.ID, of.Secret, name, "", []byte(`{"text":"x"}`))
				return err
			}
		}
		run := func(id string) func() error {
			return func() error {
				_, err := admin.RunSchedule(ctx, id, name)
				return err
			}
		}
		return map[string]func() error{
			"an execution": func() error {
				_, err := admin.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: "echo", Input: []byte(`{}`), Options: client.ExecuteOptions{Metadata: metadata}})
				return err
			},
			"a batch": func() error {
				_, err := admin.StartBatch(ctx, client.BatchRequest{
					Pattern: "echo", Inputs: []json.RawMessage{[]byte(`{}`)}, Options: client.ExecuteOptions{Metadata: metadata},
				})
				return err
			},
			"an org chart": func() error {
				_, err := admin.ExecuteAsync(ctx, client.ExecuteRequest{
					Pattern: "pair-programming", Input: []byte(`{"task":"x"}`), Options: client.ExecuteOptions{Metadata: metadata},
				})
				return err
			},
			"a retry":                   func() error { _, err := admin.RetryExecution(ctx, b.execution, name); return err },
			"a rerun":                   func() error { _, err := admin.RerunExecution(ctx, b.execution, "", name); return err },
			"a new schedule":            func() error { _, err := scheduleOf(name+"-2", target(metadata)); return err },
			"a new schedule of threads": func() error { _, err := scheduleOf(name+"-3", threadTarget(metadata)); return err },
			"a new trigger":             func() error { _, err := triggerOf(name+"-2", target(metadata), nil); return err },
			"a new trigger that maps": func() error {
				_, err := triggerOf(name+"-3", target(metadata), map[string]string{"text": "$.text"})
				return err
			},
			"a new trigger of threads":          func() error { _, err := triggerOf(name+"-4", threadTarget(metadata), nil); return err },
			"a run of a schedule":               run(b.schedule),
			"a run of a schedule of threads":    run(b.threads),
			"a request to a trigger":            hook(b.trigger),
			"a request to a trigger that maps":  hook(b.mapped),
			"a request to a trigger of threads": hook(b.spawning),
			"a thread":                          func() error { _, err := spawn("new", metadata); return err },
			"a thread of an execution":          func() error { _, err := spawn(b.thread.ExecutionID, nil); return err },
			"a thread that goes on with another": func() error {
				_, err := admin.ContinueThread(ctx, b.ended.ID, client.ThreadContinue{Message: "go on"})
				return err
			},
		}
	}
	refused, taken := ways(without, nil, "without"), ways(with, consent, "with")
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		switch err := refused[name](); {
		case err == nil:
			t.Errorf("%s without consent was taken", name)
		case !strings.Contains(err.Error(), "metadata.consent"):
			t.Errorf("%s without consent: %v", name, err)
		}
		if err := taken[name](); err != nil {
			t.Errorf("%s with consent: %v", name, err)
		}
	}
}
