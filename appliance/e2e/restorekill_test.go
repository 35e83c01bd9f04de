package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// TestRestoreKilled: a restore that is killed at any moment leaves no store, or a whole one, and the next one succeeds.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	const patterns = 40
	filler := strings.Repeat("all work and no play ", 4000)
	for n := range patterns {
		_, err := s.api.CreatePattern(t.Context(), client.PatternInput{
			Name:       fmt.Sprintf("filled-%02d", n),
			Definition: fmt.Sprintf("name: filled-%02d\nversion: 1.0.0\ndescription: filler %d\nagents: {capabilities: [x]}\nconfig: {text: %q}\n", n, n, filler),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(s.dir, "w.backup")
	offline(t, "backup", "create", file, "--secrets", "--server", "unix:"+filepath.Join(s.dir, "store", "admin.sock"))
	s.stop()

	root := t.TempDir()
	into := filepath.Join(root, "data")
	restore := func() *exec.Cmd { return exec.Command(binary, "backup", "restore", file, "--data-dir", into) }
	killed, whole := 0, 0
	for round := range 12 {
		cmd := restore()
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// It is killed once so and so much lies beside the place of the store.
		deadline := time.After(patience)
		err := error(nil)
		for over := false; !over; {
			select {
			case err = <-ended:
				over = true
			case <-deadline:
				t.Fatal("the restore does not end")
			default:
				if size, any := sizeBelow(root); any && size >= int64(round)*(1<<18) {
					_ = cmd.Process.Kill()
					err = <-ended
					over = true
				}
			}
		}
		if err != nil {
			killed++
		}
		if _, statErr := os.Stat(into); statErr == nil {
			whole++
			offline(t, "store", "check", "--data-dir", into)
			if err := os.RemoveAll(into); err != nil {
				t.Fatal(err)
			}
		} else if err == nil {
			t.Fatalf("the restore succeeded and made nothing:\n%s", &said)
		}
	}
	if killed == 0 {
		t.Error("no restore was killed in the middle")
	}
	t.Logf("%d restores were killed, %d left a whole store", killed, whole)
	if out, err := restore().CombinedOutput(); err != nil {
		t.Fatalf("the last restore: %v\n%s", err, out)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("beside the store is left: %v, %v", left, err)
	}
	twin := configured(t, t.TempDir(), into, "")
	twin.start()
	list, err := twin.api.ListPatterns(t.Context(), client.PatternFilter{Search: "filled-", Page: client.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, p := range list.Patterns {
		if strings.HasPrefix(p.Name, "filled-") {
			found++
		}
	}
	if found != patterns {
		t.Errorf("%d patterns are there, want %d", found, patterns)
	}
}

// sizeBelow returns how much lies below a directory, and whether there is anything.
func sizeBelow(dir string) (size int64, any bool) {
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == dir {
			return nil //nolint:nilerr // what goes meanwhile is gone
		}
		any = true
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size, any
}
