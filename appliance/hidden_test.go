package appliance_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// moments are what answers have of the time at which they were given.
var moments = regexp.MustCompile(`"(at|requestId|since|until|timestamp)":"[^"]*",?`)

// Nothing that a caller may ask for changes by what happens to things that are not open to them: no row, no total, no count, no
// page. Every operation that takes no id is asked before and after.
func TestHiddenRowsTellNothing(t *testing.T) {
	s := openWithRuntime(t, "")
	ctx := t.Context()
	admin := s.client(s.adminKey)
	for name, text := range map[string]string{"echo": guardedEcho, "open": echo} {
		_, err := admin.CreatePattern(ctx, client.PatternInput{Definition: text, Name: name})
		s.wants(err, 0)
	}
	ann, _ := s.key("ann", "read", "execute", "agents:manage")
	bob, key := s.key("bob", "read", "execute", "agents:manage")
	make1 := func(c *client.Client, pattern string, n int) {
		t.Helper()
		for range n {
			e, err := c.ExecuteAsync(ctx, client.ExecuteRequest{Pattern: pattern, Input: []byte(`{}`)})
			s.wants(err, 0)
			_, err = c.StartBatch(ctx, client.BatchRequest{Pattern: pattern, Inputs: []json.RawMessage{json.RawMessage(`{}`)}})
			s.wants(err, 0)
			_, err = c.CreateSchedule(ctx, client.ScheduleSpec{
				ScheduleSpec: wire.ScheduleSpec{Name: "of " + e.ExecutionID, ScheduleTiming: wire.ScheduleTiming{Cron: "0 0 1 1 *"}},
				Target:       client.Target{Execution: &wire.ExecutionTarget{Pattern: pattern, Input: []byte(`{}`)}},
			})
			s.wants(err, 0)
			thread, err := c.SpawnThread(ctx, client.ThreadSpec{ExecutionID: e.ExecutionID, AgentType: runtimetest.Type, Objective: "true"})
			s.wants(err, 0)
			coretest.WaitFor(t, "the thread", func() bool {
				thread, err = c.GetThread(ctx, thread.ID)
				return err == nil && thread.ManagedAgentID != "" && thread.Workspace != nil
			})
		}
	}
	make1(ann, "echo", 1)
	make1(bob, "open", 3)
	var paths []string
	for _, c := range s.cells() {
		streams := []string{"/api/events", "/api/agents/connect"}
		if c.method == http.MethodGet && !strings.Contains(c.path, "{") && c.scope != core.ScopeAdmin && c.scope != "audit:read" && !slices.Contains(streams, c.path) {
			paths = append(paths, c.path)
		}
	}
	slices.Sort(paths)
	if len(paths) < 15 {
		t.Fatalf("only %q", paths)
	}
	look := func() map[string]string {
		seen := map[string]string{}
		for _, path := range paths {
			if path == "/api/metrics" { // sums of all there is, for who monitors it
				continue
			}
			for _, query := range []string{"", "?limit=1", "?limit=2", "?limit=2&offset=1", "?limit=1&offset=5"} {
				status, text := s.askFor(key.Key, http.MethodGet, path+query)
				if status >= 500 {
					t.Errorf("%s%s: %d %s", path, query, status, text)
				}
				seen[path+query] = moments.ReplaceAllString(text, "")
			}
		}
		return seen
	}
	settled := func() map[string]string { // agents of threads become ready by and by
		var last map[string]string
		coretest.WaitFor(t, "what bob made to settle", func() bool {
			now := look()
			same := maps.Equal(now, last)
			last = now
			return same
		})
		return last
	}
	before := settled()
	make1(ann, "echo", 3)
	after := settled()
	for at, text := range before {
		if after[at] != text {
			t.Errorf("%s tells of what is hidden:\n%s\n%s", at, text, after[at])
		}
	}
	if !strings.Contains(before["/api/executions"], `"total":6`) || !strings.Contains(before["/api/overview"], `"partial":true`) {
		t.Errorf("bob sees %s and %s", before["/api/executions"], before["/api/overview"])
	}
	// Who may read everything counts everything.
	all, err := admin.ListExecutions(ctx, client.ExecutionFilter{})
	s.wants(err, 0)
	if all.Total != 14 {
		t.Errorf("administrators count %d executions", all.Total)
	}
}
