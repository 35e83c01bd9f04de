package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
)

// A thread of a real command line that is over goes on: another has its workspace, with the files in it.
func TestContinueThread(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			s := staffed(t)
			spec := threadSpec(tool, repository(t), "SAY[half of it is made]")
			spec.Policy.CompleteAfterTurns = 1
			r := s.spawnThread(spec)
			r = s.awaitThread(r.ID, "its end", func(r *client.Thread) bool { return r.Over() })
			if err := os.WriteFile(filepath.Join(r.Workspace.Path, "half.txt"), []byte("half\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			next, err := s.api.ContinueThread(t.Context(), r.ID, client.ThreadContinue{Message: "SAY[all of it is made]"})
			if err != nil {
				t.Fatal(err)
			}
			next = s.awaitThread(next.ID, "its answer", func(r *client.Thread) bool { return r.Over() })
			if next.Status != client.ThreadCompleted || next.Continues != r.ID || next.Workspace.Path != r.Workspace.Path || next.TurnCount != 1 {
				t.Fatalf("it went on as %s", next.Body)
			}
			if r.SessionID == "" || next.SessionID != r.SessionID || next.ManagedAgentID == r.ManagedAgentID {
				t.Errorf("it went on in the session %q of %s, was %q of %s", next.SessionID, next.ManagedAgentID, r.SessionID, r.ManagedAgentID)
			}
			diff, err := s.api.DiffThread(t.Context(), next.ID, 0)
			if err != nil || !strings.Contains(diff.Patch, "+half") {
				t.Errorf("diff %+v, %v", diff, err)
			}
		})
	}
}
