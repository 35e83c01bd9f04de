package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

type logBody struct {
	AgentID string    `json:"agentId"`
	Logs    []logLine `json:"logs"`
}

// logLine is a line with the time as every answer has it. JSON lines keep what the runtime gave: the service takes up a log by
// the very time of its last line.
type logLine struct {
	Timestamp wire.Timestamp `json:"timestamp"`
	runtime.LogLine
}

func shown(l runtime.LogLine) logLine { return logLine{wire.Timestamp(l.Timestamp), l} }

// logs answers a list, or a stream with follow=true or where JSON lines are accepted.
func (s *Server) logs(w http.ResponseWriter, r *http.Request) error {
	opts, err := parseLog(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	id := r.PathValue("id")
	lines, err := s.o.Runtime.Logs(ctx, id, opts)
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()
	if opts.Follow || strings.Contains(r.Header.Get("Accept"), "application/x-ndjson") {
		st := newStream(w, r)
		return s.follow(ctx, cancel, st, func() (item, error) {
			line, err := lines.Next()
			if st.lines {
				return item{data: line}, err
			}
			return item{event: "log", data: shown(line)}, err
		})
	}
	answer := logBody{AgentID: id, Logs: []logLine{}}
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return reply(w, http.StatusOK, answer)
		}
		if err != nil {
			return err
		}
		answer.Logs = append(answer.Logs, shown(line))
	}
}

func parseLog(r *http.Request) (runtime.LogOptions, error) {
	var opts runtime.LogOptions
	var err error
	query := r.URL.Query()
	if opts.Follow, err = flag(query, "follow"); err != nil {
		return opts, err
	}
	if text := query.Get("tail"); text != "" {
		if opts.Tail, err = strconv.Atoi(text); err != nil || opts.Tail < 0 {
			return opts, badQuery("tail", "must be a number of lines, from 0")
		}
	}
	if text := query.Get("since"); text != "" {
		if opts.Since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return opts, badQuery("since", "must be a time such as 2026-01-31T12:00:00Z")
		}
	}
	return opts, nil
}
