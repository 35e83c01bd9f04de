package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ServerLogLine is a line of the server's own log, see package wire.
type ServerLogLine = wire.ServerLogLine

// ServerLogList is lines, oldest first.
type ServerLogList struct {
	Meta
	Logs []ServerLogLine `json:"logs"`
}

// ServerLogFilter selects lines of the server's log.
type ServerLogFilter struct {
	Level string    // at least so severe: trace, debug, info, warn or error; empty: all
	Text  string    // in the line, whatever the case
	Since time.Time // later than this; zero: any
	Tail  int       // only so many last lines; 0: the server's default
}

const serverLogPath = "/api/admin/log"

func (f ServerLogFilter) query() url.Values {
	return queryOf("level", f.Level, "text", f.Text, "since", stamp(f.Since), "tail", number(f.Tail))
}

// ServerLog returns the last lines of the server's own log.
func (c *Client) ServerLog(ctx context.Context, f ServerLogFilter) (*ServerLogList, error) {
	return ask[ServerLogList](ctx, c, request{method: http.MethodGet, path: serverLogPath, query: f.query()})
}

// FollowServerLog yields the last lines of the server's own log and then each new one, until the server ends it, ctx ends or
// the loop is left. It does not come back after a lost connection: lines have no ids to go on from.
func (c *Client) FollowServerLog(ctx context.Context, f ServerLogFilter) iter.Seq2[ServerLogLine, error] {
	query := f.query()
	query.Set("follow", "true")
	return followLines[ServerLogLine](ctx, c, serverLogPath, query)
}

// followLines yields the events named log of a stream, until nothing came of it, heartbeats included, for Options.StreamIdle.
func followLines[L any](whole context.Context, c *Client, path string, query url.Values) iter.Seq2[L, error] {
	return func(yield func(L, error) bool) {
		ctx, cancel := context.WithCancel(whole)
		defer cancel()
		var none L
		resp, err := c.send(ctx, request{method: http.MethodGet, path: path, query: query, accept: "text/event-stream"}, nil)
		if err != nil {
			yield(none, err)
			return
		}
		if resp.StatusCode != http.StatusOK {
			data, err := c.read(ctx, resp)
			if err == nil {
				err = newError(resp, data)
			}
			yield(none, err)
			return
		}
		idle := c.opts.StreamIdle
		body := &watchedBody{body: resp.Body, idle: idle, cancel: cancel, timer: time.AfterFunc(idle, cancel)}
		defer body.Close()
		events := NewEventReader(body, 0)
		for {
			event, err := events.Next()
			var line L
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				if ctx.Err() != nil {
					err = fmt.Errorf("nothing came for %s", idle)
				}
				err = c.connectionError(whole, err)
			case event.Type != "log":
				continue
			default:
				if err = json.Unmarshal(event.Data, &line); err != nil {
					err = fmt.Errorf("data of a log event: %w", err)
				}
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
