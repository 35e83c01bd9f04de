package keeper

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

// TestRelayOfALargePayload hands on what a tool was given a whole file in: the CLI waits for an answer, and the
// runtime has to know of that.
func TestRelayOfALargePayload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := listen(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	got := make(chan []byte, 1)
	go func() {
		defer close(got)
		conn, err := l.accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		frames := wire.NewReader(conn)
		if _, _, err := frames.Next(); err != nil {
			return
		}
		kind, body, err := frames.Next()
		if err != nil {
			return
		}
		if call, err := wire.ParseHookCall(kind, body); err == nil {
			got <- bytes.Clone(call.Payload)
		}
		_ = wire.Write(conn, wire.HookAnswer{What: wire.KindHookReply, Body: []byte("answer")})
	}()
	payload := `{"hook_event_name":"PermissionRequest","tool_input":{"content":"` + strings.Repeat(`ä\n\u00e4`, 1<<20) + `"},"tool_name":"Write"}`
	var out bytes.Buffer
	relay(path, "PermissionRequest", strings.NewReader(payload), &out)
	if out.String() != "answer" {
		t.Fatalf("answer %q", out.String())
	}
	var call struct {
		Tool  string            `json:"tool_name"`
		Input map[string]string `json:"tool_input"`
	}
	if err := json.Unmarshal(<-got, &call); err != nil || call.Tool != "Write" || !strings.HasSuffix(call.Input["content"], cutMark) {
		t.Errorf("call of %q with %d bytes of content, %v", call.Tool, len(call.Input["content"]), err)
	}
}

func FuzzShorten(f *testing.F) {
	f.Add([]byte(`{"a":"b\"c\\","d":["\u00e4ö",1,null]}`), 3)
	f.Add([]byte(`"\\\\\\"`), 1)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		s := shortener{most: most}
		if _, err := io.Copy(&s, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if json.Valid(data) && !json.Valid(s.out) {
			t.Errorf("%q became %q", data, s.out)
		}
		if most >= len(data) && !bytes.Equal(s.out, data) {
			t.Errorf("%q became %q though nothing had to be cut", data, s.out)
		}
	})
}
