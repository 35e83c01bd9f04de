package threads

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
)

// The data of events says all that core's types do, with the times that the API has.
func TestMoments(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 20_345_678, time.FixedZone("", 3600))
	const wire = `"2026-05-04T02:02:01.020Z"`
	plain, _ := json.Marshal(at)
	ws := &core.Workspace{ID: "ws_1", Path: "/x", Status: core.WorkspaceReady, Warnings: []string{"w"}, CreatedAt: at, ExpiresAt: &at, RemovedAt: &at}
	done := &core.Completion{
		State: core.CompletionPartial, Summary: "s", Artifacts: []core.Artifact{}, Tests: &core.TestReport{Run: 1},
		Changes: &core.WorkspaceChanges{
			Commits: []core.WorkspaceCommit{{Hash: "abc", Subject: "x", Author: "a", Time: at}}, Files: []core.WorkspaceFile{}, CommitCount: 7,
		},
	}
	for name, pair := range map[string][2]any{
		"Workspace":  {ws, dataOfWorkspace(ws)},
		"Completion": {done, dataOfCompletion(done)},
		"NoChanges":  {&core.Completion{}, dataOfCompletion(&core.Completion{})},
	} {
		t.Run(name, func(t *testing.T) {
			var want, got map[string]any
			text, err := json.Marshal(pair[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), string(plain), wire)), &want); err != nil {
				t.Fatal(err)
			}
			if text, err = json.Marshal(pair[1]); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(want)
			b, _ := json.Marshal(got)
			if string(a) != string(b) {
				t.Errorf("got  %s\nwant %s", b, a)
			}
		})
	}
	if dataOfWorkspace(nil) != nil {
		t.Error("no workspace has data")
	}
}
