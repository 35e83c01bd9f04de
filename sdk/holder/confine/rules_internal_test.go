package confine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestAllowed looks at what gets a rule, on any kernel.
func TestAllowed(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data/store/key", "data/other/file", "beside/file", "file"} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "data/store"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	var got []string
	shut := []string{filepath.Join(top, "data/store"), filepath.Join(top, "data/missing")}
	if err := allowed(shut, func(path string) {
		if rest, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rest) {
			got = append(got, rest)
		}
		if Within(filepath.Join(top, "data/store"), path) {
			t.Errorf("%s leads to what is shut, and is allowed", path)
		}
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"beside", "data/other", "file"}; !slices.Equal(got, want) {
		t.Errorf("allowed %q, want %q", got, want)
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		path, dir string
		want      bool
	}{{"/a/b", "/a", true}, {"/a", "/a", true}, {"/ab", "/a", false}, {"/a", "/", true}, {"/", "/a", false}} {
		if got := Within(tt.path, tt.dir); got != tt.want {
			t.Errorf("Within(%q, %q) is %t", tt.path, tt.dir, got)
		}
	}
}
