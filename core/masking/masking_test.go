package masking_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/core/masking"
)

func newMasker(tb testing.TB, method string, fields ...string) *masking.Masker {
	tb.Helper()
	m := new(masking.Masker)
	if err := m.Apply(masking.Config{Enabled: true, Fields: fields, Method: method, Key: [32]byte{1}}); err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		name, fields, in, want string
	}{
		{"a field of the input", "input.ssn", `{"input":{"ssn":"1","x":"2"}}`, `{"input":{"ssn":"***","x":"2"}}`},
		{"wherever the path ends", "input.ssn", `{"data":{"input":{"ssn":"1"}},"ssn":"2"}`, `{"data":{"input":{"ssn":"***"}},"ssn":"2"}`},
		{"any record", "*.password", `{"input":{"password":"p","a":{"password":"q"}}}`, `{"input":{"password":"***","a":{"password":"***"}}}`},
		{"one name between", "input.*.email", `{"input":{"a":{"email":"e"},"email":"f","b":{"c":{"email":"g"}}}}`,
			`{"input":{"a":{"email":"***"},"email":"f","b":{"c":{"email":"g"}}}}`},
		{"any number of names between", "input.**.email", `{"input":{"a":{"email":"e"},"email":"f","b":{"c":{"email":"g"}}}}`,
			`{"input":{"a":{"email":"***"},"email":"***","b":{"c":{"email":"***"}}}}`},
		{"a part of a name", "card*", `{"input":{"cardNumber":12,"card":{"cvc":1},"discard":2}}`, `{"input":{"cardNumber":"***","card":{"cvc":"***"},"discard":2}}`},
		{"lists have no names", "input.items.name", `{"input":{"items":[{"name":"a"},[{"name":"b"}]]}}`, `{"input":{"items":[{"name":"***"},[{"name":"***"}]]}}`},
		{"all that is in it", "input.person", `{"input":{"person":{"name":"n","age":3,"none":null,"tags":["a",true]}}}`,
			`{"input":{"person":{"name":"***","age":"***","none":null,"tags":["***","***"]}}}`},
		{"escaped names", "input.ssn", `{"input":{"\u0073sn":"1"}}`, `{"input":{"\u0073sn":"***"}}`},
		{"space stays", "input.ssn", "{ \"input\" : { \"ssn\" : \"1\" , \"b\" : [ 1 , 2 ] } }", "{ \"input\" : { \"ssn\" : \"***\" , \"b\" : [ 1 , 2 ] } }"},
		{"the frame stays", "**", `{"executionId":"exec_1","status":"completed","duration":3,"createdAt":"2026","input":{"id":"x","n":1},"agents":[{"id":"agent_1","result":{"a":"b"}}]}`,
			`{"executionId":"exec_1","status":"completed","duration":3,"createdAt":"2026","input":{"id":"***","n":"***"},"agents":[{"id":"agent_1","result":{"a":"***"}}]}`},
		{"the frame stays by name too", "status", `{"status":"ok","input":{"status":"ok"}}`, `{"status":"ok","input":{"status":"***"}}`},
		{"texts outside of data by name", "actor.ip", `{"actor":{"id":"ann","ip":"10.0.0.1"}}`, `{"actor":{"id":"ann","ip":"***"}}`},
		{"numbers outside of data stay", "duration", `{"duration":3}`, `{"duration":3}`},
		{"text that is JSON", "input.ssn", `{"data":{"data_json":"{\"input\":{\"ssn\":\"1\"}}"}}`, `{"data":{"data_json":"{\"input\":{\"ssn\":\"***\"}}"}}`},
		{"definitions stay", "**", `{"definition":{"input":{"text":{"type":"string"}}}}`, `{"definition":{"input":{"text":{"type":"string"}}}}`},
		{"a number called line", "input.line", `{"input":{"line":5},"result":{"line":6}}`, `{"input":{"line":"***"},"result":{"line":6}}`},
		{"a number called line by a wildcard", "input.**", `{"input":{"phone":{"line":5551234}}}`, `{"input":{"phone":{"line":"***"}}}`},
		{"where something stands", "**", `{"problems":[{"line":2,"message":"is wrong"}]}`, `{"problems":[{"line":2,"message":"***"}]}`},
		{"several paths", "input.a,input.b", `{"input":{"a":1,"b":2,"c":3}}`, `{"input":{"a":"***","b":"***","c":3}}`},
		{"nothing", "input.zzz", `{"input":{"a":1}}`, `{"input":{"a":1}}`},
		{"no object", "**", `[1,"a"]`, `[1,"a"]`},
		{"no JSON", "input.ssn", `{"input":{"ssn":"1"`, `"***"`},
		{"more than one value", "input.ssn", `{} {}`, `"***"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := newMasker(t, masking.Redact, strings.Split(tt.fields, ",")...).Mask([]byte(tt.in))
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMethods(t *testing.T) {
	in := []byte(`{"input":{"card":"4111111111111111","pin":"1234","name":"Zoë Ångström","n":123456789}}`)
	if got, want := string(newMasker(t, masking.Partial, "input.**").Mask(in)), `{"input":{"card":"***1111","pin":"***4","name":"***röm","n":"***89"}}`; got != want {
		t.Errorf("partial: got %s, want %s", got, want)
	}
	hashed := newMasker(t, masking.Hash, "**").Mask([]byte(`{"input":{"a":"x","b":"x","c":"y"}}`))
	var out struct{ Input map[string]string }
	if err := json.Unmarshal(hashed, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.Input["a"], "hmac:") || out.Input["a"] != out.Input["b"] || out.Input["a"] == out.Input["c"] {
		t.Errorf("hashes do not compare as the values do: %v", out.Input)
	}
	other := new(masking.Masker)
	if err := other.Apply(masking.Config{Enabled: true, Fields: []string{"**"}, Method: masking.Hash, Key: [32]byte{2}}); err != nil {
		t.Fatal(err)
	}
	if string(other.Mask([]byte(`{"input":{"a":"x","b":"x","c":"y"}}`))) == string(hashed) {
		t.Error("another key gives the same hashes")
	}
}

func TestMaskText(t *testing.T) {
	m := newMasker(t, masking.Redact, "input.ssn", "actor.ip", "principal", "status")
	for _, tt := range []struct{ name, text, want string }{
		{"actor.ip", "10.0.0.1", "***"},
		{"ip", "10.0.0.1", "10.0.0.1"},
		{"principal", "ann", "***"},
		{"status", "ready", "ready"},
		{"body", `{"input":{"ssn":"1"}}`, `{"input":{"ssn":"***"}}`},
		{"body", "\r\n\t {\"input\":{\"ssn\":\"1\"}}\n", "\r\n\t {\"input\":{\"ssn\":\"***\"}}\n"},
		{"body", " \n ", " \n "},
		{"body", "plain", "plain"},
		{"body", "{no JSON", "{no JSON"},
	} {
		if got := m.MaskText(tt.name, tt.text); got != tt.want {
			t.Errorf("MaskText(%s, %s) = %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestApply(t *testing.T) {
	m := new(masking.Masker)
	raw := []byte(`{"input":{"a":1}}`)
	if m.Active() || string(m.Mask(raw)) != string(raw) || m.MaskText("a", "b") != "b" || m.Unmatched(nil) != nil {
		t.Error("a masker without rules masks")
	}
	for _, c := range []masking.Config{
		{Enabled: true, Fields: []string{"a..b"}, Method: masking.Redact},
		{Enabled: true, Fields: []string{"a"}, Method: "rot13"},
		{Enabled: true, Fields: slices.Repeat([]string{"a"}, masking.MaxFields+1), Method: masking.Redact},
	} {
		if err := m.Apply(c); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", c, err)
		}
	}
	many := make([]string, masking.MaxFields)
	for i := range many {
		many[i] = fmt.Sprintf("input.a.b.c.d.e.f%d", i)
	}
	if err := m.Apply(masking.Config{Enabled: true, Fields: many, Method: masking.Redact}); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		in := fmt.Sprintf(`{"input":{"a":{"b":{"c":{"d":{"e":{"f%d":"x"}}}}}}}`, i)
		if got := string(m.Mask([]byte(in))); !strings.Contains(got, "***") {
			t.Fatalf("path %d of %d: %s", i, len(many), got)
		}
	}
	if err := m.Apply(masking.Config{}); err != nil || m.Active() {
		t.Errorf("turned off: %v, active %t", err, m.Active())
	}
}

func TestUnmatched(t *testing.T) {
	m := newMasker(t, masking.Redact, "input.ssn", "input.snn", "*.email", "**", "objective", "card*", "input.customer.iban", "said.**.iban", "input.customers.iban")
	got := m.Unmatched([][]string{{"input", "ssn"}, {"thread", "objective"}, {"data", "input", "email"}, {"input", "customer", masking.Open}, {"result", "said", masking.Open}})
	if want := []string{"input.snn", "card*", "input.customers.iban"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzMask masks any text: the outcome is JSON, is masked to itself, and holds no more than what was masked less.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{`{"input":{"ssn":"1","a":[1,{"b":null}]}}`, `[]`, `"x"`, `{"a":{"data_json":"{\"ssn\":1}"}}`, `{"\u0061":1}`, `{`, ``, `nul`} {
		f.Add([]byte(seed), "input.ssn")
	}
	f.Add([]byte(`{"result":{"canary":"S3CR3T"}}`), "**.canary")
	f.Fuzz(func(t *testing.T, raw []byte, field string) {
		m := new(masking.Masker)
		if m.Apply(masking.Config{Enabled: true, Fields: []string{field}, Method: masking.Redact}) != nil {
			return
		}
		before := string(raw)
		got := m.Mask(raw)
		if string(raw) != before {
			t.Fatal("the value itself was changed")
		}
		if rawjson.CheckLoose(raw) != nil {
			return
		}
		if err := rawjson.CheckLoose(got); err != nil {
			t.Fatalf("%q by %q became %q: %v", raw, field, got, err)
		}
		if again := m.Mask(got); string(again) != string(got) {
			t.Fatalf("%q by %q became %q, and then %q", raw, field, got, again)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	raw := []byte(`{"executionId":"exec_01K","pattern":{"name":"triage","version":"1.0.0"},"status":"completed","input":{"text":"` + strings.Repeat("word ", 200) +
		`","customer":{"email":"a@example.com","name":"Ann"}},"result":{"urgency":"high","reasons":["a","b","c"]},"agents":[{"id":"agent_1","result":{"urgency":"high"}}],"duration":12}`)
	for _, bb := range []struct {
		name, method string
		fields       []string
	}{
		{"nothing to mask", masking.Redact, []string{"input.ssn"}},
		{"redact", masking.Redact, []string{"input.customer.email", "*.password", "input.**.iban"}},
		{"hash", masking.Hash, []string{"input.customer.email", "*.password", "input.**.iban"}},
		{"everything", masking.Redact, []string{"**"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			m := newMasker(b, bb.method, bb.fields...)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				m.Mask(raw)
			}
		})
	}
}

// Masks reports of a path what Mask does to the value at it.
func TestMasks(t *testing.T) {
	m := newMasker(t, masking.Redact, "metadata.ssn", "*.email", "input.**", "createdBy", "executions.metadata.team", "labels")
	for path, want := range map[string]bool{
		"metadata.ssn": true, "executions.metadata.ssn": true, "metadata.other": false, "metadata.team": false, "executions.metadata.team": true,
		"metadata.email": true, "input.a.b": true, "createdBy": true, "id": false, "status": false, "labels.team": true, "objective": false,
	} {
		if got := m.Masks(strings.Split(path, ".")...); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if new(masking.Masker).Masks("metadata", "ssn") {
		t.Error("nothing is masked without rules")
	}
}
