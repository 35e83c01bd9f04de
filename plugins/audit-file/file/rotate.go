package file

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// rotate puts the file aside under a name with the time and its last record, and begins a new one. mu is held.
func (s *Sink) rotate() error {
	if err := s.sync(); err != nil {
		return err
	}
	former, err := s.formerName()
	if err != nil {
		return err
	}
	s.shut()
	if err := os.Rename(s.o.Path, former); err != nil {
		return err
	}
	last := s.last
	if err := s.open(); err != nil {
		return err
	}
	s.last, s.durable = last, last
	s.began = s.o.Now()
	s.packFormer()
	return nil
}

// stampForm is the form of the time in the name of a former file.
const stampForm = "20060102T150405.000Z"

// formerName is the name of a file that is put aside. Names sort in the order of the files: the time in one is that of the file
// before it, and a moment more, where the clock was set back.
func (s *Sink) formerName() (string, error) {
	ext := filepath.Ext(s.o.Path)
	base := strings.TrimSuffix(s.o.Path, ext)
	at := s.o.Now().UTC()
	if list := s.former(); len(list) > 0 {
		stamp := strings.TrimPrefix(filepath.Base(list[len(list)-1]), filepath.Base(base)+"-")
		if newest, err := time.Parse(stampForm, stamp[:min(len(stamp), len(stampForm))]); err == nil && !at.After(newest) {
			at = newest.Add(time.Millisecond)
		}
	}
	for n := range 1000 {
		name := fmt.Sprintf("%s-%s-%012d", base, at.Format(stampForm), s.last)
		if n > 0 {
			name += fmt.Sprintf(".%d", n)
		}
		if !exists(name+ext) && !exists(name+ext+".gz") {
			return name + ext, nil
		}
	}
	return "", errors.New("no name is free for the former file")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// former lists the files that were put aside, the oldest first.
func (s *Sink) former() []string {
	ext := filepath.Ext(s.o.Path)
	base := strings.TrimSuffix(filepath.Base(s.o.Path), ext)
	entries, err := os.ReadDir(filepath.Dir(s.o.Path))
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), base+"-")
		if ok && len(rest) > 15 && rest[8] == 'T' && e.Type().IsRegular() && !strings.HasSuffix(rest, tempEnd) &&
			(strings.HasSuffix(rest, ext) || strings.HasSuffix(rest, ext+".gz")) {
			list = append(list, filepath.Join(filepath.Dir(s.o.Path), e.Name()))
		}
	}
	slices.Sort(list)
	return list
}

// recall remembers the records of the newest former file, once: those that come again after a restart may be there. One that cannot be
// read keeps nothing from being written. mu is held.
func (s *Sink) recall() {
	if s.recalled {
		return
	}
	s.recalled = true
	list := s.former()
	if len(list) == 0 {
		return
	}
	path := list[len(list)-1]
	if err := s.readFormer(path); err != nil {
		s.log.Warn("a former file is not read: what it has may be written again", "file", filepath.Base(path), "error", err)
	}
}

// readFormer remembers the records at the end of a former file. mu is held.
func (s *Sink) readFormer(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	var in *bufio.Reader
	if strings.HasSuffix(path, ".gz") {
		if in, err = packedTail(f); err != nil {
			return err
		}
	} else {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if in, _, err = tail(f, info.Size()); err != nil {
			return err
		}
	}
	_, _, err = s.scan(in)
	return err
}

// maxUnpacked is how many bytes a compressed file may have that is unpacked at the start.
const maxUnpacked = 1 << 30

// packedTail returns the lines at the end of a compressed file. It holds no more of it than two times tailBytes.
func packedTail(f io.Reader) (*bufio.Reader, error) {
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var end lastBytes
	n, err := io.Copy(&end, io.LimitReader(z, maxUnpacked+1))
	switch {
	case err != nil:
		return nil, err
	case n > maxUnpacked:
		return nil, fmt.Errorf("it has more than %d MiB", maxUnpacked>>20)
	}
	lines := end.data[max(len(end.data)-tailBytes, 0):]
	if int64(len(lines)) < n { // the first line may be a part of one
		lines = lines[bytes.IndexByte(lines, '\n')+1:]
	}
	return bufio.NewReader(bytes.NewReader(lines)), nil
}

// lastBytes holds the last tailBytes that were written to it, and some before them.
type lastBytes struct{ data []byte }

// Write implements io.Writer.
func (l *lastBytes) Write(p []byte) (int, error) {
	if len(l.data) > 2*tailBytes-len(p) {
		l.data = slices.Delete(l.data, 0, max(len(l.data)-tailBytes, 0))
	}
	l.data = append(l.data, p...)
	return len(p), nil
}

// packFormer compresses what is to be compressed, and removes what is beyond maxFiles, behind those who write. mu is
// held.
func (s *Sink) packFormer() {
	if s.closed || !s.o.Compress && s.o.MaxFiles == 0 {
		return
	}
	s.packing.Go(func() {
		s.packed.Lock()
		defer s.packed.Unlock()
		list := s.former()
		if s.o.MaxFiles > 0 && len(list) > s.o.MaxFiles {
			for _, path := range list[:len(list)-s.o.MaxFiles] {
				if err := os.Remove(path); err != nil {
					s.log.Warn("a former file stays", "error", err)
				}
			}
			list = list[len(list)-s.o.MaxFiles:]
		}
		for _, path := range list {
			if s.o.Compress && !strings.HasSuffix(path, ".gz") {
				if err := pack(path); err != nil {
					s.log.Warn("a former file is not compressed", "error", err)
					return
				}
			}
		}
	})
}

// tempEnd ends the name of a file into which another one is being compressed; a crash leaves it.
const tempEnd = ".gz.tmp"

// pack compresses a file, which goes once its compressed form is on disk.
func pack(path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read from
	temp := path + tempEnd
	out, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp)
		}
	}()
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close(), out.Sync(), out.Close()); err != nil {
		return err
	}
	if err = os.Rename(temp, path+".gz"); err != nil {
		return err
	}
	return errors.Join(os.Remove(path), syncDir(filepath.Dir(path)))
}
