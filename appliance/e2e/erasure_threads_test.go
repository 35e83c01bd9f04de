package e2e_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	spec "github.com/wardroom/wardroom/sdk/wire"
)

// What runs of a subject refuses its erasure, and with --cancel is ended: its threads with their agents and workspaces, schedules
// and triggers are gone afterwards, from lists, the export, disk and the process table, and those of others go on.
func TestErasureCancelsThreads(t *testing.T) {
	c := managed(t, "security.audit: {enabled: true, level: verbose}", "metrics.public: true")
	ctx := t.Context()
	const subject, secret = "customer-of-the-threads", "canaryOfTheThreads77"
	hers := map[string]any{"subject": subject}
	thread := func(metadata map[string]any, text string) *client.Thread {
		t.Helper()
		th, err := c.api.SpawnThread(ctx, client.ThreadSpec{
			ExecutionID: "new", AgentType: "shell", Objective: "echo " + text, Metadata: metadata,
			Preparation: client.ThreadPreparation{ContextFiles: []client.ContextFile{{Path: "note.txt", Content: text}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var now *client.Thread
		eventually(t, "the first turn", func() bool {
			now, err = c.api.GetThread(ctx, th.ID)
			return err == nil && now.TurnCount > 0
		})
		c.spawned = append(c.spawned, now.ManagedAgentID)
		return now
	}
	own, others := thread(hers, secret), thread(nil, "of-somebody-else")
	pid := c.agent(own.ManagedAgentID).PID
	target := client.Target{Thread: &client.ThreadSpec{ExecutionID: "new", AgentType: "shell", Objective: "echo " + secret, Metadata: hers}}
	schedule, err := c.api.CreateSchedule(ctx, client.ScheduleSpec{
		ScheduleSpec: spec.ScheduleSpec{Name: "hers", ScheduleTiming: spec.ScheduleTiming{Cron: "0 0 1 1 *"}}, Target: target,
	})
	if err != nil {
		t.Fatal(err)
	}
	const hookSecret = "of-the-hook-long-enough"
	trigger, err := c.api.CreateTrigger(ctx, client.TriggerSpec{TriggerSpec: spec.TriggerSpec{Name: "hers", Secret: hookSecret}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := c.api.SendHook(ctx, trigger.ID, hookSecret, "delivery-1", "push", json.RawMessage(`{"note":"`+secret+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the triggered thread", func() bool {
		th, err := c.api.GetThread(ctx, receipt.ThreadID)
		if err != nil || th.TurnCount == 0 {
			return false
		}
		c.spawned = append(c.spawned, th.ManagedAgentID)
		return true
	})
	body, err := c.api.ExportData(ctx, subject)
	if err != nil {
		t.Fatal(err)
	}
	export, err := io.ReadAll(body)
	if err != nil || !strings.Contains(string(export), own.ID) || !strings.Contains(string(export), receipt.ThreadID) ||
		!strings.Contains(string(export), schedule.ID) || !strings.Contains(string(export), trigger.ID) || strings.Contains(string(export), others.ID) {
		t.Fatalf("the export: %v\n%s", err, export)
	}

	if out, code := c.command("data", "erase", "--subject", subject, "--confirm", subject); code == 0 {
		t.Errorf("what runs did not refuse it: %s", out)
	}
	if _, err := c.api.GetThread(ctx, own.ID); err != nil {
		t.Fatalf("a refused erasure removed something: %v", err)
	}
	out, code := c.command("data", "erase", "--subject", subject, "--confirm", subject, "--cancel", "-o", "json")
	var e spec.Erasure
	if err := json.Unmarshal([]byte(out), &e); err != nil || code != 0 || e.Status != spec.ErasureCompleted {
		t.Fatalf("%d %s", code, out)
	}
	for kind, want := range map[string]int{"executions": 2, "threads": 2, "workspaces": 2, "managedAgents": 2, "schedules": 1, "triggers": 1} {
		if e.Done[kind] != want {
			t.Errorf("%s: %d went, want %d: %+v", kind, e.Done[kind], want, e.Done)
		}
	}
	eventually(t, "the agent to end", func() bool {
		_, err := os.Stat(filepath.Dir(procFile(pid, "status")))
		return err != nil
	})
	for _, path := range []string{
		"/api/managed-threads/" + own.ID, "/api/managed-threads/" + receipt.ThreadID, "/api/schedules/" + schedule.ID, "/api/triggers/" + trigger.ID,
		"/api/executions/" + own.ExecutionID, "/api/managed-agents/" + own.ManagedAgentID,
	} {
		if a := c.read(path); a.status != 404 {
			t.Errorf("%s: %s", path, a)
		}
	}
	for _, path := range []string{"/api/managed-threads", "/api/executions", "/api/schedules", "/api/triggers", "/api/managed-agents", "/api/workspaces", "/api/audit/export"} {
		if a := c.read(path); a.status != 200 || strings.Contains(string(a.body), secret) || strings.Contains(string(a.body), subject) {
			t.Errorf("%s: %s", path, a)
		}
	}
	now, err := c.api.GetThread(ctx, others.ID)
	if err != nil || now.EndedAt != nil {
		t.Errorf("the thread of somebody else: %+v, %v", now, err)
	}
	if _, err := os.Stat(filepath.Join(now.Workspace.Path, "note.txt")); err != nil {
		t.Errorf("the workspace of somebody else: %v", err)
	}
	if _, err := os.Stat(own.Workspace.Path); err == nil {
		t.Error("the workspace is still there")
	}
	c.stop()
	inFiles(t, c.dir, secret, subject)
}
