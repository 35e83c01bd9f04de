package workspace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/workspace"
)

// What a repository has that is not supported is an error of the request.
func TestProvisionRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make    func(t *testing.T) *source
		then    func(src *source) // after it is reserved
		failure string
		word    string
	}{
		"SHA-256":                          {shaSource, remake, "object_format", "SHA-256"},
		"a list of files beyond the bound": {wideSource, func(*source) {}, "too_many_files", "smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			src := c.make(t)
			r := newRig(t)
			w := r.reserve("x", src.spec())
			c.then(src)
			_, err := r.ProvisionWorkspace(t.Context(), w.ID)
			e := wantError(t, err, core.CodeValidation, src.url(), c.word)
			if e.Details["field"] != "preparation.workspace.repo" || e.Details["failure"] != c.failure {
				t.Errorf("details %v", e.Details)
			}
		})
	}
}

func shaSource(t *testing.T) *source { return newSource(t) }

// remake makes a source anew, of objects in the other format.
func remake(src *source) {
	if err := os.RemoveAll(src.dir); err != nil {
		src.t.Fatal(err)
	}
	initSource(src.t, src.dir, "sha256")
}

// wideSource has one directory of long names in many places: few objects, and a list of files of 90 MB.
func wideSource(t *testing.T) *source {
	s := newSource(t)
	tree := func(entries string) string {
		cmd := gitCommand(s.dir, nil, "mktree")
		cmd.Stdin = strings.NewReader(entries)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	blob := s.git("rev-parse", "HEAD:README.md")
	var files, dirs strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&files, "100644 blob %s\t%s%d\n", blob, strings.Repeat("x", 240), i)
	}
	inner := tree(files.String())
	for i := range 300 {
		fmt.Fprintf(&dirs, "040000 tree %s\td%d\n", inner, i)
	}
	s.git("update-ref", "refs/heads/main", s.git("commit-tree", "-m", "wide", tree(dirs.String())))
	return s
}

// A git that is killed while it looks for the commit has not found it missing.
func TestProvisionWithAKilledGit(t *testing.T) {
	src := newSource(t)
	r := newRig(t, func(o *workspace.Options) { o.Git = gitThat(t, "*\" cat-file -e \"*) kill -9 $$ ;;") })
	w := r.reserve("x", src.spec())
	_, err := r.ProvisionWorkspace(t.Context(), w.ID)
	if e := wantError(t, err, core.CodeInternal, "killed"); !e.Unavailable {
		t.Errorf("%+v", e)
	}
}
