package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime"

	"github.com/wardroom/wardroom/core/store/kv"
)

// The dump format, version 1. All numbers are big-endian.
//
//	header   8 bytes "WRDUMP\r\n", uint32 format version, uint32 schema version
//	record   uint32 length of key (at least 1), uint32 length of value, key, value; keys strictly rise
//	trailer  uint32 0, uint64 number of records, 32 bytes SHA-256 of everything before the sum
//
// Badger's own backup is not used: it is no snapshot, and it takes a truncated file for a whole one.
const (
	dumpMagic   = "WRDUMP\r\n"
	dumpVersion = 1
)

// maxDumpKey and maxDumpValue bound what a reader allocates for a damaged length.
const (
	maxDumpKey   = 1 << 16
	maxDumpValue = valueLogFile
)

// progressEvery is how many records pass between two calls of a progress callback.
const progressEvery = 1024

// dumpPiece is how many bytes are dumped, which takes less than a millisecond, before what else the process does gets a turn.
const dumpPiece = 128 << 10

// ErrDump marks a dump that is truncated, damaged or none at all.
var ErrDump = errors.New("not a whole dump")

// ErrForeign is the ErrDump of what does not begin as a dump.
var ErrForeign = fmt.Errorf("%w: it does not begin as one", ErrDump)

// Summary describes a dump.
type Summary struct {
	Schema  uint32
	Records uint64
	Bytes   int64 // of keys and values
	SHA256  [sha256.Size]byte
}

// Dump writes every key of one consistent snapshot to w while the store stays in use. progress, which may
// be nil, is called with the number of records written so far. A writer that stalls holds up no other caller, but for a store whose
// write failed: that takes no writes until the dump has ended.
func (s *Store) Dump(ctx context.Context, w io.Writer, progress func(records uint64)) (Summary, error) {
	if err := ctx.Err(); err != nil {
		return Summary{}, err
	}
	s.dumping.RLock()
	defer s.dumping.RUnlock()
	s.dbMu.RLock()
	txn, err := s.snapshot()
	s.dbMu.RUnlock()
	if err != nil {
		return Summary{}, err
	}
	defer txn.Discard()
	return dump(ctx, s.closing, txn, w, progress)
}

func dump(ctx, closing context.Context, txn kv.Snapshot, w io.Writer, progress func(uint64)) (Summary, error) {
	var sum Summary
	schema, _, err := schemaOf(txn)
	if err != nil {
		return sum, fmt.Errorf("store: dump: %w", err)
	}
	if schema == 0 {
		return sum, fmt.Errorf("store: dump: %s: %w", keySchema, errRecord)
	}
	sum.Schema = schema
	digest := sha256.New()
	out := bufio.NewWriterSize(w, 256<<10)
	both := io.MultiWriter(out, digest)
	header := append([]byte(dumpMagic), 0, 0, 0, dumpVersion)
	if _, err := both.Write(binary.BigEndian.AppendUint32(header, schema)); err != nil {
		return sum, fmt.Errorf("store: dump: %w", err)
	}
	var head [8]byte
	piece := 0
	err = scan(txn, nil, nil, true, func(key, value []byte) (bool, error) {
		binary.BigEndian.PutUint32(head[:4], uint32(len(key)))
		binary.BigEndian.PutUint32(head[4:], uint32(len(value)))
		for _, part := range [][]byte{head[:], key, value} {
			if _, err := both.Write(part); err != nil {
				return false, err
			}
		}
		sum.Records++
		sum.Bytes += int64(len(key) + len(value))
		if piece += len(key) + len(value); piece >= dumpPiece {
			piece = 0
			runtime.Gosched()
		}
		if sum.Records%progressEvery == 0 {
			if progress != nil {
				progress(sum.Records)
			}
			if closing.Err() != nil {
				return false, errClosed
			}
		}
		return true, ctx.Err()
	})
	if err != nil {
		return sum, fmt.Errorf("store: dump: %w", err)
	}
	trailer := binary.BigEndian.AppendUint64(make([]byte, 4), sum.Records)
	if _, err := both.Write(trailer); err != nil {
		return sum, fmt.Errorf("store: dump: %w", err)
	}
	digest.Sum(sum.SHA256[:0])
	if _, err := out.Write(sum.SHA256[:]); err != nil {
		return sum, fmt.Errorf("store: dump: %w", err)
	}
	if err := out.Flush(); err != nil {
		return sum, fmt.Errorf("store: dump: %w", err)
	}
	if progress != nil {
		progress(sum.Records)
	}
	return sum, nil
}

// Verify reads a dump to its end and proves it whole. The error wraps ErrDump unless reading failed.
func Verify(r io.Reader, progress func(records uint64)) (Summary, error) {
	return decodeDump(r, progress, func(_, _ []byte) error { return nil })
}

// decodeDump calls fn with each record, whose slices are valid during the call, and returns nil only if
// the dump proved whole. What fn saw is not to be trusted before that.
func decodeDump(r io.Reader, progress func(uint64), fn func(key, value []byte) error) (Summary, error) {
	var sum Summary
	d := dumpReader{in: bufio.NewReaderSize(r, 256<<10), digest: sha256.New()}
	header := make([]byte, len(dumpMagic)+8)
	if err := d.read(header); err != nil {
		return sum, err
	}
	if string(header[:len(dumpMagic)]) != dumpMagic {
		return sum, ErrForeign
	}
	if v := binary.BigEndian.Uint32(header[len(dumpMagic):]); v != dumpVersion {
		return sum, fmt.Errorf("%w: format version %d, this program reads version %d", ErrDump, v, dumpVersion)
	}
	sum.Schema = binary.BigEndian.Uint32(header[len(dumpMagic)+4:])
	var key, value, before []byte
	var head [8]byte
	for {
		if err := d.read(head[:4]); err != nil {
			return sum, err
		}
		size := binary.BigEndian.Uint32(head[:4])
		if size == 0 {
			break
		}
		if err := d.read(head[4:]); err != nil {
			return sum, err
		}
		var err error
		if key, err = d.take(key, size, maxDumpKey); err != nil {
			return sum, err
		}
		if value, err = d.take(value, binary.BigEndian.Uint32(head[4:]), maxDumpValue); err != nil {
			return sum, err
		}
		if bytes.Compare(key, before) <= 0 {
			return sum, fmt.Errorf("%w: record %d is out of order", ErrDump, sum.Records)
		}
		if err := fn(key, value); err != nil {
			return sum, err
		}
		before = append(before[:0], key...)
		sum.Records++
		sum.Bytes += int64(len(key) + len(value))
		if progress != nil && sum.Records%progressEvery == 0 {
			progress(sum.Records)
		}
	}
	if err := d.read(head[:]); err != nil {
		return sum, err
	}
	if n := binary.BigEndian.Uint64(head[:]); n != sum.Records {
		return sum, fmt.Errorf("%w: it should hold %d records, but holds %d", ErrDump, n, sum.Records)
	}
	d.digest.Sum(sum.SHA256[:0])
	var want [sha256.Size]byte
	if err := d.read(want[:]); err != nil {
		return sum, err
	}
	if want != sum.SHA256 {
		return sum, fmt.Errorf("%w: its checksum is wrong", ErrDump)
	}
	if _, err := d.in.ReadByte(); err == nil {
		return sum, fmt.Errorf("%w: something follows its end", ErrDump)
	} else if !errors.Is(err, io.EOF) {
		return sum, fmt.Errorf("store: read dump: %w", err)
	}
	if progress != nil {
		progress(sum.Records)
	}
	return sum, nil
}

// dumpReader reads and sums.
type dumpReader struct {
	in     *bufio.Reader
	digest hash.Hash
}

func (d *dumpReader) read(b []byte) error {
	_, err := io.ReadFull(d.in, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends too early", ErrDump)
	case err != nil:
		return fmt.Errorf("store: read dump: %w", err)
	}
	_, _ = d.digest.Write(b) // never fails
	return nil
}

// take reads size bytes into b, which it grows as bytes really come: a damaged length costs no memory.
func (d *dumpReader) take(b []byte, size, limit uint32) ([]byte, error) {
	if size > limit {
		return b, fmt.Errorf("%w: a length of %d is beyond all bounds", ErrDump, size)
	}
	b = b[:0]
	for n := int(size); n > 0; {
		step := min(n, 1<<20)
		from := len(b)
		b = append(b, make([]byte, step)...)
		if err := d.read(b[from:]); err != nil {
			return b, err
		}
		n -= step
	}
	return b, nil
}
