package main

import (
	"bufio"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// flood is a text file that a shell writes to its terminal.
type flood struct {
	path string
	size uint64 // in the terminal, where a line ends with two characters
	sum  uint32 // CRC-32C of it
}

const floodBytes = 65_000_000

// textFile writes lines of prose, numbered and of different lengths, until there are enough bytes.
func (b *bench) textFile() (*flood, error) {
	if b.text != nil {
		return b.text, nil
	}
	size := floodBytes
	if b.quick {
		size /= 4
	}
	f := &flood{path: filepath.Join(b.dir, "text")}
	out, err := os.Create(f.path)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	const prose = "the agent reads the file, changes a line, runs the tests again and reports what it found on the way to here"
	w := bufio.NewWriterSize(out, 256<<10)
	var line []byte
	for i, n := 0, 0; n < size; i++ {
		line = fmt.Appendf(line[:0], "%08d %s", i, prose[:20+i*37%80])
		f.sum = crc32.Update(f.sum, castagnoli, line)
		f.sum = crc32.Update(f.sum, castagnoli, []byte("\r\n"))
		f.size += uint64(len(line)) + 2
		line = append(line, '\n')
		n += len(line)
		if _, err := w.Write(line); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	b.text = f
	return f, nil
}

// check reports whether everything arrived as it was written.
func (f *flood) check(d delivered) error {
	switch {
	case d.bytes+d.lost != f.size:
		return fmt.Errorf("%d bytes arrived and %d were skipped, of %d", d.bytes, d.lost, f.size)
	case d.lost == 0 && d.sum != f.sum:
		return fmt.Errorf("what arrived is not what was written")
	}
	return nil
}
