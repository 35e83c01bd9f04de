package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

type logStream struct{ *stream }

// Logs implements runtime.Runtime.
func (c *Client) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogStream, error) {
	query := url.Values{}
	if opts.Tail > 0 {
		query.Set("tail", strconv.Itoa(opts.Tail))
	}
	if !opts.Since.IsZero() {
		query.Set("since", opts.Since.Format(time.RFC3339Nano))
	}
	if opts.Follow {
		query.Set("follow", "true")
	}
	s, err := c.stream(ctx, c.address(query, "agents", id, "logs"))
	if err != nil {
		return nil, err
	}
	return logStream{s}, nil
}

// Next implements runtime.LogStream.
func (s logStream) Next() (runtime.LogLine, error) {
	var line runtime.LogLine
	err := s.next(&line)
	return line, err
}
