package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

const (
	ndjson  = "application/x-ndjson"
	maxLine = 32 << 20 // bytes
)

// stream reads JSON lines. Next is called by one goroutine; Close by any.
type stream struct {
	ctx    context.Context // of the stream, and so of its request
	cancel context.CancelFunc
	body   io.Closer
	lines  *bufio.Reader
	// watch gives up a stream that is silent for too long.
	watch   *time.Timer
	silence time.Duration
	silent  bool // guarded by mu
	closed  bool // guarded by mu
	mu      sync.Mutex
	end     error // what every later next returns; used by next only
}

// stream opens a stream, bounded in time until it is answered.
func (c *Client) stream(ctx context.Context, address string) (*stream, error) {
	inner, cancel := context.WithCancel(ctx)
	opening := time.AfterFunc(c.o.CallTimeout, cancel)
	response, err := c.open(inner, call{method: http.MethodGet, address: address, accept: ndjson}) //nolint:bodyclose // close closes it
	late := !opening.Stop()
	if err != nil {
		cancel()
		if late && ctx.Err() == nil {
			return nil, runtime.Errorf(runtime.CodeTimeout, "the runtime server did not answer in time")
		}
		return nil, err
	}
	s := &stream{ctx: ctx, cancel: cancel, body: response.Body, lines: bufio.NewReaderSize(response.Body, 32<<10), silence: c.o.Silence}
	s.watch = time.AfterFunc(s.silence, func() {
		s.mu.Lock()
		s.silent = true
		s.mu.Unlock()
		cancel()
	})
	s.watch.Stop() // only while next waits
	return s, nil
}

// next decodes the next line into value.
func (s *stream) next(value any) error {
	if s.end == nil {
		s.end = s.read(value)
	}
	if s.end != nil {
		s.cancel() // the connection is of no use any more
	}
	return s.end
}

func (s *stream) read(value any) error {
	for {
		line, err := s.line()
		if err != nil {
			return s.failure(err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue // a heartbeat
		}
		if bytes.HasPrefix(line, []byte(`{"error":{`)) {
			return lineError(line)
		}
		if json.Unmarshal(line, value) != nil {
			return runtime.Errorf(runtime.CodeInternal, "the runtime server's stream is not what its API says")
		}
		return nil
	}
}

// line returns the next line; it is valid until the next call.
func (s *stream) line() ([]byte, error) {
	s.watch.Reset(s.silence)
	defer s.watch.Stop() // a reader that takes its time is not the server's silence
	var long []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		if err == nil && long == nil {
			return part, nil
		}
		if len(long)+len(part) > maxLine {
			return nil, errors.New("a line is too long")
		}
		long = append(long, part...)
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(long) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return long, err
		}
	}
}

func lineError(line []byte) error {
	var answer struct {
		Error struct {
			Details *runtime.Error `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(line, &answer) != nil || answer.Error.Details == nil {
		return runtime.Errorf(runtime.CodeInternal, "the runtime server reports an error without telling which")
	}
	return answer.Error.Details
}

func (s *stream) failure(err error) error {
	s.mu.Lock()
	closed, silent := s.closed, s.silent
	s.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF), closed:
		return io.EOF
	case s.ctx.Err() != nil:
		return terminal.ContextError(s.ctx)
	}
	text := "the stream of the runtime server was lost"
	if silent {
		text = "the stream of the runtime server fell silent"
	}
	e := runtime.Errorf(runtime.CodeUnavailable, "%s", text)
	e.Retry = true
	return e
}

func (s *stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends the stream. It may be called while Next waits, and twice.
func (s *stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.watch.Stop()
	s.cancel()
	_ = s.body.Close()
	return nil
}
