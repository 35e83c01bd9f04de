package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/internal/clip"
)

func TestText(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""},
		{"aaa€", 5, "aaa"}, {"aaa€", 6, "aaa€"}, {"€", 2, ""}, {"\x80\x80\x80", 2, ""},
	} {
		if got := clip.Text(test.text, test.n); got != test.want {
			t.Errorf("%q cut to %d is %q, want %q", test.text, test.n, got, test.want)
		}
	}
	if got := clip.Marked("aaa€", 4, "..."); got != "aaa..." {
		t.Errorf("marked: %q", got)
	}
	if got := clip.Marked("aaa", 3, "..."); got != "aaa" {
		t.Errorf("not cut: %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("aaa€", 5)
	f.Fuzz(func(t *testing.T, text string, n int) {
		got := clip.Text(text, n)
		if len(got) > max(n, 0) && n < len(text) || !strings.HasPrefix(text, got) || utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q cut to %d is %q", text, n, got)
		}
	})
}
