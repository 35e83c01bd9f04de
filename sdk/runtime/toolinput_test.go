package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// numbers is an input whose numbers a float64 rounds or has not, rounded is what a Struct has of it.
const (
	numbers = `{"a":9007199254740993,"b":[0.1000000000000000055,{"far":1e400}],"c":"x","d":1.0}`
	rounded = `{"a":9007199254740992,"b":[0.1,{"far":"1e400"}],"c":"x","d":1}`
)

func inputOf(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var in map[string]any
	if err := d.Decode(&in); err != nil {
		t.Fatal(err)
	}
	return in
}

func textOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The numbers of a tool's input cross the wire digit for digit.
func TestNumbersCrossTheWire(t *testing.T) {
	f := &fake{agent: runtime.Agent{ID: "a", Prompt: &runtime.Prompt{ID: "p", Input: inputOf(t, numbers)}}}
	got, err := dial(t, f).Inspect(testContext(t), "a")
	if err != nil || textOf(t, got.Prompt.Input) != numbers {
		t.Errorf("got %+v, %v", got.Prompt, err)
	}
	raw, err := runtime.EncodeEvent(runtime.Event{Tool: &runtime.ToolCall{Name: "x", Input: inputOf(t, numbers)}, Agent: f.agent})
	if err != nil {
		t.Fatal(err)
	}
	e, _, ok := runtime.DecodeEvent(raw)
	if !ok || textOf(t, e.Tool.Input) != numbers || textOf(t, e.Agent.Prompt.Input) != numbers {
		t.Errorf("got %+v, %+v", e.Tool, e.Agent.Prompt)
	}
}

// A host that was built before reads the Struct, which has all of the input that it can hold; and a plugin that was built
// before gives nothing else.
func TestNumbersForOldEnds(t *testing.T) {
	raw, err := runtime.EncodeEvent(runtime.Event{
		Tool: &runtime.ToolCall{Name: "x", Input: inputOf(t, numbers)}, Prompt: &runtime.Prompt{ID: "p", Input: inputOf(t, numbers)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var m pluginv1.Event
	if err := proto.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*structpb.Struct{"tool": m.Tool.Input, "prompt": m.Prompt.Input} {
		if got := textOf(t, s.AsMap()); got != rounded {
			t.Errorf("an old host reads of the %s %s, want %s", name, got, rounded)
		}
	}
	m.Tool.InputJson, m.Prompt.InputJson = nil, nil
	if raw, err = proto.Marshal(&m); err != nil {
		t.Fatal(err)
	}
	e, _, ok := runtime.DecodeEvent(raw)
	if !ok || textOf(t, e.Tool.Input) != rounded || textOf(t, e.Prompt.Input) != rounded {
		t.Errorf("of an old plugin %+v, %+v are read", e.Tool, e.Prompt)
	}
}

// What is no exact form of the input counts for nothing, and the Struct counts: a plugin in another language, or one that
// takes a secret out of what it knows alone, gives the two apart.
func TestInputThatIsNone(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + "}" }
	const short = `{"a":9007199254740992}`
	for name, tt := range map[string]struct{ input, exact, want string }{
		"Exact":           {short, `{ "a" : 9007199254740993 }`, `{"a":9007199254740993}`},
		"Rounded":         {`{"a":0.1}`, `{"a":0.1000000000000000055}`, `{"a":0.1000000000000000055}`},
		"Vanished":        {`{"a":0}`, `{"a":1e-400}`, `{"a":1e-400}`},
		"Alone":           {"", `{"a":9007199254740993}`, `{"a":9007199254740993}`},
		"Empty":           {`{}`, `{}`, `{}`},
		"None":            {"", "", "null"},
		"NoJSON":          {short, `{"a":9007199254740993`, short},
		"More":            {short, `{"a":9007199254740993} {}`, short},
		"NoObject":        {short, `[9007199254740993]`, short},
		"NullAlone":       {"", `null`, "null"},
		"NoJSONAlone":     {"", `{"a":01}`, "null"},
		"NoUTF8":          {`{"a":"\ufffd"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}"},
		"Twice":           {short, `{"a":1,"a":9007199254740993}`, short},
		"TwiceWithin":     {`{"b":[` + short + `]}`, `{"b":[{"a":9007199254740993,"\u0061":9007199254740993}]}`, `{"b":[` + short + `]}`},
		"Large":           {short, `{"a":9007199254740993` + strings.Repeat(" ", 256<<10) + `}`, short},
		"Deep":            {deep(127), deep(127), deep(127)},
		"TooDeepAlone":    {"", deep(128), "null"},
		"FarTooDeep":      {short, deep(200_000), short},
		"OtherNumber":     {short, `{"a":9007199254740995}`, short},
		"OtherText":       {`{"a":"***"}`, `{"a":"a secret"}`, `{"a":"***"}`},
		"OtherKey":        {short, `{"a":9007199254740993,"b":1}`, short},
		"TextForANumber":  {short, `{"a":"9007199254740992"}`, short},
		"NumberAsItsText": {`{"a":"1e400"}`, `{"a":1e400}`, `{"a":1e400}`},
	} {
		t.Run(name, func(t *testing.T) {
			var s *structpb.Struct
			if tt.input != "" {
				s = &structpb.Struct{}
				if err := s.UnmarshalJSON([]byte(tt.input)); err != nil {
					t.Fatal(err)
				}
			}
			raw, err := proto.Marshal(&pluginv1.Event{
				Prompt: &pluginv1.Prompt{Id: "p", Input: s, InputJson: []byte(tt.exact)},
				Tool:   &pluginv1.ToolCall{Name: "x", Input: s, InputJson: []byte(tt.exact)},
			})
			if err != nil {
				t.Fatal(err)
			}
			e, _, ok := runtime.DecodeEvent(raw)
			if !ok || textOf(t, e.Prompt.Input) != tt.want || textOf(t, e.Tool.Input) != tt.want {
				t.Errorf("got %.200v and %.200v, want %.200s", e.Prompt, e.Tool, tt.want)
			}
		})
	}
}

// An input beyond the bound of its exact form is written as it always was.
func TestLargeInput(t *testing.T) {
	raw, err := runtime.EncodeEvent(runtime.Event{Tool: &runtime.ToolCall{Name: "x", Input: map[string]any{
		"n": json.Number("9007199254740993"), "content": strings.Repeat("x", 256<<10),
	}}})
	if err != nil || len(raw) > 257<<10 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	if e, _, ok := runtime.DecodeEvent(raw); !ok || e.Tool.Input["n"] != 9007199254740992.0 {
		t.Errorf("got n = %v", e.Tool.Input["n"])
	}
}
