package schema_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// TestTab: a file that is indented with tabs gets an error that says so, at the line of the first.
func TestTab(t *testing.T) {
	var into struct {
		Server struct {
			Listen string `yaml:"listen"`
		} `yaml:"server"`
	}
	var at schema.Place
	var got string
	r := schema.YAML{Report: func(place schema.Place, _, reason string) { at, got = place, reason }}
	r.Read([]byte("server:\n\tlisten: x\n"), &into)
	if want := "is not YAML: there is a tab, and YAML is indented with spaces only"; got != want || at.Line != 2 {
		t.Errorf("line %d: %q, want line 2: %q", at.Line, got, want)
	}
}
