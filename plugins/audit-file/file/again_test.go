package file

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Records that come again after a restart are recognised in the file that was put aside last, too; what a crash left of one that was being
// compressed is none.
func TestAgainBehindRotation(t *testing.T) {
	for name, compress := range map[string]bool{"Plain": false, "Compressed": true} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Path = filepath.Join(filepath.Dir(o.Path), "audit") // without an extension
			o.MaxSize, o.Compress = 4<<10, compress
			list := records(0, 40, "ann")
			s := start(t, o)
			write(t, s, list)
			text := all(t, s)
			if n := len(s.former()); n < 2 {
				t.Fatalf("there are %d former files", n)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(o.Path+"-20990101T000000.000Z-000000000001.gz.tmp", []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
			s = start(t, o)
			if last := write(t, s, list[len(list)-8:]); last != 40 {
				t.Errorf("the last is %d", last)
			}
			if again := all(t, s); !bytes.Equal(again, text) {
				t.Errorf("there are %d lines, want %d", bytes.Count(again, []byte("\n")), len(list))
			}
		})
	}
}

// Of a compressed file the lines at its end are held, and not all of it.
func TestPackedTail(t *testing.T) {
	for name, lines := range map[string]int{"Small": 10, "Large": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			var text, packed bytes.Buffer
			for i := range lines {
				_, _ = fmt.Fprintf(&text, "line %d of some\n", i)
			}
			z := gzip.NewWriter(&packed)
			if _, err := z.Write(text.Bytes()); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			in, err := packedTail(&packed)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(in)
			if err != nil || !bytes.HasSuffix(text.Bytes(), got) || !bytes.HasPrefix(got, []byte("line ")) {
				t.Fatalf("it has %.20q, %v", got, err)
			}
			if want := min(text.Len(), tailBytes); len(got) > want || len(got) < want-40 {
				t.Errorf("it has %d bytes, want about %d", len(got), want)
			}
		})
	}
	line := bytes.Repeat([]byte("x"), 1<<20) // that does not end
	var end lastBytes
	for range 100 {
		_, _ = end.Write(line)
	}
	if len(end.data) > 2*tailBytes || len(end.data) < tailBytes {
		t.Errorf("it holds %d bytes", len(end.data))
	}
}
