package store

import (
	"bufio"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"
)

// trimLogs cuts the logs of memtables, which a store that was not closed leaves, behind their last whole transaction, as
// Badger does when it opens a database for writing. A database that is opened for reading only wants logs without such a
// rest. Nothing is lost that could ever be read, and it needs no space: it gives some back. A log that holds nothing is
// removed.
//
// It works under Badger's own lock on the directory. When another process holds the lock, it does nothing and lets Badger
// say so.
func trimLogs(path string, tableKey []byte, logger hclog.Logger) (err error) {
	unlock, locked, err := lockDir(path)
	if err != nil {
		return fmt.Errorf("store: lock %s: %w", path, err)
	}
	if !locked {
		return nil
	}
	defer unlock()
	logs, err := filepath.Glob(filepath.Join(path, "*.mem"))
	if err != nil {
		return fmt.Errorf("store: look for logs: %w", err)
	}
	keyOf := func(uint64) ([]byte, error) { return nil, nil }
	if tableKey != nil {
		registry, err := badger.OpenKeyRegistry(badger.KeyRegistryOptions{Dir: path, ReadOnly: true, EncryptionKey: tableKey})
		if err != nil {
			return fmt.Errorf("store: read the keys of %s: %w", path, err)
		}
		defer func() { err = errors.Join(err, registry.Close()) }()
		keyOf = func(id uint64) ([]byte, error) {
			key, err := registry.DataKey(id)
			return key.GetData(), err
		}
	}
	for _, name := range logs {
		if err := trimLog(name, keyOf, logger); err != nil {
			return fmt.Errorf("store: trim %s: %w", name, err)
		}
	}
	return nil
}

func trimLog(name string, keyOf func(id uint64) ([]byte, error), logger hclog.Logger) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written to it
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end, err := endOfLog(f, keyOf)
	switch {
	case err != nil:
		return err
	case end <= logHead:
		logger.Info("removing a log that holds nothing", "file", filepath.Base(name))
		return os.Remove(name)
	case end < info.Size():
		logger.Info("cutting what a crash left behind the last transaction of a log", "file", filepath.Base(name), "bytes", info.Size()-end)
		return f.Truncate(end)
	}
	return nil
}

// What a log of Badger is made of: a head (the id of its key, and where that begins), then entries.
const (
	logHead    = 20       // be64 id of the key, then the beginning of its counters
	logTxn     = 1 << 6   // meta of an entry that is part of a transaction
	logFinTxn  = 1 << 7   // and of the one that ends it, whose value is the version of the transaction
	logMaxKey  = 1 << 16  // bytes
	logVersion = 8        // bytes at the end of each key: math.MaxUint64 less its version
	logMaxSize = 64 << 20 // of key and value; a log is smaller
)

var (
	logTable   = crc32.MakeTable(crc32.Castagnoli)
	errLogRest = errors.New("no whole entry") // of what lies behind the last one
)

// endOfLog returns where the last transaction of a log ends. keyOf returns the key that a log is encrypted by, or nil.
func endOfLog(r io.Reader, keyOf func(id uint64) ([]byte, error)) (end int64, err error) {
	in := &logReader{r: bufio.NewReaderSize(r, 64<<10)}
	var head [logHead]byte
	if _, err := io.ReadFull(in.r, head[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	key, err := keyOf(binary.BigEndian.Uint64(head[:]))
	if err != nil {
		return 0, err
	}
	if key != nil {
		if in.block, err = aes.NewCipher(key); err != nil {
			return 0, err
		}
		copy(in.counter[:], head[8:])
	}
	at := int64(logHead)
	end = at
	var open uint64 // version of the transaction that did not end yet; 0: none is open
	for {
		e, err := in.entry(at)
		if errors.Is(err, errLogRest) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		at += e.size
		switch {
		case e.meta&logTxn != 0:
			open = cmp.Or(open, e.version)
			if open != e.version {
				return end, nil
			}
		case e.meta&logFinTxn != 0:
			if e.fin != open {
				return end, nil
			}
			open, end = 0, at
		case open != 0:
			return end, nil
		default:
			end = at
		}
	}
}

// logEntry is what endOfLog needs to know of an entry.
type logEntry struct {
	meta    byte
	version uint64 // that its key names
	fin     uint64 // that its value names, of one that ends a transaction
	size    int64  // of all of it
}

// logReader reads the entries of a log. It takes the checksum of what it reads byte by byte.
type logReader struct {
	r    *bufio.Reader
	sum  uint32
	size int64
	buf  []byte
	// Of a log that is encrypted; the counter ends with the place of the entry.
	block   cipher.Block
	counter [aes.BlockSize]byte
}

// ReadByte implements io.ByteReader.
func (l *logReader) ReadByte() (byte, error) {
	b, err := l.r.ReadByte()
	if err == nil {
		l.sum = crc32.Update(l.sum, logTable, []byte{b})
		l.size++
	}
	return b, err
}

// entry reads the next entry, which begins at a place of the log. The error is errLogRest where there is no whole one.
func (l *logReader) entry(at int64) (e logEntry, err error) {
	l.sum, l.size = 0, 0
	if e.meta, err = l.ReadByte(); err == nil {
		_, err = l.ReadByte() // a second meta, of whoever uses the database: nothing is kept in it
	}
	var numbers [3]uint64 // lengths of key and value, when it expires
	for i := range numbers {
		if err == nil {
			numbers[i], err = binary.ReadUvarint(l)
		}
	}
	if err != nil {
		return e, restOr(err)
	}
	keyLen, valueLen := numbers[0], numbers[1]
	if keyLen < logVersion || keyLen > logMaxKey || valueLen > logMaxSize {
		return e, errLogRest
	}
	n := int(keyLen + valueLen)
	if cap(l.buf) < n+crc32.Size {
		l.buf = make([]byte, 2*n+crc32.Size)
	}
	buf := l.buf[:n+crc32.Size]
	if _, err := io.ReadFull(l.r, buf); err != nil {
		return e, restOr(err)
	}
	if crc32.Update(l.sum, logTable, buf[:n]) != binary.BigEndian.Uint32(buf[n:]) {
		return e, errLogRest
	}
	e.size = l.size + int64(len(buf))
	if l.block != nil {
		binary.BigEndian.PutUint32(l.counter[aes.BlockSize-4:], uint32(at))
		cipher.NewCTR(l.block, l.counter[:]).XORKeyStream(buf[:n], buf[:n])
	}
	e.version = math.MaxUint64 - binary.BigEndian.Uint64(buf[keyLen-logVersion:keyLen])
	if e.meta&logTxn == 0 && e.meta&logFinTxn != 0 {
		if e.fin, err = strconv.ParseUint(string(buf[keyLen:n]), 10, 64); err != nil {
			return e, errLogRest
		}
	}
	return e, nil
}

// restOr returns errLogRest for the end of a file in the midst of an entry, and for numbers of no entry.
func restOr(err error) error {
	var device *os.PathError
	if errors.As(err, &device) {
		return err
	}
	return errLogRest
}
