package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

func TestTimestamp(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-02T03:04:05Z": "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.1299Z": "2026-01-02T03:04:05.129Z",
		"2026-01-02T03:04:05.13+01:00": "2026-01-02T02:04:05.130Z",
	} {
		var at struct {
			At    wire.Timestamp `json:"at"`
			Never wire.Timestamp `json:"never,omitzero"`
		}
		if err := json.Unmarshal([]byte(`{"at":"`+text+`"}`), &at); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(at); err != nil || string(got) != `{"at":"`+want+`"}` {
			t.Errorf("%s is written as %s, %v", text, got, err)
		}
		if given, err := time.Parse(time.RFC3339Nano, text); err != nil || !time.Time(at.At).Equal(given) {
			t.Errorf("%s is read as %s", text, time.Time(at.At))
		}
	}
	if json.Unmarshal([]byte(`"soon"`), new(wire.Timestamp)) == nil {
		t.Error("what is no time is read")
	}
}
