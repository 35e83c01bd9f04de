package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// tap looks at what the server sends to an agent, before the agent library sees it. The library answers a
// task that comes again from memory, so only here can be seen that it was handed out again.
type tap struct {
	net.Conn
	decoder frameDecoder
	see     func(protocol.Envelope)
}

// Read implements net.Conn.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if broken := t.decoder.feed(p[:n], t.see); broken != nil {
		return 0, broken
	}
	return n, err
}

// frameDecoder finds the text messages in the bytes of a WebSocket, server to client: the upgrade's answer
// first, then frames without masks and extensions.
type frameDecoder struct {
	upgraded bool
	buf      []byte
	message  []byte // of a message in several frames
	text     bool
}

const (
	maxTapped = 64 << 20 // bytes of one message

	opContinuation = 0
	opText         = 1
	opControl      = 8 // this and above
)

var errTap = errors.New("tap: the server sent something that is no unmasked WebSocket frame")

// feed takes the next bytes and calls see for each message that became whole.
func (d *frameDecoder) feed(p []byte, see func(protocol.Envelope)) error {
	d.buf = append(d.buf, p...)
	if !d.upgraded {
		end := bytes.Index(d.buf, []byte("\r\n\r\n"))
		if end < 0 {
			return nil
		}
		d.buf, d.upgraded = d.buf[end+4:], true
	}
	for {
		opcode, fin, payload, size, err := splitFrame(d.buf)
		if err != nil || size == 0 {
			return err
		}
		if opcode < opControl {
			if opcode != opContinuation {
				d.text = opcode == opText
			}
			d.message = append(d.message, payload...)
		}
		d.buf = d.buf[size:]
		if opcode >= opControl || !fin {
			continue
		}
		var envelope protocol.Envelope
		if d.text && json.Unmarshal(d.message, &envelope) == nil {
			see(envelope)
		}
		d.message = d.message[:0]
	}
}

// splitFrame reads the first frame of b. Size 0 means that it is not whole yet.
func splitFrame(b []byte) (opcode byte, fin bool, payload []byte, size int, err error) {
	if len(b) < 2 {
		return 0, false, nil, 0, nil
	}
	if b[0]&0x70 != 0 || b[1]&0x80 != 0 {
		return 0, false, nil, 0, errTap
	}
	head, length := 2, uint64(b[1]&0x7f)
	switch length {
	case 126:
		if head = 4; len(b) < head {
			return 0, false, nil, 0, nil
		}
		length = uint64(binary.BigEndian.Uint16(b[2:]))
	case 127:
		if head = 10; len(b) < head {
			return 0, false, nil, 0, nil
		}
		length = binary.BigEndian.Uint64(b[2:])
	}
	if length > maxTapped {
		return 0, false, nil, 0, errTap
	}
	if size = head + int(length); len(b) < size {
		return 0, false, nil, 0, nil
	}
	return b[0] & 0x0f, b[0]&0x80 != 0, b[head:size], size, nil
}
