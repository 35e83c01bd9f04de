package workspace_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// A repository whose objects have SHA-256 hashes is like any other.
func TestSHA256(t *testing.T) {
	for name, spec := range map[string]core.WorkspaceSpec{"whole": {}, "shallow": {Depth: 1}, "partial": {Filter: "blob:none"}, "submodules": {Submodules: true}} {
		t.Run(name, func(t *testing.T) {
			src := initSource(t, filepath.Join(t.TempDir(), "source"), "sha256")
			inner := initSource(t, filepath.Join(t.TempDir(), "inner"), "sha256")
			if spec.Submodules {
				src.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.url(), "lib")
				src.commit("submodule")
			}
			r := newRig(t)
			src.write("README.md", "# changed\n")
			spec.Repo = src.url()
			w := r.provision("x", spec)
			if len(w.BaseCommit) != 64 || len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0], "1 changed file") {
				t.Errorf("%+v", w)
			}
			src.git("checkout", "-q", "README.md")
			write(t, filepath.Join(w.Path, "new.txt"), "new\n")
			if status := r.agentGit(w, "status", "--porcelain"); status != "?? new.txt\n" {
				t.Errorf("status %q", status)
			}
			d, err := r.DiffWorkspace(t.Context(), w.ID, "", 0)
			if err != nil || !strings.Contains(d.Patch, "+new") || d.Changes.Uncommitted != 1 {
				t.Fatalf("%+v, %v", d, err)
			}
			if _, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true}, "work"); err != nil {
				t.Fatal(err)
			}
			src.write("theirs.txt", "theirs\n")
			tip := src.commit("theirs")
			if got, err := r.UpdateWorkspace(t.Context(), w.ID, core.WorkspaceRebase); err != nil || !got.Changed || got.BaseCommit != tip {
				t.Fatalf("%+v, %v", got, err)
			}
			artifacts, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Push: true}, "")
			if err != nil || len(artifacts) != 2 || src.git("rev-parse", w.WorkBranch) != artifacts[0].Value {
				t.Errorf("%+v, %v", artifacts, err)
			}
			byHash := core.WorkspaceSpec{Repo: src.url(), Branch: tip}
			if made := r.provision("y", byHash); made.BaseCommit != tip {
				t.Errorf("of the hash: %+v", made)
			}
			byHash.Branch = strings.Repeat("1", 40)
			_, err = r.ReserveWorkspace(t.Context(), core.WorkspaceRequest{ExecutionID: "exec_1", Role: "coder", Name: "z", Spec: byHash})
			wantError(t, err, core.CodeValidation, "no branch, tag or commit")
			got, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{w.ID}, Mirrors: true})
			if err != nil || !got[0].Removed {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
