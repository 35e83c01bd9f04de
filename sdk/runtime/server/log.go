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
)

type logBody struct {
	AgentID string            `json:"agentId"`
	Logs    []runtime.LogLine `json:"logs"`
}

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
		return s.follow(ctx, cancel, newStream(w, r), func() (item, error) {
			line, err := lines.Next()
			return item{event: "log", data: line}, err
		})
	}
	answer := logBody{AgentID: id, Logs: []runtime.LogLine{}}
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return reply(w, http.StatusOK, answer)
		}
		if err != nil {
			return err
		}
		answer.Logs = append(answer.Logs, line)
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
