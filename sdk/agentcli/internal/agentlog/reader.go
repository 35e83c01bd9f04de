package agentlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Reader yields lines, oldest first. It is a runtime.LogStream: Next is called by one goroutine, Close by any.
type Reader struct {
	l    *Log
	ctx  context.Context // of the call that opened it: its end is the stream's
	opts runtime.LogOptions

	lines []runtime.LogLine // read already
	age   int               // turn of the file that is followed
	at    int64             // offset in it

	once   sync.Once
	closed chan struct{}
}

var _ runtime.LogStream = (*Reader)(nil)

// Read opens a reader that lives as long as ctx.
func (l *Log) Read(ctx context.Context, opts runtime.LogOptions) (*Reader, error) {
	r := &Reader{l: l, ctx: ctx, opts: opts, closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range []string{previous, current} {
		data, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		r.at = r.take(data)
	}
	r.age = l.age
	if opts.Tail > 0 && len(r.lines) > opts.Tail {
		r.lines = r.lines[len(r.lines)-opts.Tail:]
	}
	return r, nil
}

// take decodes the whole lines of data, and returns their length.
func (r *Reader) take(data []byte) int64 {
	taken := int64(0)
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return taken
		}
		var line runtime.LogLine
		if json.Unmarshal(data[:end], &line) == nil && after(&line, r.opts.Since) {
			r.lines = append(r.lines, line)
		}
		data, taken = data[end+1:], taken+int64(end)+1
	}
}

// Next returns the next line; io.EOF at the end of what there is, or with Follow when the log is closed.
func (r *Reader) Next() (runtime.LogLine, error) {
	for {
		select {
		case <-r.closed:
			return runtime.LogLine{}, io.EOF
		case <-r.ctx.Done():
			return runtime.LogLine{}, r.ctx.Err()
		default:
		}
		if len(r.lines) > 0 {
			line := r.lines[0]
			r.lines = r.lines[1:]
			return line, nil
		}
		if !r.opts.Follow {
			return runtime.LogLine{}, io.EOF
		}
		changed, err := r.more()
		if err != nil {
			return runtime.LogLine{}, err
		}
		if len(r.lines) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-r.closed:
		case <-r.ctx.Done():
		}
	}
}

// more reads what was written since, or returns what tells that there is more.
func (r *Reader) more() (<-chan struct{}, error) {
	l := r.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for r.age <= l.age {
		name := current
		if r.age < l.age {
			name = previous // a reader that is two files behind goes on with the older of those that are left
			r.age = l.age - 1
		}
		if err := r.tail(filepath.Join(l.dir, name)); err != nil {
			return nil, err
		}
		if r.age == l.age {
			break
		}
		r.age, r.at = l.age, 0
	}
	if l.closed && len(r.lines) == 0 {
		return nil, io.EOF
	}
	return l.changed, nil
}

// tail takes what a file has beyond the reader's offset.
func (r *Reader) tail(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.NewSectionReader(file, r.at, 1<<40))
	if err != nil {
		return err
	}
	r.at += r.take(data)
	return nil
}

// Close ends the reader. Safe to call twice.
func (r *Reader) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}
