package agentcli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestNote(t *testing.T) {
	state, screen, err := decodeNote(encodeNote([]byte(`{"a":1}`), []byte("screen")))
	if err != nil || string(state) != `{"a":1}` || string(screen) != "screen" {
		t.Errorf("%q %q %v", state, screen, err)
	}
}

func FuzzDecodeNote(f *testing.F) {
	f.Add(encodeNote([]byte("{}"), []byte("x")))
	f.Add([]byte("wrn\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		state, screen, err := decodeNote(b)
		if err == nil && !bytes.Equal(encodeNote(state, screen), b) {
			t.Error("a note does not come back")
		}
		decodeState(state, 1)
	})
}

func FuzzOpenHandle(f *testing.F) {
	rec := &record{Spec: runtime.Spec{ID: "a", Type: "t"}, Process: []byte("p"), Life: 1}
	f.Add("a", rec.handle().Data)
	f.Add("b", []byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, id string, data []byte) {
		r, err := openHandle(runtime.Handle{ID: id, Data: data})
		if err != nil {
			if code := runtime.ErrorCode(err); code != runtime.CodeInvalidHandle {
				t.Errorf("error %v", err)
			}
			return
		}
		if r.Spec.ID != id || !r.running() || r.Spec.Env != nil {
			t.Errorf("record %+v", r)
		}
	})
}

// unechoed is lines after the echo of a message, or all of them.
func unechoed(lines []string, text string) []string {
	if rest, ok := afterEcho(lines, text); ok {
		return rest
	}
	return lines
}

func TestAfterEcho(t *testing.T) {
	tests := []struct {
		name, lines, text, want string
	}{
		{"Prompt", "$ ls -l|a|b", "ls -l", "a|b"},
		{"Wrapped", "$ echo aaaa|bbbb|out", "echo aaaabbbb", "out"},
		{"Continued", "$ for i in 1; do|> echo $i|> done|1", "for i in 1; do\necho $i\ndone", "1"},
		{"PromptLooksAlike", "aa aab|x", "aab", "x"},
		{"NoEcho", "x|y", "hello", "x|y"},
		{"OnlyEcho", "> hi", "hi", ""},
		{"Empty", "", "hi", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(unechoed(strings.Split(tt.lines, "|"), tt.text), "|"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzAfterEcho(f *testing.F) {
	f.Add("$ ls\na", "ls")
	f.Add("\xff\n", "\xff\xfe")
	f.Fuzz(func(t *testing.T, lines, text string) {
		got := strings.Join(unechoed(strings.Split(lines, "\n"), text), "\n")
		if !strings.HasSuffix(lines, got) {
			t.Errorf("%q is not the end of %q", got, lines)
		}
	})
}

func TestWhole(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "a\xe2": 1, "a\xe2\x9c": 1, "a✳": 4, "\xff": 1, "\xf0\x9f\x98": 0, "\x80\x80\x80\x80": 4} {
		if got := whole([]byte(in), false); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
		if got := whole([]byte(in), true); got != len(in) {
			t.Errorf("%q at the end: %d", in, got)
		}
	}
}

func TestRedactor(t *testing.T) {
	r := newRedactor(map[string]string{
		"A_KEY": "longsecret", "GitToken": "longsecret-and-more", "C_KEY": "short", "D": "/home/someone", "E": "http://host:1234/x", "F": "http://u:p@host/",
		"STAGE": "production", "CREDENTIALS_FILE": "/home/someone/credentials",
	})
	got := r.text("longsecret-and-more longsecret short /home/someone http://host:1234/x http://u:p@host/ in production")
	if got != "*** *** short /home/someone http://host:1234/x *** in production" {
		t.Error(got)
	}
	v := r.object(map[string]any{"a": []any{"x longsecret", 1.0}, "b": map[string]any{"c": "longsecret"}})
	if s := strings.Join([]string{v["a"].([]any)[0].(string), v["b"].(map[string]any)["c"].(string)}, ","); s != "x ***,***" {
		t.Error(s)
	}
}

// TestRedactorOnBrokenLines has secrets as rows of a terminal hold them.
func TestRedactorOnBrokenLines(t *testing.T) {
	r := newRedactor(map[string]string{"A_KEY": "longsecret", "B_KEY": "longsecret-and-more", "C_TOKEN": "aabaabaac"})
	for text, want := range map[string]string{
		"x longsec\nret y":                     "x *** y",
		"longsecret-and\n-more\nlongsecret":    "***\n***",
		"l\no\nn\ng\ns\ne\nc\nr\ne\nt":         "***",
		"one\nlongsecre\nlongsec\n\nret\ntwo":  "one\nlongsecre\n***\ntwo",
		"aabaabaab\naabaac":                    "aabaab***",
		"longsec ret\nlongsec\n ret\n\nlong\n": "longsec ret\nlongsec\n ret\n\nlong\n",
		"longsec\nretlongsec\nret":             "******",
	} {
		if got := r.text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]int{
		"": 0, "nothing": 7, "x longsec": 2, "x long\nsec": 2, "longsecret-": 0, "longsecret x": 12, "x\naabaabaab": 5, "all": 2,
	} {
		if got := r.whole(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestGauge(t *testing.T) {
	var g gauge
	start := time.Unix(100, 0)
	if got := g.share(time.Second, start.Add(2*time.Second), start); got != 50 {
		t.Errorf("%v", got)
	}
	if got := g.share(4*time.Second, start.Add(4*time.Second), start); got != 150 {
		t.Errorf("%v", got)
	}
	if got := g.share(0, start.Add(5*time.Second), start); got != 0 {
		t.Errorf("%v", got)
	}
}
