package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// A result that is nested deeper than records can be read back never reaches the engine: the agent is told, and its
// task fails. encoding/json itself would take 9,998 levels, which the record of the execution then makes too many.
func TestDeepResultFailsItsTask(t *testing.T) {
	for name, frame := range map[string]string{
		"plain": `{"type":"task_result","id":"m1","payload":{"taskId":"task_1","attempt":1,"result":%s}}`,
		"slow":  `{"type":"task_result","id":"m1","payload":{"result":%s,"\u0074askId":"task_1","attempt":1}}`,
		"error": `{"type":"task_error","id":"m1","payload":{"taskId":"task_1","attempt":1,"error":{"code":"X","message":"m","details":{"a":%s}}}}`,
	} {
		for _, depth := range []int{rawjson.MaxDepth + 1, 9990, 300000} {
			t.Run(fmt.Sprint(name, depth), func(t *testing.T) {
				r := newRig(t, agents.Config{})
				p, reg := r.register("one", 1, "echo")
				r.give(reg.AgentID, task("task_1"))
				p.expect(protocol.TypeTask, nil)
				p.raw(fmt.Sprintf(frame, nested(depth)))
				var e protocol.Error
				p.expect(protocol.TypeError, &e)
				if e.Code != string(core.CodeValidation) || e.Fatal || !strings.Contains(e.Message, "nested too deep") {
					t.Errorf("the agent got %+v", e)
				}
				p.expect(protocol.TypeTaskAck, nil)
				reports := r.sink.all()
				if len(reports) != 1 || reports[0].TaskID != "task_1" || reports[0].Result != nil ||
					reports[0].Err == nil || reports[0].Err.Code != string(core.CodeAgentError) {
					t.Fatalf("the engine got %+v", reports)
				}
				// A repeat, as an agent sends it whose acknowledgement was lost, is acknowledged as that of any answer: it would
				// be sent with each session, and held until then, for ever.
				p.raw(fmt.Sprintf(frame, nested(depth)))
				p.expect(protocol.TypeError, nil)
				p.expect(protocol.TypeTaskAck, nil)
				if reports := r.sink.all(); len(reports) != 2 || reports[1].TaskID != "task_1" || reports[1].Err == nil {
					t.Errorf("the engine got %+v", reports)
				}
			})
		}
	}
}

// What is as deep as can be is taken, by both ways of decoding.
func TestDeepestResultIsTaken(t *testing.T) {
	for _, key := range []string{"taskId", `\u0074askId`} {
		r := newRig(t, agents.Config{})
		p, reg := r.register("one", 1, "echo")
		r.give(reg.AgentID, task("task_1"))
		p.expect(protocol.TypeTask, nil)
		p.raw(fmt.Sprintf(`{"type":"task_result","id":"m1","payload":{"%s":"task_1","result":%s}}`, key, nested(rawjson.MaxDepth)))
		p.expect(protocol.TypeTaskAck, nil)
		if reports := r.sink.all(); len(reports) != 1 || reports[0].Err != nil || string(reports[0].Result) != nested(rawjson.MaxDepth) {
			t.Fatalf("the engine got %+v", reports)
		}
	}
}

// Every other frame is held to the same depth, and refused in our own words.
func TestDeepFramesAreRefused(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	deep := nested(rawjson.MaxDepth + 2)
	for _, frame := range []string{
		`{"type":"task_progress","id":"f","payload":{"taskId":"task_1","data":` + deep + `}}`,
		`{"type":"message","id":"f","payload":{"taskId":"task_1","messageType":"question","content":` + deep + `}}`,
		`{"type":"message_reply","id":"f","payload":{"messageId":"msg_1","content":` + deep + `}}`,
		`{"type":"heartbeat","id":"f","payload":{"status":"healthy","metrics":` + deep + `}}`,
		`{"type":"thread_event","id":"f","payload":{"threadId":"t","data":{"tool":{"name":"x","input":{"a":` + deep + `}}}}}`,
	} {
		var e protocol.Error
		p.raw(frame)
		if got := p.expect(protocol.TypeError, &e); got.ID != "f" || !strings.Contains(e.Message, "nested too deep") || e.Fatal {
			t.Errorf("%.40s: answered %q %+v", frame, got.ID, e)
		}
		p.quiet() // a good frame between, so that they do not add up
	}
	if got := r.sink.said(); len(got) != 0 {
		t.Errorf("messages went through: %+v", got)
	}
}

// Nothing of a library's wording reaches an agent.
func TestRefusalsAreInOurWords(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, _ := r.register("one", 1, "echo")
	for _, frame := range []string{
		`{`, `[1`, `{"type":"heartbeat",}`, `{"type":}`, `{"type":"heartbeat","payload":{"status":tru}}`,
		`{"type":"heartbeat","payload":{"status":"\x"}}`, `{"type":"heartbeat"} {}`, `nope`,
		`{"type":"task_progress","payload":{"taskId":1}}`, `{"type":"task_progress","payload":[]}`,
		`{"type":"thread_event","payload":{"threadId":"t","data":{"occurredAt":"yesterday"}}}`,
	} {
		var e protocol.Error
		p.raw(frame)
		p.expect(protocol.TypeError, &e)
		for _, foreign := range []string{"invalid character", "json:", "Go ", "unexpected end of JSON", "parsing time", "cannot unmarshal", "looking for"} {
			if strings.Contains(e.Message, foreign) {
				t.Errorf("%s: answered %q", frame, e.Message)
			}
		}
		p.quiet()
	}
	coretest.WaitFor(t, "the session to stay", func() bool { return r.svc.Stats().Sessions == 1 })
}
