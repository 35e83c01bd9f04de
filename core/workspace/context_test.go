package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestWriteContext(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	files := []core.ContextFile{
		{Path: ".wardroom/thread-memory.md", Content: "remember\n"}, {Path: ".wardroom/deep/er/x.md", Content: "deep\n"},
		{Path: "notes.md", Content: "notes\n"}, {Path: "README.md", Content: "other\n"},
	}
	for range 2 { // again is no problem
		if err := r.WriteContext(t.Context(), w.ID, w.ThreadID, files); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		if got := read(t, filepath.Join(w.Path, file.Path)); got != file.Content {
			t.Errorf("%s holds %q", file.Path, got)
		}
	}
	status := r.agentGit(w, "status", "--porcelain", "--untracked-files=all")
	if status != " M README.md\n?? notes.md\n" {
		t.Errorf("an agent's git status shows %q", status)
	}
	if got := read(t, filepath.Join(src.dir, "README.md")); got != "# hello\n" {
		t.Errorf("the source was changed: %q", got)
	}
}

func TestCheckContext(t *testing.T) {
	r := newRig(t)
	for name, path := range map[string]string{
		"empty": "", "absolute": "/etc/passwd", "parent": "../x", "parent inside": "a/../../x", "parent at the end": "a/..",
		"dot": "./a", "empty part": "a//b", "slash at the end": "a/", "NUL": "a\x00b", "newline": "a\nb", "backslash": `a\..\b`,
		"git": ".git/hooks/pre-commit", "git file": ".git", "git by case": ".GiT/config", "git below": "sub/.git/config",
		"git with a dot": ".git./config", "git with a blank": ".git /config", "short name": "git~1/config", "stream": ".git::$INDEX_ALLOCATION/config",
		"invisible": ".g\u200cit/config", "broken UTF-8": "a\xffb", "long": strings.Repeat("a", 300), "deep": strings.Repeat("a/", 20) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			err := r.CheckContext([]core.ContextFile{{Path: "good.md"}, {Path: path, Content: "x"}})
			e := wantError(t, err, core.CodeValidation)
			if e.Details["field"] != "preparation.contextFiles[1].path" {
				t.Errorf("field is %v", e.Details["field"])
			}
		})
	}
	large := strings.Repeat("x", 1<<20)
	for name, files := range map[string][]core.ContextFile{
		"too large":        {{Path: "a", Content: large + "x"}},
		"100 MB":           {{Path: "a", Content: strings.Repeat(large, 100)}},
		"too large in all": {{Path: "a", Content: large}, {Path: "b", Content: large}, {Path: "c", Content: large}, {Path: "d", Content: large}, {Path: "e", Content: "x"}},
		"twice":            {{Path: "a"}, {Path: "a"}},
		"file and folder":  {{Path: "a"}, {Path: "a/b/c"}},
		"too many":         make([]core.ContextFile, 65),
	} {
		t.Run(name, func(t *testing.T) { wantError(t, r.CheckContext(files), core.CodeValidation) })
	}
	if err := r.CheckContext([]core.ContextFile{{Path: ".wardroom/a b.md"}, {Path: "größe/ü.md"}, {Path: ".github/x"}, {Path: "...x/y"}}); err != nil {
		t.Errorf("good paths are refused: %v", err)
	}
}

// Links in the workspace, of the repository or made by an agent, lead nowhere.
func TestWriteContextFollowsNoLink(t *testing.T) {
	src := newSource(t)
	outside := t.TempDir()
	for link, target := range map[string]string{".wardroom": outside, "linked": outside, "inside": "src", "dangling": filepath.Join(outside, "new"), "file.md": filepath.Join(outside, "victim")} {
		if err := os.Symlink(target, filepath.Join(src.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(outside, "victim"), "untouched")
	src.commit("links")
	r := newRig(t)
	w := r.provision("x", src.spec())
	for _, path := range []string{".wardroom/thread-memory.md", "linked/x", "inside/x", "dangling", "dangling/x", "file.md", "src"} {
		err := r.WriteContext(t.Context(), w.ID, w.ThreadID, []core.ContextFile{{Path: path, Content: "evil"}})
		wantError(t, err, core.CodeValidation, path)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 || read(t, filepath.Join(outside, "victim")) != "untouched" {
		t.Errorf("something was written outside: %v, %v", entries, err)
	}
	// A file with a second name elsewhere is replaced, not written through.
	if err := os.Link(filepath.Join(outside, "victim"), filepath.Join(w.Path, "hard.md")); err != nil {
		t.Skip("no hard links here")
	}
	if err := r.WriteContext(t.Context(), w.ID, w.ThreadID, []core.ContextFile{{Path: "hard.md", Content: "evil"}}); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(outside, "victim")) != "untouched" {
		t.Error("a hard link was written through")
	}
}

func TestWriteContextNeedsAReadyWorkspace(t *testing.T) {
	r := newRig(t)
	w := r.reserve("x", core.WorkspaceSpec{})
	files := []core.ContextFile{{Path: "a", Content: "b"}}
	wantError(t, r.WriteContext(t.Context(), w.ID, w.ThreadID, files), core.CodeConflict, "reserved")
	wantError(t, r.WriteContext(t.Context(), "ws_nonsense", "", files), core.CodeNotFound)
}

// Who prepares a workspace writes nothing into it once a thread has taken it up, and that thread does.
func TestWriteContextOfTakenWorkspace(t *testing.T) {
	r := newRig(t)
	w := r.provision("x", core.WorkspaceSpec{})
	file := func(content string) []core.ContextFile { return []core.ContextFile{{Path: "a.md", Content: content}} }
	if err := r.WriteContext(t.Context(), w.ID, "", file("prepared")); err != nil {
		t.Fatal(err)
	}
	r.adopt(w.ID, "thread_1")
	wantError(t, r.WriteContext(t.Context(), w.ID, "", file("late")), core.CodeConflict, "another thread")
	if got := read(t, filepath.Join(w.Path, "a.md")); got != "prepared" {
		t.Errorf("the file of the thread is %q", got)
	}
	if err := r.WriteContext(t.Context(), w.ID, "thread_1", file("its own")); err != nil {
		t.Error(err)
	}
}

// What a server that was killed in the midst of a context file left of it is no work; files that are only called alike are.
func TestHalfAContextFile(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	for _, name := range []string{".wardroom-01ARZ3NDEKTSV4RRFFQ69G5FAV", "src/.wardroom-01ARZ3NDEKTSV4RRFFQ69G5FAV", ".wardroom-notes"} {
		write(t, filepath.Join(w.Path, name), "half")
	}
	if _, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true}, "work"); err != nil {
		t.Fatal(err)
	}
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.FileCount != 1 || changes.Files[0].Path != ".wardroom-notes" || changes.Uncommitted != 0 {
		t.Errorf("%+v, %v", changes, err)
	}
	// A mirror of an earlier version is brought up to date without a word.
	write(t, filepath.Join(r.mirror(), "info/exclude"), "/.wardroom/\n")
	if _, err := r.InspectWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	r.Service.Close()
	if text := r.log.String(); strings.Contains(text, "changed by somebody") {
		t.Error(text)
	}
}
