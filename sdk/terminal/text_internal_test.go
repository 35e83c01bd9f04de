package terminal

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func FuzzTextEncoder(f *testing.F) {
	f.Add([]byte("plain"), 2)
	f.Add([]byte("a€b\xe2\x82"), 3)
	f.Add([]byte("\xf0\x9f\x98\x80\xff\xc0\x80\xed\xa0\x80"), 1)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		var whole textEncoder
		want := whole.flush(whole.append(nil, data))
		if !utf8.Valid(want) {
			t.Fatalf("%q became %q, which is not valid", data, want)
		}
		if utf8.Valid(data) && !bytes.Equal(want, data) {
			t.Fatalf("%q became %q", data, want)
		}
		var pieces textEncoder
		var got []byte
		for rest, n := data, max(1, step%7); len(rest) > 0; {
			piece := rest[:min(n, len(rest))]
			before := len(got)
			got = pieces.append(got, piece)
			if !utf8.Valid(got[before:]) {
				t.Fatalf("a message would be %q", got[before:])
			}
			rest = rest[len(piece):]
		}
		if got = pieces.flush(got); !bytes.Equal(got, want) {
			t.Fatalf("in pieces of %d bytes %q became %q, as a whole %q", step, data, got, want)
		}
	})
}

func FuzzParseResize(f *testing.F) {
	for _, seed := range []string{`{"type":"resize","cols":80,"rows":24}`, `{"type":"resize","cols":1e400,"rows":24}`, `{`, `[]`, "ls\r", `{"type":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		cols, rows, ok := parseResize(text)
		if !ok && (cols != 0 || rows != 0) {
			t.Fatalf("%q is no resize and has the size %dx%d", text, cols, rows)
		}
		if ok && !bytes.Contains(bytes.ToLower(text), []byte("resize")) && !bytes.Contains(text, []byte(`\u`)) {
			t.Fatalf("%q is a resize", text)
		}
	})
}
