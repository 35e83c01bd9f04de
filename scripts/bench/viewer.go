package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// screen is a terminal behind a WebSocket: ours, or that of the plain loop.
type screen interface {
	Recv() (runtime.Frame, error)
	Input(p []byte) error
	Resize(cols, rows int) error
	Close() error
}

// viewer reads a terminal. One goroutine uses it.
type viewer struct {
	screen
	offset uint64 // behind the last frame
}

// view attaches to a terminal, and reads until the screen was drawn.
func view(ctx context.Context, address string, header http.Header) (*viewer, error) {
	t, err := terminal.Dial(ctx, address, runtime.AttachOptions{}, terminal.DialOptions{Header: header, Silence: 5 * time.Minute})
	if err != nil {
		return nil, err
	}
	v := &viewer{screen: t}
	frame, err := t.Recv()
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	v.offset = frame.Offset
	return v, nil
}

// run types a command and reads until it has written the mark. It remembers where the output goes on.
func (v *viewer) run(command, mark string) error {
	if err := v.Input([]byte(command + "\n")); err != nil {
		return err
	}
	seen := ""
	for {
		frame, err := v.Recv()
		if err != nil {
			return err
		}
		seen += string(frame.Data)
		if at := strings.Index(seen, mark); at >= 0 && !frame.Repaint {
			v.offset = frame.Offset - uint64(len(seen)-at-len(mark))
			return nil
		}
		v.offset = frame.Offset
	}
}

// quieten makes a shell show nothing but what its commands write.
func (v *viewer) quieten() error {
	return v.run(`stty -echo; PS1=; echo quiet-$((40+2))`, "quiet-42\r\n")
}

// delivered is what came of a piece of output.
type delivered struct {
	bytes   uint64        // that arrived
	lost    uint64        // that were skipped
	elapsed time.Duration // until the end of the piece was reached
	sum     uint32        // CRC-32C of the bytes, if none was skipped
}

// rate is in megabytes a second; 0 of nothing.
func (d delivered) rate() float64 {
	if d.elapsed <= 0 {
		return 0
	}
	return float64(d.bytes) / 1e6 / d.elapsed.Seconds()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// follow reads the output between two offsets. Frames must join without a gap unless they say what was lost.
func (v *viewer) follow(from, to uint64, start time.Time) (delivered, error) {
	var d delivered
	at := from
	for at < to {
		frame, err := v.Recv()
		if err != nil {
			return d, err
		}
		data, begin := frame.Data, frame.Offset-uint64(len(frame.Data))
		switch {
		case frame.Offset <= at:
			continue // older than the piece, or a change of size
		case frame.Repaint:
			d.lost += frame.Offset - at
			at = frame.Offset
			continue
		case begin < at:
			data = data[at-begin:]
		case begin > at:
			if frame.Lost < begin-at {
				return d, fmt.Errorf("output from %d to %d is missing, and nobody says so", at, begin)
			}
			d.lost += begin - at
		}
		if frame.Offset > to {
			data = data[:len(data)-int(frame.Offset-to)]
		}
		d.bytes += uint64(len(data))
		d.sum = crc32.Update(d.sum, castagnoli, data)
		at = frame.Offset
	}
	v.offset = at
	d.elapsed = time.Since(start)
	return d, nil
}

// cat lets a shell write the text, and reads it.
func (v *viewer) cat(text *flood) (delivered, error) {
	if err := v.quieten(); err != nil {
		return delivered{}, err
	}
	start := time.Now()
	if err := v.Input([]byte("cat " + text.path + "\n")); err != nil {
		return delivered{}, err
	}
	d, err := v.follow(v.offset, v.offset+text.size, start)
	if err == nil {
		err = text.check(d)
	}
	return d, err
}
