package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/sdk/wire"
)

// The details of a failure have the numbers that an agent gave it.
func TestDetailsKeepNumbers(t *testing.T) {
	const text = `{"far":[1e400,0.1000000000000000055],"ticket":9007199254740993}`
	var told wire.ErrorDetail
	var failed wire.ExecutionError
	for _, v := range []any{&told, &failed} {
		if err := json.Unmarshal([]byte(`{"code":"AGENT_ERROR","message":"m","details":`+text+`}`), v); err != nil {
			t.Error(err)
		}
		if raw, err := json.Marshal(v); err != nil || string(raw) != `{"code":"AGENT_ERROR","message":"m","details":`+text+`}` {
			t.Errorf("got %s, %v", raw, err)
		}
	}
}

// The input of a tool comes back as it was written, through any number of records: the number that a person decides about is
// the one that the tool uses.
func TestToolInputKeepsNumbers(t *testing.T) {
	const text = `{"a":12345678901234567891,"b":[9007199254740993,1.10,{"c":-0.0e-5}],"d":"x","e":null,"f":1e400,"g":0.1000000000000000055}`
	var p wire.Prompt
	if err := json.Unmarshal([]byte(`{"id":"p1","input":`+text+`}`), &p); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		raw, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		p = wire.Prompt{}
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := json.Marshal(p.Input); err != nil || string(raw) != text {
		t.Errorf("got %s, %v", raw, err)
	}
	p.Input = map[string]any{"old": 1}
	if err := json.Unmarshal([]byte(`{"input":null}`), &p); err != nil || p.Input != nil {
		t.Errorf("null: %v, %v", p.Input, err)
	}
	for _, bad := range []string{`{"input":"x"}`, `{"input":[1]}`, `{"input":1}`} {
		if err := json.Unmarshal([]byte(bad), &p); err == nil {
			t.Errorf("%s is an input", bad)
		}
	}
}
