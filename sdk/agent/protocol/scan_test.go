package protocol_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

var values = []string{
	`{"a":[1,-2.5e+3,"x\u00e9\n",null],"b":{},"c":[ ],"":true}`, ` { "a" : [ false , 0 ] } `,
	`"plain"`, `"é"`, `"a\u0041"`, `"\ud800"`, "\"\xff\"", "\"\x01\"", "\"\x7f\"", `"\x"`, `"\u12g4"`, `"\u12`, `"\`, `"`,
	`0`, `-0`, `01`, `-01`, `7`, `1.5`, `1.`, `1e`, `1e5`, `1E-5`, `-`, `+1`, `.5`,
	`999999999999999999`, `1000000000000000000`, `9223372036854775807`, `12345678901234567890`,
	`true`, `tru`, `false`, `null`, `nul`, `nullx`, `1 x`, ``, ` `, `]`, `{`, `{"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{,}`,
	`{1:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `[1,]`, `[,]`, `[1 2]`, `[`, `[1`, `{"a":1,"a":2}`, `{"é":1}`, `{"\u0061":1}`,
	strings.Repeat("[", 128) + strings.Repeat("]", 150),
	strings.Repeat("[", 300) + strings.Repeat("]", 300),
}

// FuzzScanner holds each method to encoding/json: what a Scanner takes, encoding/json takes and reads the same;
// and a valid value that is not nested deep is never refused by Value, nor a plain one by the others.
func FuzzScanner(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkValue(t, data)
		checkPlain(t, data)
		checkWhole(t, data)
		checkFields(t, data)
	})
}

func checkValue(t *testing.T, data []byte) {
	s := protocol.NewScanner(data)
	raw, ok := s.Value()
	ok = ok && s.AtEnd()
	valid := json.Valid(data)
	if ok && !valid {
		t.Fatalf("took %q, which is not JSON", data)
	}
	if !ok && valid && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) < 100 {
		t.Fatalf("refused %q, which is JSON", data)
	}
	if want := bytes.Trim(data, " \t\r\n"); ok && !bytes.Equal(raw, want) {
		t.Fatalf("value %q, want %q", raw, want)
	}
}

func checkPlain(t *testing.T, data []byte) {
	s := protocol.NewScanner(data)
	text, ok := s.Plain()
	ok = ok && s.AtEnd()
	var want string
	err := json.Unmarshal(data, &want)
	isString := err == nil && bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`))
	if plain := isString && utf8.Valid(data) && !bytes.Contains(data, []byte(`\`)); ok != plain {
		t.Fatalf("took %q as a plain string: %t, want %t", data, ok, plain)
	}
	if ok && string(text) != want {
		t.Fatalf("string %q, want %q", text, want)
	}
}

func checkWhole(t *testing.T, data []byte) {
	s := protocol.NewScanner(data)
	n, ok := s.Whole()
	ok = ok && s.AtEnd()
	var want int64
	err := json.Unmarshal(data, &want)
	digits := bytes.Trim(data, " \t\r\n")
	if plain := err == nil && len(digits) <= 18 && digits[0] != '-' && digits[0] != 'n'; ok != plain {
		t.Fatalf("took %q as a whole number: %t, want %t", data, ok, plain)
	}
	if ok && n != want {
		t.Fatalf("number %d, want %d", n, want)
	}
}

func checkFields(t *testing.T, data []byte) {
	s := protocol.NewScanner(data)
	got := make(map[string]string)
	ok := s.Fields(func(key []byte) bool {
		raw, ok := s.Value()
		got[string(key)] = string(raw)
		return ok
	}) && s.AtEnd()
	if !ok {
		return
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("took %q as an object: %v", data, err)
	}
	if len(got) != len(want) {
		t.Fatalf("fields %q, want %q", got, want)
	}
	for key, raw := range want {
		if got[key] != string(raw) {
			t.Fatalf("field %q is %q, want %q", key, got[key], raw)
		}
	}
}

func TestScanner_FieldsInOrder(t *testing.T) {
	var got []string
	s := protocol.NewScanner([]byte(` { "b" : 1 , "a" : "x" , "b" : [ ] } , `))
	ok := s.Fields(func(key []byte) bool {
		raw, ok := s.Value()
		got = append(got, string(key)+"="+string(raw))
		return ok
	})
	if want := `b=1 a="x" b=[ ]`; !ok || strings.Join(got, " ") != want {
		t.Errorf("got %q, %t", got, ok)
	}
	if s.AtEnd() {
		t.Error("the comma after the object is passed over")
	}
}

func TestScanner_FieldsEnd(t *testing.T) {
	s := protocol.NewScanner([]byte(`{"a":1,"b":2}`))
	calls := 0
	if s.Fields(func([]byte) bool { calls++; return false }) || calls != 1 {
		t.Errorf("%d calls after a refusal", calls)
	}
	s = protocol.NewScanner([]byte(`{}`))
	if !s.Fields(func([]byte) bool { t.Error("called for no field"); return false }) || !s.AtEnd() {
		t.Error("refused an empty object")
	}
	for _, bad := range []string{``, `[]`, `{`, `{"a":1`, `{"a":1,}`, `{a:1}`, `{"a\n":1}`, "{\"\xff\":1}"} {
		s := protocol.NewScanner([]byte(bad))
		if s.Fields(func([]byte) bool { _, ok := s.Value(); return ok }) {
			t.Errorf("took %q", bad)
		}
	}
}

func TestScanner_Depth(t *testing.T) {
	for depth, want := range map[int]bool{128: true, 300: false} {
		s := protocol.NewScanner([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth)))
		if _, ok := s.Value(); ok != want {
			t.Errorf("%d deep: %t", depth, ok)
		}
	}
}

// Reading allocates nothing, closures included.
func TestScanner_Allocations(t *testing.T) {
	data := []byte(`{"a":"x","b":12,"c":{"d":[1,2]}}`)
	if n := testing.AllocsPerRun(100, func() {
		s := protocol.NewScanner(data)
		var a, c []byte
		var b int64
		ok := s.Fields(func(key []byte) bool {
			ok := false
			switch string(key) {
			case "a":
				a, ok = s.Plain()
			case "b":
				b, ok = s.Whole()
			case "c":
				c, ok = s.Value()
			}
			return ok
		})
		if !ok || string(a) != "x" || b != 12 || string(c) != `{"d":[1,2]}` {
			t.Errorf("read %q %d %q, %t", a, b, c, ok)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
