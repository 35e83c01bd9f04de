package wire

import (
	"encoding/binary"
	"errors"
)

var errShort = errors.New("the frame is shorter than its fields")

// errList is returned for a list that claims more entries than its body can hold.
var errList = errors.New("the frame claims a longer list than it holds")

func putBytes[T string | []byte](b []byte, v T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
	return append(b, v...)
}

func putList(b []byte, list []string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for _, s := range list {
		b = putBytes(b, s)
	}
	return b
}

func putBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// fields takes a body apart; the first error stays.
type fields struct {
	b   []byte
	err error
}

func (f *fields) take(n int) []byte {
	if f.err != nil || n < 0 || len(f.b) < n {
		if f.err == nil {
			f.err = errShort
		}
		return nil
	}
	v := f.b[:n]
	f.b = f.b[n:]
	return v
}

func (f *fields) u8() uint8 {
	if v := f.take(1); v != nil {
		return v[0]
	}
	return 0
}

func (f *fields) u16() uint16 {
	if v := f.take(2); v != nil {
		return binary.BigEndian.Uint16(v)
	}
	return 0
}

func (f *fields) u32() uint32 {
	if v := f.take(4); v != nil {
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

func (f *fields) u64() uint64 {
	if v := f.take(8); v != nil {
		return binary.BigEndian.Uint64(v)
	}
	return 0
}

func (f *fields) bool() bool { return f.u8() != 0 }

// bytes returns a part of the body, not a copy.
func (f *fields) bytes() []byte {
	n := f.u32()
	if uint64(n) > uint64(len(f.b)) {
		if f.err == nil {
			f.err = errShort
		}
		return nil
	}
	return f.take(int(n))
}

func (f *fields) string() string { return string(f.bytes()) }

func (f *fields) list() []string {
	n := f.u32()
	if uint64(n)*4 > uint64(len(f.b)) {
		if f.err == nil {
			f.err = errList
		}
		return nil
	}
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, f.string())
	}
	return list
}
