package agentcli

import (
	"testing"
)

func TestKeyboard(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want pressed
	}{
		{"a line", []string{"ec", "ho hi\r"}, pressed{enter: true, at: place{1, 0}, line: "echo hi"}},
		{"an edited line", []string{"ex\x7fcho", "\r"}, pressed{enter: true, at: place{1, 0}}},
		{"a line from the history", []string{"\x1b[A", "\r"}, pressed{enter: true, at: place{1, 0}}},
		{"a line that was begun anew", []string{"rubbish\x15", "ls\n"}, pressed{enter: true, at: place{1, 0}, line: "ls"}},
		{"two lines", []string{"one\rtwo", "\r"}, pressed{enter: true, at: place{0, 0}, line: "one"}},
		{"a paste", []string{"\x1b[200~one\ntwo\x1b[20", "1~\r"}, pressed{enter: true, at: place{1, 0}, line: "one\ntwo"}},
		{"nothing yet", []string{"\x1b[200~one\ntwo\r\x03"}, pressed{}},
		{"an interrupt", []string{"one\x03"}, pressed{interrupt: true}},
		{"an interrupt of a line", []string{"one\r\x03"}, pressed{enter: true, interrupt: true, line: "one"}},
		{"a line after an interrupt", []string{"one\x03two\r"}, pressed{enter: true, line: "two"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := 0
			k := &keyboard{}
			k.notify = func() { told++ }
			for i, keys := range tt.keys {
				k.typed([]byte(keys), place{offset: uint64(i)})
			}
			if got := k.take(); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if told > 1 || (told == 1) != (tt.want != pressed{}) {
				t.Errorf("told %d times", told)
			}
		})
	}
}

func FuzzKeyboard(f *testing.F) {
	f.Add("echo\r", 2)
	f.Add("\x1b[200~a\rb\x1b[201~\r\x03", 7)
	f.Fuzz(func(t *testing.T, keys string, cut int) {
		k := &keyboard{notify: func() {}}
		cut = min(max(cut, 0), len(keys))
		k.typed([]byte(keys[:cut]), place{})
		k.typed([]byte(keys[cut:]), place{})
		if got := k.take(); len(got.line) > maxTypedLine || len(k.line) > maxTypedLine || len(k.rest) >= len(pasteBegin) {
			t.Errorf("it keeps %d, %d and %d bytes", len(got.line), len(k.line), len(k.rest))
		}
	})
}
