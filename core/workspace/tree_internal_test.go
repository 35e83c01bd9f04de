package workspace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An agent may write git's index: what it left out of it does not take space in the copy either.
func TestCopyOfAnIndexWithHoles(t *testing.T) {
	dir := t.TempDir()
	const size = maxIndex - 5
	index, err := os.Create(filepath.Join(dir, "index"))
	if err != nil {
		t.Fatal(err)
	}
	_, headErr := index.WriteAt([]byte("DIRC"), 0)
	_, tailErr := index.WriteAt([]byte("end"), size-3)
	if err := errors.Join(headErr, tailErr, index.Close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "copy")
	if err := copyIndex(path, dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if taken := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != size || taken > 1<<20 {
		t.Errorf("the copy has %d bytes and takes %d", info.Size(), taken)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(text, []byte("DIRC\x00")) || !bytes.HasSuffix(text, []byte("\x00end")) || len(bytes.Trim(text[4:size-3], "\x00")) > 0 {
		t.Errorf("the copy is another file: %v", err)
	}
}
