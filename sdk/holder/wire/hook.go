package wire

import "encoding/binary"

// HookCall is a call of a hook: KindHookCall to the client, KindHookRequest (without a number) from the hook
// command. Payload of a parsed one is a part of the body.
type HookCall struct {
	What    Kind
	Call    uint64
	Name    string
	Payload []byte
}

// Kind implements Message.
func (m HookCall) Kind() Kind { return m.What }

func (m HookCall) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, m.Call)
	return putBytes(putBytes(b, m.Name), m.Payload)
}

// ParseHookCall reads a body of KindHookCall or KindHookRequest.
func ParseHookCall(kind Kind, body []byte) (HookCall, error) {
	f := fields{b: body}
	m := HookCall{What: kind, Call: f.u64(), Name: f.string(), Payload: f.bytes()}
	return m, f.err
}

// HookAnswer answers a call: KindHookAnswer from the client, KindHookReply to the hook command, and KindHookGone,
// without a body, when the hook command does not wait any more.
type HookAnswer struct {
	What Kind
	Call uint64
	Body []byte
}

// Kind implements Message.
func (m HookAnswer) Kind() Kind { return m.What }

func (m HookAnswer) append(b []byte) []byte {
	return putBytes(binary.BigEndian.AppendUint64(b, m.Call), m.Body)
}

// ParseHookAnswer reads the body of one.
func ParseHookAnswer(kind Kind, body []byte) (HookAnswer, error) {
	f := fields{b: body}
	m := HookAnswer{What: kind, Call: f.u64(), Body: f.bytes()}
	return m, f.err
}
