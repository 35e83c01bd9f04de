package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// LogOptions select lines of a managed agent's log.
type LogOptions struct {
	Tail  int       // only so many last lines; 0: the server's default
	Since time.Time // exclusive; zero: all
}

func (o LogOptions) query() url.Values {
	return queryOf("tail", number(o.Tail), "since", stamp(o.Since))
}

// LogLine is one line of a log.
type LogLine = wire.LogLine

// LogList is lines, oldest first.
type LogList struct {
	Meta
	Logs []LogLine `json:"logs"`
}

// ManagedAgentLogs reads the log of an agent.
func (c *Client) ManagedAgentLogs(ctx context.Context, id string, opts LogOptions) (*LogList, error) {
	r := request{method: http.MethodGet, path: managedAgentPath(id) + "/logs", query: opts.query()}
	return ask[LogList](ctx, c, r)
}

// FollowManagedAgentLogs reads the log of an agent and goes on with what is written to it. Like any Stream it
// comes back after a lost connection. Events are of type "log" with a LogLine as data; io.EOF comes when the
// log ends.
func (c *Client) FollowManagedAgentLogs(ctx context.Context, id string, opts LogOptions) (*LogStream, error) {
	query := opts.query()
	query.Set("follow", "true")
	r := request{method: http.MethodGet, path: managedAgentPath(id) + "/logs", query: query}
	s, err := c.stream(ctx, r, "", "")
	if err != nil {
		return nil, err
	}
	return &LogStream{s}, nil
}

// LogStream follows a log. It is not safe for concurrent use, except Close.
type LogStream struct{ events *Stream }

// Next returns the next line with the event that it came in; io.EOF at the end of the log.
func (l *LogStream) Next() (LogLine, Event, error) {
	for {
		event, err := l.events.Next()
		if err != nil {
			return LogLine{}, event, err
		}
		switch event.Type {
		case "end":
			l.events.finish(io.EOF)
		case "log":
			var line LogLine
			if err := json.Unmarshal(event.Data, &line); err != nil {
				return LogLine{}, event, fmt.Errorf("data of a log event: %w", err)
			}
			return line, event, nil
		}
	}
}

// Close ends the stream. Safe to call twice.
func (l *LogStream) Close() { l.events.Close() }
