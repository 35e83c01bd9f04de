package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const upgradeAnswer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"

// serverFrame makes an unmasked WebSocket frame.
func serverFrame(opcode byte, fin bool, payload string) []byte {
	head := opcode
	if fin {
		head |= 0x80
	}
	b := []byte{head}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

func envelope(kind protocol.Type, padding int) string {
	return fmt.Sprintf(`{"type":%q,"payload":{"x":"%s"}}`, kind, bytes.Repeat([]byte("x"), padding))
}

// session is the bytes of a session: short, long and very long messages, one in pieces with a ping between
// them, one that is binary, and one that is not JSON.
func session() ([]byte, []protocol.Type) {
	b := []byte(upgradeAnswer)
	b = append(b, serverFrame(1, true, envelope("registered", 0))...)
	b = append(b, serverFrame(1, true, envelope("task", 300))...)
	b = append(b, serverFrame(1, true, envelope("task", 70_000))...)
	split := envelope("task_ack", 10)
	b = append(b, serverFrame(1, false, split[:7])...)
	b = append(b, serverFrame(9, true, "ping")...)
	b = append(b, serverFrame(0, true, split[7:])...)
	b = append(b, serverFrame(2, true, envelope("binary", 0))...)
	b = append(b, serverFrame(1, true, "not JSON")...)
	b = append(b, serverFrame(1, true, envelope("task_cancelled", 0))...)
	b = append(b, serverFrame(8, true, "")...)
	return b, []protocol.Type{"registered", "task", "task", "task_ack", "task_cancelled"}
}

// feedAll feeds a session in pieces of a size.
func feedAll(t *testing.T, data []byte, piece int) ([]protocol.Type, error) {
	t.Helper()
	var d frameDecoder
	var seen []protocol.Type
	for part := range slices.Chunk(data, piece) {
		if err := d.feed(part, func(e protocol.Envelope) { seen = append(seen, e.Type) }); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

func TestFrameDecoder(t *testing.T) {
	data, want := session()
	for _, piece := range []int{1, 2, 7, 1000, len(data)} {
		if got, err := feedAll(t, data, piece); err != nil || !slices.Equal(got, want) {
			t.Errorf("in pieces of %d: %v, %v", piece, got, err)
		}
	}
}

func TestFrameDecoderRefuses(t *testing.T) {
	for name, frame := range map[string][]byte{
		"masked":     {0x81, 0x81, 0, 0, 0, 0, 'x'},
		"compressed": {0xC1, 0x01, 'x'},
		"huge":       {0x81, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		if _, err := feedAll(t, append([]byte(upgradeAnswer), frame...), 3); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzFrameDecoder(f *testing.F) {
	data, _ := session()
	f.Add(data[:500], 10)
	f.Add([]byte(upgradeAnswer), 1)
	f.Add([]byte(upgradeAnswer+"\x81\x7e\x00\x02{}"), 3)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		piece = max(1, min(piece, 1<<16))
		once, onceErr := feedAll(t, data, max(len(data), 1))
		parts, partsErr := feedAll(t, data, piece)
		if !slices.Equal(once, parts) || (onceErr == nil) != (partsErr == nil) {
			t.Fatalf("at once %v %v, in pieces of %d %v %v", once, onceErr, piece, parts, partsErr)
		}
	})
}
