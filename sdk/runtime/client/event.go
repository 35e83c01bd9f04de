package client

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
)

type eventStream struct{ *stream }

// Events implements runtime.Runtime.
func (c *Client) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	query := full()
	if opts.After > 0 {
		query.Set("after", strconv.FormatUint(opts.After, 10))
	}
	if opts.Log != "" {
		query.Set("log", opts.Log)
	}
	if opts.AgentID != "" {
		query.Set("agentId", opts.AgentID)
	}
	if opts.Live {
		query.Set("live", "true")
	}
	s, err := c.stream(ctx, c.address(query, "events"))
	if err != nil {
		return nil, err
	}
	return eventStream{s}, nil
}

// Next implements runtime.EventStream.
func (s eventStream) Next() (runtime.Event, error) {
	var event runtime.Event
	err := s.next(&event)
	if errors.Is(err, io.EOF) && !s.isClosed() {
		// Events have no end of their own: the server went down.
		lost := runtime.Errorf(runtime.CodeUnavailable, "the runtime server ended the stream of events")
		lost.Retry = true
		err = lost
	}
	return event, err
}
