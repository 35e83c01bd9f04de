package screen_test

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
)

func TestURL(t *testing.T) {
	for _, tt := range []struct {
		name string
		rows []string
		want string
	}{
		{"None", []string{"nothing here", ""}, ""},
		{"OneRow", []string{"Go to https://a.b/c?d=e now", "https://a.b/second"}, "https://a.b/c?d=e"},
		{"Wrapped", []string{"  https://a.b/aaaaaaaaaaaaaa", "  bbbbbbbbbbbbbbbbbbbbbbbbbb", "  ccc", "", "  next"},
			"https://a.b/aaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbccc"},
		{"WordsFollow", []string{"https://a.b/aaaaaaaaaaaaaaaa", "Paste the code here"}, "https://a.b/aaaaaaaaaaaaaaaa"},
		{"ShortRow", []string{"a row that is a good deal longer", "https://a.b/x", "word"}, "https://a.b/x"},
		{"Frame", []string{"│ https://a.b/aaaaaaaaaaaa │", "│ bbb                      │"}, "https://a.b/aaaaaaaaaaaa"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := screen.URL(tt.rows, "https://"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzURL(f *testing.F) {
	f.Add("https://a.b/c", "d", "e f")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		screen.URL([]string{a, b, c}, "https://")
	})
}
