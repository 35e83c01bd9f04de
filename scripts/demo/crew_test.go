package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestFinishedSteps(t *testing.T) {
	steps := finishedSteps(&client.Timeline{Timeline: wire.Timeline{Entries: []client.TimelineEntry{
		{Kind: client.TimelineStep, ID: "0", Type: "assign", Status: "completed"},
		{Kind: client.TimelineTask, ID: "task_1", Step: "0", Status: "completed"},
		{Kind: client.TimelineStep, ID: "1", Type: "parallel", Status: "running"},
		{Kind: client.TimelineStep, ID: "1.0", Type: "review", Status: "completed"},
		{Kind: client.TimelineStep, ID: "1.1", Type: "assign", Status: "running"},
	}}})
	if got := strings.Join(slices.Sorted(maps.Keys(steps)), " "); got != "0 1.0" {
		t.Errorf("got %q", got)
	}
}

func TestStepProblems(t *testing.T) {
	entries := record(t, "ada", `
{"time":"2026-01-01T00:00:01Z","msg":"finished","task":"t1","execution":"e1","step":"0"}
{"time":"2026-01-01T00:00:02Z","msg":"began","task":"t2","execution":"e1","step":"1"}
{"time":"2026-01-01T00:00:03Z","msg":"finished","task":"t3","execution":"e2","step":"1"}
{"time":"2026-01-01T00:00:04Z","msg":"finished","task":"t4","execution":"e1","step":"2"}
{"time":"2026-01-01T00:00:05Z","msg":"finished","task":"t5","execution":"e1","step":"2"}`)
	problems := stepProblems("e1", map[string]bool{"0": true, "1": true, "2": true}, entries)
	slices.Sort(problems)
	want := "step 1 of e1 was finished 0 times by agents; step 2 of e1 was finished 2 times by agents"
	if got := strings.Join(problems, "; "); got != want {
		t.Errorf("problems %q, want %q", got, want)
	}
}
