package launchertest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Crashed returns a copy of a directory as a SIGKILL of the process that writes to it would leave it. The writer
// goes on meanwhile, so the copy is made again until nothing was written during one: files of different moments would
// be a state that no crash leaves.
func Crashed(t testing.TB, dir string) string {
	t.Helper()
	parent := t.TempDir()
	deadline := time.Now().Add(Patience)
	for n := 0; ; n++ {
		before, err := contents(dir)
		to := filepath.Join(parent, fmt.Sprint(n))
		if err == nil {
			err = os.CopyFS(to, os.DirFS(dir))
		}
		after := ""
		if err == nil {
			after, err = contents(dir)
		}
		if err == nil && before == after {
			return to
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not stay as it is for the time of a copy: %v", dir, err)
		}
	}
}

// contents reports what there is in a directory, as far as a writer changes it.
func contents(dir string) (string, error) {
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return all.String(), err
}
