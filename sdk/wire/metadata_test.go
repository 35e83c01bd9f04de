package wire_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Metadata comes back as it was written, through any number of records.
func TestMetadataKeepsNumbers(t *testing.T) {
	const text = `{"a":12345678901234567891,"b":[9007199254740993,1.10,{"c":-0.0e-5}],"d":"x","e":null}`
	e := wire.Execution{}
	if err := json.Unmarshal([]byte(`{"options":{"metadata":`+text+`}}`), &e); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		raw, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		e = wire.Execution{}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := json.Marshal(e.Options.Metadata); err != nil || string(raw) != text {
		t.Errorf("got %s, %v", raw, err)
	}
	for _, bad := range []string{`{"a":1e999}`, `{"a":[{"b":-1e400}]}`} {
		var m wire.Metadata
		var beyond *wire.NumberRangeError
		if err := json.Unmarshal([]byte(bad), &m); !errors.As(err, &beyond) || m != nil {
			t.Errorf("%s: got %v, %v", bad, m, err)
		}
	}
	m := wire.Metadata{"old": 1}
	if err := json.Unmarshal([]byte(`null`), &m); err != nil || m != nil {
		t.Errorf("null: %v, %v", m, err)
	}
}
