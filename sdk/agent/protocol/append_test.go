package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// FuzzAppendString checks that hand-made JSON strings read as those of encoding/json.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{
		"", "plain", `quo"te`, `back\slash`, "new\nline", "é\u2028", "\xff", "<b>&", "a\"\\\n\x00\xff\u2028", "\t\r\x1f\x7f€",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got, want string
		raw, _ := json.Marshal(s)
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		made := protocol.AppendString([]byte("x"), s)
		if made[0] != 'x' {
			t.Fatal("what was there is gone")
		}
		if err := json.Unmarshal(made[1:], &got); err != nil || got != want {
			t.Fatalf("%q became %q: %v", s, got, err)
		}
	})
}

func TestAppendHead(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.FixedZone("x", 3600))
	for _, c := range []struct{ id, stamp, want string }{
		{"", time.RFC3339Nano, `{"type":"task","timestamp":"2026-01-02T02:04:05.6789Z","payload":{}}`},
		{`a"b`, time.RFC3339, `{"type":"task","id":"a\"b","timestamp":"2026-01-02T02:04:05Z","payload":{}}`},
	} {
		b := protocol.AppendHead(nil, protocol.TypeTask, c.id, now, c.stamp)
		b = protocol.AppendTail(append(b, "{}"...))
		if string(b) != c.want {
			t.Errorf("got  %s\nwant %s", b, c.want)
		}
		var e protocol.Envelope
		if err := json.Unmarshal(b, &e); err != nil || e.ID != c.id || e.Type != protocol.TypeTask {
			t.Errorf("it reads as %+v, %v", e, err)
		}
	}
}
