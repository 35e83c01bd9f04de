package wire

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// Versions of the protocol that this package speaks. Version 2 has KindLoadUnread.
const (
	Version    = 2
	MinVersion = 1
)

const magic = "WRDH"

// Nonce tells one life of an agent from any other. It stands in the agent's environment too, so it proves
// identity and is no secret.
type Nonce [16]byte

// String returns it as 32 hexadecimal digits.
func (n Nonce) String() string {
	var b [2 * len(n)]byte
	for i, v := range n {
		b[2*i], b[2*i+1] = digits[v>>4], digits[v&15]
	}
	return string(b[:])
}

const digits = "0123456789abcdef" // by hand: encoding/hex would bring fmt into the holding process

var errNonce = errors.New("a nonce has 32 hexadecimal digits")

// ParseNonce reads what String wrote.
func ParseNonce(s string) (Nonce, error) {
	var n Nonce
	if len(s) != 2*len(n) {
		return n, errNonce
	}
	for i := range n {
		high, low := strings.IndexByte(digits, s[2*i]), strings.IndexByte(digits, s[2*i+1])
		if high < 0 || low < 0 {
			return Nonce{}, errNonce
		}
		n[i] = byte(high<<4 | low)
	}
	return n, nil
}

// Role is the purpose of a connection.
type Role uint8

// Roles.
const (
	RoleControl Role = 1
	RoleOutput  Role = 2
	RoleHook    Role = 3
)

// Hello opens a connection.
type Hello struct {
	Min, Max uint16
	Role     Role
	Nonce    Nonce
	Client   uint64 // RoleOutput: of the control connection's Welcome
	From     uint64 // RoleOutput: offset to begin at
}

// Kind implements Message.
func (Hello) Kind() Kind { return KindHello }

func (m Hello) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint16(b, m.Min)
	b = binary.BigEndian.AppendUint16(b, m.Max)
	b = append(b, byte(m.Role))
	b = append(b, m.Nonce[:]...)
	b = binary.BigEndian.AppendUint64(b, m.Client)
	return binary.BigEndian.AppendUint64(b, m.From)
}

// ParseHello reads a body of KindHello.
func ParseHello(body []byte) (Hello, error) {
	f := fields{b: body}
	if string(f.take(len(magic))) != magic {
		return Hello{}, errors.New("this is no holder's client")
	}
	m := Hello{Min: f.u16(), Max: f.u16(), Role: Role(f.u8())}
	copy(m.Nonce[:], f.take(len(m.Nonce)))
	m.Client, m.From = f.u64(), f.u64()
	return m, f.err
}

// Negotiate returns the highest version that a speaker of lo..hi and this package share, or 0.
func Negotiate(lo, hi uint16) uint16 {
	v := min(hi, Version)
	if v < lo || v < MinVersion {
		return 0
	}
	return v
}

// Welcome accepts a connection and tells how things stand.
type Welcome struct {
	Version   uint16
	Client    uint64 // number of this control connection
	HolderPID uint32
	PID       uint32 // of the command
	Start     uint64 // its start time, in clock ticks since the boot
	StartedAt time.Time
	Cols      uint16
	Rows      uint16
	Head      uint64 // bytes of output so far
	Tail      uint64 // offset of the oldest byte that is kept
	Ended     bool
	// Unread is how many bytes of input the command has not read. A holder that does not know it yet, or cannot tell, says 0.
	Unread uint32
}

// Kind implements Message.
func (Welcome) Kind() Kind { return KindWelcome }

func (m Welcome) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, m.Version)
	b = binary.BigEndian.AppendUint64(b, m.Client)
	b = binary.BigEndian.AppendUint32(b, m.HolderPID)
	b = binary.BigEndian.AppendUint32(b, m.PID)
	b = binary.BigEndian.AppendUint64(b, m.Start)
	b = binary.BigEndian.AppendUint64(b, uint64(m.StartedAt.UnixNano()))
	b = binary.BigEndian.AppendUint16(b, m.Cols)
	b = binary.BigEndian.AppendUint16(b, m.Rows)
	b = binary.BigEndian.AppendUint64(b, m.Head)
	b = binary.BigEndian.AppendUint64(b, m.Tail)
	return binary.BigEndian.AppendUint32(putBool(b, m.Ended), m.Unread)
}

// ParseWelcome reads a body of KindWelcome.
func ParseWelcome(body []byte) (Welcome, error) {
	f := fields{b: body}
	m := Welcome{
		Version: f.u16(), Client: f.u64(), HolderPID: f.u32(), PID: f.u32(), Start: f.u64(),
		StartedAt: time.Unix(0, int64(f.u64())), Cols: f.u16(), Rows: f.u16(), Head: f.u64(), Tail: f.u64(), Ended: f.bool(),
	}
	if len(f.b) > 0 { // a holder of an earlier version has none
		m.Unread = f.u32()
	}
	return m, f.err
}
