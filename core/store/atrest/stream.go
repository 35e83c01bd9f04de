package atrest

import (
	"bufio"
	"context"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// fileMagic begins a sealed file.
const fileMagic = "WRSEAL\r\n"

// pieceSize is how much of a file is sealed at a time.
const pieceSize = 64 << 10

// maxEnvelope bounds the envelope of a file.
const maxEnvelope = 64 << 10

// aboutFile is the purpose that the keys of files are wrapped for.
const aboutFile = "wardroom file"

// ErrFile marks a sealed file that is truncated, damaged or none at all.
var ErrFile = errors.New("not a whole encrypted file")

// Envelope holds the header of a sealed file and the key that is wrapped in it. Whoever has it can read the file.
type Envelope struct {
	Header []byte `json:"header"`
	Key    []byte `json:"key"`
}

// String keeps the key out of logs.
func (Envelope) String() string { return "envelope" }

// GoString is String.
func (e Envelope) GoString() string { return e.String() }

type fileHeader struct {
	Format int `json:"format"`
	Wrapped
}

// NewEnvelope makes the key of a file.
func NewEnvelope(ctx context.Context, source KeySource) (Envelope, error) {
	key := newKey()
	wrapped, err := source.Wrap(ctx, key, aboutFile)
	if err != nil {
		return Envelope{}, err
	}
	text, err := json.Marshal(fileHeader{1, wrapped})
	if err != nil {
		return Envelope{}, err
	}
	header := binary.BigEndian.AppendUint32([]byte(fileMagic), uint32(len(text)))
	return Envelope{append(header, text...), key}, nil
}

// FileEnvelope makes the key of a dump or a backup of this store.
func (r *Ring) FileEnvelope(ctx context.Context) (Envelope, error) { return NewEnvelope(ctx, r.source) }

// fileWriter seals a file. It is whole once it is closed.
type fileWriter struct {
	w     io.Writer
	aead  cipher.AEAD
	n     uint64
	piece []byte
	out   []byte
	err   error
}

// NewWriter begins a sealed file, of which an envelope is used for one.
func NewWriter(w io.Writer, e Envelope) (io.WriteCloser, error) {
	if len(e.Key) != keySize {
		return nil, errors.New("the envelope has no key")
	}
	if _, err := w.Write(e.Header); err != nil {
		return nil, err
	}
	return &fileWriter{w: w, aead: newGCM(e.Key), piece: make([]byte, 0, pieceSize)}, nil
}

// Write implements io.Writer.
func (f *fileWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 && f.err == nil {
		if len(f.piece) == pieceSize {
			f.flush(false)
		}
		n := min(len(p), pieceSize-len(f.piece))
		f.piece = append(f.piece, p[:n]...)
		p, written = p[n:], written+n
	}
	return written, f.err
}

// Close seals the last piece. It does not close what it writes to.
func (f *fileWriter) Close() error {
	if f.err == nil {
		f.flush(true)
	}
	err := f.err
	if err == nil {
		f.err = errors.New("the file is closed")
	}
	return err
}

func (f *fileWriter) flush(last bool) {
	f.out = f.aead.Seal(f.out[:0], pieceNonce(f.n, last), f.piece, nil)
	_, f.err = f.w.Write(f.out)
	f.n++
	f.piece = f.piece[:0]
}

func pieceNonce(n uint64, last bool) []byte {
	var nonce [12]byte
	binary.BigEndian.PutUint64(nonce[3:], n)
	if last {
		nonce[11] = 1
	}
	return nonce[:]
}

// Sealed reports whether a file that begins so is sealed, and returns the reader to go on with.
func Sealed(r io.Reader) (bool, io.Reader, error) {
	in := bufio.NewReaderSize(r, 256<<10)
	begin, err := in.Peek(len(fileMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, in, err
	}
	return string(begin) == fileMagic, in, nil
}

type fileReader struct {
	in    *bufio.Reader
	aead  cipher.AEAD
	n     uint64
	buf   []byte
	plain []byte // of the present piece, what is left
	last  bool
	err   error
}

// NewReader opens a sealed file. What is read before io.EOF is true to what was written, and whole with it. The error wraps
// ErrKey when the source has not the master key, and ErrFile when the file is damaged.
func NewReader(ctx context.Context, r io.Reader, source KeySource) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 256<<10)
	head := make([]byte, len(fileMagic)+4)
	if _, err := io.ReadFull(in, head); err != nil || string(head[:len(fileMagic)]) != fileMagic {
		return nil, fileError("it does not begin as one", err)
	}
	size := binary.BigEndian.Uint32(head[len(fileMagic):])
	if size > maxEnvelope {
		return nil, fileError("it does not begin as one", nil)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(in, text); err != nil {
		return nil, fileError("it ends too early", err)
	}
	var h fileHeader
	if json.Unmarshal(text, &h) != nil || h.Format < 1 {
		return nil, fileError("it does not begin as one", nil)
	}
	if h.Format != 1 {
		return nil, fileError(fmt.Sprintf("it has format %d, and this program reads format 1", h.Format), nil)
	}
	key, err := source.Unwrap(ctx, h.Wrapped, aboutFile)
	if err != nil {
		return nil, err
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("%w: %s gave a key of another length", ErrKey, source)
	}
	return &fileReader{in: in, aead: newGCM(key), buf: make([]byte, pieceSize+tagSize)}, nil
}

// fileError says what is wrong with a file, unless reading it failed.
func fileError(what string, err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("%w: %s", ErrFile, what)
}

// Read implements io.Reader.
func (f *fileReader) Read(p []byte) (int, error) {
	for len(f.plain) == 0 && f.err == nil {
		f.next()
	}
	if len(f.plain) == 0 {
		return 0, f.err
	}
	n := copy(p, f.plain)
	f.plain = f.plain[n:]
	return n, nil
}

func (f *fileReader) next() {
	if f.last {
		f.err = io.EOF
		return
	}
	n, err := io.ReadFull(f.in, f.buf)
	switch {
	case err == nil:
		if _, err := f.in.Peek(1); errors.Is(err, io.EOF) {
			f.last = true
		} else if err != nil {
			f.err = err
			return
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.last = true
	default:
		f.err = err
		return
	}
	plain, err := f.aead.Open(f.buf[:0], pieceNonce(f.n, f.last), f.buf[:n], nil)
	if err != nil {
		f.err = fileError("it was changed or ends too early", nil)
		return
	}
	f.plain = plain
	f.n++
}
