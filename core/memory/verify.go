package memory

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// verify compares the checksums of the index's segments. The library maps them into memory and trusts them: a damaged
// one could end the process.
func verify(path string) error {
	segments, err := filepath.Glob(filepath.Join(path, "store", "*.zap"))
	if err != nil {
		return err
	}
	for _, name := range segments {
		if err := verifySegment(name); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// verifySegment compares the checksum at the end of a segment with that of all before it.
func verifySegment(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const width = 4
	if info.Size() < width {
		return errors.New("is cut off")
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(sum, f, info.Size()-width); err != nil {
		return err
	}
	var stored [width]byte
	if _, err := io.ReadFull(f, stored[:]); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(stored[:]) != sum.Sum32() {
		return errors.New("does not match its checksum")
	}
	return nil
}

// discard removes the files of an index, and nothing else that may lie in the directory.
func discard(path string) error {
	err := os.Remove(filepath.Join(path, "index_meta.json"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(path, "store")))
}
