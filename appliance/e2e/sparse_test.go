package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// written returns what was written to a file, without its holes, each of which it leaves out but for a zero: the logs of the store are
// of its full size from the start, and almost all of that was never written.
func written(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data bytes.Buffer
	for end := int64(0); ; {
		begin, err := f.Seek(end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // nothing but a hole is left
			return data.Bytes(), nil
		}
		if err == nil {
			end, err = f.Seek(begin, unix.SEEK_HOLE)
		}
		if err != nil { // its file system knows of no holes, or it was made shorter meanwhile
			return os.ReadFile(path)
		}
		data.WriteByte(0)
		if _, err := io.Copy(&data, io.NewSectionReader(f, begin, end-begin)); err != nil {
			return nil, err
		}
	}
}

func TestWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const apart = 1 << 30
	texts := []string{"at the beginning", "in the middle", "at the end"}
	for i, text := range texts {
		if _, err := f.WriteAt([]byte(text), int64(i)*apart); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string) {
		data, err := written(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !bytes.Contains(data, []byte(text)) {
				t.Errorf("%s, the text %s is not found", when, text)
			}
		}
		if len(data) > 1<<20 {
			t.Errorf("%s, %d bytes are read of a file of 2 GiB in which hardly anything was written", when, len(data))
		}
	}
	check("before it is on the disk") // and where it lies was chosen
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	check("after")
	if err := f.Truncate(3 * apart); err != nil {
		t.Fatal(err)
	}
	check("with a hole at its end")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := written(path); err != nil || len(data) > 0 {
		t.Errorf("of an empty file: %q, %v", data, err)
	}
}
