package runtime_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// noSpaces is a check of references.
func noSpaces(ref string) error {
	if ref == "" || strings.Contains(ref, " ") {
		return errors.New("is no reference")
	}
	return nil
}

func TestImageChoice(t *testing.T) {
	c := runtime.ImageChoice{Images: map[string]string{"claude": "lab/claude:2"}, AllowImages: []string{"lab/exact:1", "lab/tools/*"}}
	c.SetDefaults()
	for _, tt := range []struct{ kind, image, want string }{
		{"claude", "", "lab/claude:2"},
		{"codex", "", "wardroom/codex"},
		{"shell", "", "wardroom/base"},
		{"shell", "lab/claude:2", "lab/claude:2"},
		{"shell", "wardroom/base", "wardroom/base"},
		{"claude", "wardroom/base", "wardroom/base"},
		{"shell", "lab/exact:1", "lab/exact:1"},
		{"shell", "lab/tools/go:1", "lab/tools/go:1"},
		{"shell", "lab/exact:12", ""},
		{"shell", "lab/tool", ""},
		{"shell", "lab/tools/a b", ""},
	} {
		got, err := c.Choose(&runtime.Spec{Type: tt.kind, Image: tt.image}, noSpaces)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s with %q: %q, %v; want %q", tt.kind, tt.image, got, err, tt.want)
		}
		if err != nil && (runtime.ErrorCode(err) != runtime.CodeInvalidSpec || runtime.AsError(err).Field != "image") {
			t.Errorf("%s with %q: %v", tt.kind, tt.image, err)
		}
	}
	if found := c.Problems(noSpaces); len(found) != 0 {
		t.Errorf("problems of a good one: %v", found)
	}
	c = runtime.ImageChoice{Image: "a b", Images: map[string]string{"shell": "c d"}, AllowImages: []string{"*", "fine", "e f"}}
	c.SetDefaults()
	want := []string{"/allowImages/2", "/image", "/images/shell"}
	if got := slices.Sorted(maps.Keys(c.Problems(noSpaces))); !slices.Equal(got, want) {
		t.Errorf("problems at %q, want %q", got, want)
	}
}
