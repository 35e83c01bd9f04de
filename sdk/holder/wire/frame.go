package wire

import (
	"encoding/binary"
	"errors"
	"io"
)

// Limits of a frame. MaxPayload bounds what a note or a hook may carry; the rest of a body is its other fields.
const (
	HeaderLen  = 5
	MaxPayload = 4 << 20
	MaxBody    = MaxPayload + 64<<10
	// MaxFile bounds a file that is written or read in parts.
	MaxFile = 64 << 20
)

// keep is the largest buffer that a Reader holds on to between frames.
const keep = 16 << 10

// ErrTooLarge is returned for a frame that claims a body beyond the limit.
var ErrTooLarge = errors.New("the frame is larger than the protocol allows")

// Kind says what a frame's body is.
type Kind uint8

// Kinds of frames. Numbers are for ever.
const (
	KindHello       Kind = 1
	KindWelcome     Kind = 2
	KindRefused     Kind = 3
	KindLaunch      Kind = 4
	KindStarted     Kind = 5
	KindFailed      Kind = 6
	KindOutputStart Kind = 10
	KindData        Kind = 11
	KindEnd         Kind = 12
	KindInput       Kind = 20
	KindCancel      Kind = 21
	KindResize      Kind = 22
	KindSignal      Kind = 23
	KindKill        Kind = 24
	KindSaveNote    Kind = 25
	KindLoadNote    Kind = 26
	KindRelease     Kind = 27
	KindLoadUnread  Kind = 28
	KindDone        Kind = 30
	KindNote        Kind = 31
	KindExited      Kind = 32
	KindUnread      Kind = 33
	KindHookCall    Kind = 40
	KindHookGone    Kind = 41
	KindHookAnswer  Kind = 42
	KindHookRequest Kind = 43
	KindHookReply   Kind = 44
	KindFile        Kind = 50
	KindPart        Kind = 51
	KindUsage       Kind = 52
	KindFilePart    Kind = 53
)

// PutHeader writes the header of a frame into h, which has HeaderLen bytes.
func PutHeader(h []byte, kind Kind, body int) {
	binary.BigEndian.PutUint32(h, uint32(body))
	h[4] = byte(kind)
}

// ParseHeader reads a header. ErrTooLarge.
func ParseHeader(h []byte) (kind Kind, body int, err error) {
	n := binary.BigEndian.Uint32(h)
	if n > MaxBody {
		return 0, 0, ErrTooLarge
	}
	return Kind(h[4]), int(n), nil
}

// Reader reads frames. It is used by one goroutine.
type Reader struct {
	r    io.Reader
	head [HeaderLen]byte
	buf  []byte
	most int // a larger buffer is not held on to
}

// NewReader makes a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r, most: keep} }

// Next returns the next frame; body is valid until the next call. io.EOF at the end of the stream between two
// frames, io.ErrUnexpectedEOF within one. Memory grows with what arrives, not with what a header claims.
func (r *Reader) Next() (kind Kind, body []byte, err error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return 0, nil, err
	}
	kind, n, err := ParseHeader(r.head[:])
	if err != nil {
		return 0, nil, err
	}
	if cap(r.buf) > r.most {
		r.buf = nil
	}
	r.buf = r.buf[:0]
	for len(r.buf) < n {
		step := min(n-len(r.buf), max(64<<10, len(r.buf)))
		if free := cap(r.buf) - len(r.buf); free < step {
			grown := make([]byte, len(r.buf), len(r.buf)+step)
			copy(grown, r.buf)
			r.buf = grown
		}
		chunk := r.buf[len(r.buf) : len(r.buf)+step]
		got, err := io.ReadFull(r.r, chunk)
		r.buf = r.buf[:len(r.buf)+got]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
	}
	return kind, r.buf, nil
}

// Swap hands over the memory of the last body, which then stays valid, for a buffer to read into instead. Who keeps
// bodies of one size after the other does so without garbage.
func (r *Reader) Swap(spare []byte) {
	r.buf = spare[:0]
	r.most = max(keep, cap(spare))
}

// Message is the body of one kind of frame.
type Message interface {
	Kind() Kind
	append(b []byte) []byte
}

// Append appends the whole frame of m to b.
func Append(b []byte, m Message) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, 0)
	b = m.append(b)
	PutHeader(b[at:], m.Kind(), len(b)-at-HeaderLen)
	return b
}

// Write writes the frame of m with one call. It refuses a message beyond MaxBody.
func Write(w io.Writer, m Message) error {
	b := Append(make([]byte, 0, 128), m)
	if len(b)-HeaderLen > MaxBody {
		return ErrTooLarge
	}
	_, err := w.Write(b)
	return err
}
