package agents

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// FuzzThreadEvent checks that whatever a host tells, what is handed on is within bounds and encodes.
func FuzzThreadEvent(f *testing.F) {
	f.Add([]byte(`{"threadId":"thread_1","sequence":1,"type":"ready","data":{}}`))
	f.Add([]byte(`{"threadId":"t","sequence":2,"type":"blocked","data":{"prompt":{"id":"p","text":"?","options":[{"id":"a"}]}}}`))
	f.Add([]byte(`{"threadId":"t","sequence":3,"type":"tool_running","data":{"tool":{"name":"x","input":{"a":[1,{}]}},"status":"busy"}}`))
	f.Add([]byte(`{"threadId":"t","sequence":4,"type":"stopped","data":{"reason":"exited","exitCode":1,"occurredAt":"2026-01-02T03:04:05Z"}}`))
	now := time.Unix(1000, 0)
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame := frame{kind: protocol.TypeThreadEvent, payload: raw}
		var p protocol.ThreadEvent
		if frame.into(&p) != nil {
			return
		}
		kind, signal, err := checkThreadEvent(&p, now)
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("the error is not text: %q", err)
			}
			return
		}
		if statuses[kind] == "" || signal.Status == "" || signal.Status == "blocked" || signal.Source == "" || signal.OccurredAt.IsZero() ||
			len(signal.Text) > maxEventText || len(signal.Reason) > maxReasonBytes {
			t.Fatalf("%s became %+v", raw, signal)
		}
		if signal.Prompt != nil && !json.Valid(signal.Prompt) {
			t.Fatalf("prompt %s", signal.Prompt)
		}
		if _, err := json.Marshal(signal); err != nil {
			t.Fatalf("%s cannot be stored: %v", raw, err)
		}
	})
}

func TestThreadEventTypesAreComplete(t *testing.T) {
	for name, kind := range threadEvents {
		if statuses[kind] == "" {
			t.Errorf("%s implies no state", name)
		}
	}
	if len(threadEvents) != len(statuses) {
		t.Errorf("%d types of events and %d states", len(threadEvents), len(statuses))
	}
}

func TestBookKeepsWhatIsNotConfirmed(t *testing.T) {
	var b book
	h := b.take("thread_1")
	for _, id := range []string{"a", "b", "c"} {
		b.add(h, &order{id: id, payload: make([]byte, 10)})
	}
	b.confirm(h, func(o *order) bool { return o.id == "b" })
	if b.orders != 2 || b.bytes != 20 || len(h.orders) != 2 {
		t.Fatalf("%d orders of %d bytes are kept", b.orders, b.bytes)
	}
	if again := b.resumed([]string{"thread_1", "thread_2"}); len(again) != 2 || again[0].id != "a" || again[1].id != "c" {
		t.Fatalf("%d orders come again", len(again))
	}
	if ids := b.ids(); len(ids) != 2 {
		t.Fatalf("threads %v", ids)
	}
	if again := b.resumed(nil); len(again) != 0 || len(b.hosted) != 0 || b.orders != 0 || b.bytes != 0 {
		t.Fatalf("a host that lists nothing leaves %+v", b)
	}
	if !b.full(maxOrderBytes + 1) {
		t.Fatal("the book is never full")
	}
}

func TestPendingEventsSettleInOrder(t *testing.T) {
	h := &hosted{}
	var list []*pendingEvent
	for seq := uint64(1); seq <= 4; seq++ {
		f := &pendingEvent{seq: seq}
		h.pending = append(h.pending, f)
		list = append(list, f)
	}
	for _, c := range []struct {
		index int
		want  uint64
	}{{1, 0}, {0, 2}, {3, 0}, {2, 4}} {
		if got := h.settle(list[c.index]); got != c.want {
			t.Fatalf("event %d settles up to %d, want %d", c.index+1, got, c.want)
		}
	}
}

func TestHostNoticesThatDoNotRun(t *testing.T) {
	var none *hostNotices
	none.post(notice{kind: hostsChanged})
	var c hostNotices
	c.start(nil)
	c.post(notice{kind: hostSaid, event: &core.RemoteThreadEvent{}})
	c.stop()
	c.stop()
}

// What a host tells of a tool's input is handed on digit for digit.
func TestThreadEventKeepsNumbers(t *testing.T) {
	const input = `{"far":[1e400,0.1000000000000000055],"id":9007199254740993}`
	for name, raw := range map[string]string{
		"blocked":      `{"threadId":"t","sequence":1,"type":"blocked","data":{"prompt":{"id":"p","kind":"approval","tool":"pay","input":` + input + `}}}`,
		"tool_running": `{"threadId":"t","sequence":2,"type":"tool_running","data":{"tool":{"name":"pay","input":` + input + `}}}`,
	} {
		frame := frame{kind: protocol.TypeThreadEvent, payload: []byte(raw)}
		var p protocol.ThreadEvent
		if err := frame.into(&p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, signal, err := checkThreadEvent(&p, time.Unix(1000, 0))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if out, err := json.Marshal(signal); err != nil || !strings.Contains(string(out), `"input":`+input) {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
}
