package vt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

func TestEncodeKeys(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		app        bool
	}{
		{name: "ENTER", want: "\r"}, {name: "enter", want: "\r"}, {name: "TAB", want: "\t"}, {name: "SHIFT_TAB", want: "\x1b[Z"},
		{name: "ESC", want: "\x1b"}, {name: "Escape", want: "\x1b"}, {name: "BACKSPACE", want: "\x7f"}, {name: "SPACE", want: " "},
		{name: "DELETE", want: "\x1b[3~"}, {name: "INSERT", want: "\x1b[2~"}, {name: "PAGE_UP", want: "\x1b[5~"}, {name: "PAGE_DOWN", want: "\x1b[6~"},
		{name: "UP", want: "\x1b[A"}, {name: "DOWN", want: "\x1b[B"}, {name: "RIGHT", want: "\x1b[C"}, {name: "LEFT", want: "\x1b[D"},
		{name: "UP", app: true, want: "\x1bOA"}, {name: "HOME", want: "\x1b[H"}, {name: "HOME", app: true, want: "\x1bOH"}, {name: "END", want: "\x1b[F"},
		{name: "CTRL_UP", app: true, want: "\x1b[1;5A"}, {name: "SHIFT_ALT_LEFT", want: "\x1b[1;4D"}, {name: "ctrl_page_up", want: "\x1b[5;5~"},
		{name: "F1", want: "\x1bOP"}, {name: "F4", want: "\x1bOS"}, {name: "F5", want: "\x1b[15~"}, {name: "F12", want: "\x1b[24~"},
		{name: "SHIFT_F3", want: "\x1b[1;2R"}, {name: "CTRL_F5", want: "\x1b[15;5~"},
		{name: "CTRL_A", want: "\x01"}, {name: "ctrl_c", want: "\x03"}, {name: "CTRL_Z", want: "\x1a"}, {name: "CTRL_SPACE", want: "\x00"},
		{name: "CTRL_[", want: "\x1b"}, {name: "CTRL_\\", want: "\x1c"}, {name: "CTRL_]", want: "\x1d"}, {name: "CTRL_^", want: "\x1e"}, {name: "CTRL__", want: "\x1f"},
		{name: "CTRL_BACKSPACE", want: "\b"}, {name: "ALT_CTRL_H", want: "\x1b\b"},
		{name: "ALT_B", want: "\x1bb"}, {name: "alt_b", want: "\x1bb"}, {name: "ALT_SHIFT_B", want: "\x1bB"}, {name: "ALT_ENTER", want: "\x1b\r"},
		{name: "ALT_BACKSPACE", want: "\x1b\x7f"}, {name: "ALT__", want: "\x1b_"}, {name: "ALT_é", want: "\x1bé"},
		{name: "a", want: "a"}, {name: "A", want: "A"}, {name: "1", want: "1"}, {name: "_", want: "_"}, {name: "é", want: "é"}, {name: "漢", want: "漢"},
		{name: "👍🏽", want: "👍🏽"}, {name: " ", want: " "},
	} {
		got, err := vt.EncodeKeys([]string{tt.name}, tt.app)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	got, err := vt.EncodeKeys([]string{"y", "ENTER", "CTRL_C"}, false)
	if err != nil || string(got) != "y\r\x03" {
		t.Errorf("several: %q, %v", got, err)
	}
}

func TestEncodeKeysUnknown(t *testing.T) {
	for _, name := range []string{"", "RETURN", "F13", "F0", "CTRL_", "CTRL_ENTER", "SHIFT_ENTER", "CTRL_1", "ALT_ALT_x", "SHIFT_1", "\x1b", "\n", "ab", "\xff", "CTRL-C", "\u0085"} {
		got, err := vt.EncodeKeys([]string{"ENTER", name}, false)
		var unknown *vt.KeyError
		if !errors.As(err, &unknown) {
			t.Errorf("%q: %q, %v", name, got, err)
			continue
		}
		if got != nil || unknown.Index != 1 || unknown.Name != name {
			t.Errorf("%q: %q, %+v", name, got, unknown)
		}
		if text := err.Error(); !strings.Contains(text, "keys[1]") || !strings.Contains(text, "PAGE_DOWN") {
			t.Errorf("%q: the error %q does not help", name, text)
		}
	}
}

// TestKeyNames encodes every name that the documentation will show.
func TestKeyNames(t *testing.T) {
	for _, name := range vt.KeyNames() {
		if strings.Contains(name, " ") {
			continue // a description of several
		}
		if _, err := vt.EncodeKeys([]string{name}, false); err != nil {
			t.Error(err)
		}
	}
}

func FuzzEncodeKeys(f *testing.F) {
	for _, name := range []string{"ENTER", "ctrl_alt_shift_a", "ALT_é", "\xff", "_", "SHIFT_F3", "CTRL__"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := vt.EncodeKeys([]string{name}, true)
		if (err == nil) != (len(got) > 0) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	})
}
