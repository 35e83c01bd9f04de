package encode_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/encode"
	"github.com/wardroom/wardroom/sdk/wire"
)

// marshal is what encoding/json has, without the escapes for HTML.
func marshal(t *testing.T, v any) string {
	t.Helper()
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// fill sets all that can be set in a value, some of it to nothing.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Type() {
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte([]string{`null`, `{"a":[1,2.5e3,"<x>"],"b":null}`, `"plain & simple"`, `[]`}[r.IntN(4)]))
		return
	case reflect.TypeFor[time.Time]():
		if r.IntN(3) > 0 {
			v.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", 3600*r.IntN(3)))))
		}
		return
	}
	if r.IntN(3) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{"<text>", 12.5, true, map[string]any{"k": "v", "a": 1.0, "n": 7, "z": nil, "s": []string{"<"}}, []any{nil, "x"}, json.Number("12345678901234567891")}[r.IntN(6)]))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous {
				fill(r, v.Field(i), depth)
			}
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
			for i := range v.Len() {
				fill(r, v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"b", "a<"}[:r.IntN(3)] {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(r, value, depth-1)
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		v.SetString([]string{"", "word", "a \"b\" \\ \n\t\x01 <&> é 世"}[r.IntN(3)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(200) - 100)
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Float64:
		v.SetFloat([]float64{0.5, 1e-9, 3, 1e22, 1.0 / 3}[r.IntN(5)])
	}
}

type inner struct {
	At   time.Time `json:"at"`
	Left time.Time `json:"left,omitzero"`
}

// embedded has the shapes that the types of the product have, and those that they may get.
type embedded struct {
	Name   string `json:"name"`
	Hidden string `json:"-"`
	Plain  int
	Inner  inner `json:"inner,omitzero"`
	inner
	Bytes  []byte         `json:"bytes,omitempty"`
	Array  [2]int         `json:"array"`
	Counts map[string]int `json:"counts,omitempty"`
	Again  *embedded      `json:"again,omitempty"`
	List   []embedded     `json:"list"`
}

type twice struct {
	inner
	At string `json:"at"`
}

func TestStoredIsEncodingJSON(t *testing.T) {
	for _, sample := range []any{
		core.Execution{}, core.Event{}, core.Thread{}, core.ManagedAgent{}, core.Batch{}, core.Question{}, core.Workspace{},
		wire.ExecutionOutcome{}, wire.AgentResult{}, embedded{}, twice{},
	} {
		kind := reflect.TypeOf(sample)
		t.Run(kind.String(), func(t *testing.T) {
			for seed := range uint64(200) {
				v := reflect.New(kind)
				fill(rand.New(rand.NewPCG(seed, 1)), v.Elem(), 3)
				got, err := encode.Stored.Marshal(v.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if want := marshal(t, v.Interface()); string(got) != want {
					t.Fatalf("seed %d\ngot  %s\nwant %s", seed, got, want)
				}
				if byValue, err := encode.Stored.Marshal(v.Elem().Interface()); err != nil || !bytes.Equal(byValue, got) {
					t.Fatalf("by value: %s, %v\nwant %s", byValue, err, got)
				}
			}
		})
	}
}

func TestStoredRefuses(t *testing.T) {
	for name, v := range map[string]any{
		"Raw":    core.Execution{Input: json.RawMessage(`{"a":`)},
		"Number": struct{ F float64 }{math.NaN()},
		"Year":   struct{ T time.Time }{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"Type":   struct{ C chan int }{},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := encode.Stored.Marshal(v); err == nil {
				t.Errorf("wrote %s", out)
			}
		})
	}
}

func TestNullable(t *testing.T) {
	type body struct {
		Runtime string `json:"runtime" check:"nullable"`
		Left    string `json:"left,omitempty" check:"max=9,nullable"`
		Name    string `json:"name" check:"max=9"`
	}
	for _, tt := range []struct {
		style *encode.Style
		v     body
		want  string
	}{
		{encode.Answered, body{}, `{"runtime":null,"name":""}`},
		{encode.Answered, body{"local", "a", "b"}, `{"runtime":"local","left":"a","name":"b"}`},
		{encode.Stored, body{}, `{"runtime":"","name":""}`},
	} {
		if got, err := tt.style.Marshal(tt.v); err != nil || string(got) != tt.want {
			t.Errorf("%+v is %s, %v; want %s", tt.v, got, err, tt.want)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	type node struct {
		Name string  `json:"name"`
		Sub  []*node `json:"sub,omitempty"`
	}
	v := &node{"a", []*node{{"b", nil}, {"c", []*node{{"d", nil}}}}}
	want := marshal(t, v)
	done := make(chan string)
	for range 8 {
		go func() {
			b, _ := encode.Answered.Marshal(v)
			done <- string(b)
		}()
	}
	for range 8 {
		if got := <-done; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func BenchmarkExecution(b *testing.B) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	e := &core.Execution{
		ID: "exec_01", Pattern: core.PatternRef{Name: "triage", Version: "1.2.0"}, Hash: strings.Repeat("a", 64),
		Status: core.ExecutionCompleted, Input: json.RawMessage(`{"text":"hello","n":[1,2,3]}`),
		Result: json.RawMessage(`{"label":"bug","confidence":0.9}`), CreatedAt: at, StartedAt: &at, CompletedAt: &at, Deadline: at,
		Agents: []core.AgentResult{{ID: "agent_1", Result: json.RawMessage(`{"label":"bug"}`)}, {ID: "agent_2", Result: json.RawMessage(`{"label":"bug"}`)}},
	}
	b.Run("Stored", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = encode.Stored.Marshal(e)
		}
	})
	b.Run("EncodingJSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(e)
		}
	})
}
