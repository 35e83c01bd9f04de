package maskpath_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/maskpath"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		path string
		want []string // nil: refused
	}{
		{"input.ssn", []string{"input", "ssn"}},
		{"$.input.ssn", []string{"input", "ssn"}},
		{"*.password", []string{"*", "password"}},
		{"**", []string{"**"}},
		{"a.**.**.b", []string{"a", "**", "b"}},
		{"input.items[*].name", []string{"input", "items", "name"}},
		{"input.items[].name", []string{"input", "items", "name"}},
		{"card*", []string{"card*"}},
		{"", nil},
		{"a..b", nil},
		{".a", nil},
		{"a.", nil},
		{"a**b", nil},
		{"a[0].b", nil},
		{"a b", nil},
		{strings.Repeat("a.", maskpath.MaxNames) + "a", nil},
		{strings.Repeat("a", maskpath.MaxBytes+1), nil},
	} {
		got, err := maskpath.Parse(tt.path)
		if (err == nil) != (tt.want != nil) || !slices.Equal(got, tt.want) {
			t.Errorf("Parse(%q) = %q, %v; want %q", tt.path, got, err, tt.want)
		}
	}
}
