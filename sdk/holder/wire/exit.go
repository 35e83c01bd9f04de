package wire

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Exited is how a command ended, when nothing of it is left. It is also what the exit file holds.
type Exited struct {
	Nonce Nonce
	Code  uint32 // 128+n after signal n
	// Killed says that a Kill was asked for.
	Killed bool
	Head   uint64 // bytes of its whole output
	At     time.Time
}

// Kind implements Message.
func (Exited) Kind() Kind { return KindExited }

func (m Exited) append(b []byte) []byte {
	b = append(b, m.Nonce[:]...)
	b = putBool(binary.BigEndian.AppendUint32(b, m.Code), m.Killed)
	b = binary.BigEndian.AppendUint64(b, m.Head)
	return binary.BigEndian.AppendUint64(b, uint64(m.At.UnixNano()))
}

// ParseExited reads a body of KindExited.
func ParseExited(body []byte) (Exited, error) {
	f := fields{b: body}
	var m Exited
	copy(m.Nonce[:], f.take(len(m.Nonce)))
	m.Code, m.Killed, m.Head, m.At = f.u32(), f.bool(), f.u64(), time.Unix(0, int64(f.u64()))
	return m, f.err
}

const exitMagic = "wardroom-exit-1"

// FormatExitFile returns the exit file: one line of fields that people can read.
func FormatExitFile(m Exited) []byte {
	b := append([]byte(exitMagic), ' ')
	b = append(b, m.Nonce.String()...)
	b = strconv.AppendUint(append(b, " code="...), uint64(m.Code), 10)
	b = strconv.AppendBool(append(b, " killed="...), m.Killed)
	b = strconv.AppendUint(append(b, " output="...), m.Head, 10)
	b = strconv.AppendInt(append(b, " at="...), m.At.UnixNano(), 10)
	return append(b, '\n')
}

var errExitFile = errors.New("this is no exit file")

// ParseExitFile reads an exit file: each field once. Fields that it does not know are skipped.
func ParseExitFile(b []byte) (Exited, error) {
	var m Exited
	parts := strings.Fields(string(b))
	if len(b) == 0 || b[len(b)-1] != '\n' || len(parts) < 2 || parts[0] != exitMagic {
		return m, errExitFile
	}
	nonce, err := ParseNonce(parts[1])
	if err != nil {
		return m, errExitFile
	}
	m.Nonce = nonce
	seen := map[string]bool{}
	for _, part := range parts[2:] {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "code":
			var n uint64
			n, err = strconv.ParseUint(value, 10, 32)
			m.Code = uint32(n)
		case "killed":
			m.Killed, err = strconv.ParseBool(value)
		case "output":
			m.Head, err = strconv.ParseUint(value, 10, 64)
		case "at":
			var n int64
			n, err = strconv.ParseInt(value, 10, 64)
			m.At = time.Unix(0, n)
		default:
			continue
		}
		if err != nil || seen[key] {
			return m, errExitFile
		}
		seen[key] = true
	}
	if len(seen) < 4 {
		return m, errExitFile
	}
	return m, nil
}
