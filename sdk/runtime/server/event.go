package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// shownEvent is an event with times as every answer has them, and without the handle of its agent.
type shownEvent struct {
	runtime.Event
	Time  wire.Timestamp `json:"time"`
	Agent shownAgent     `json:"agent"`
}

type shownAgent struct {
	runtime.Agent
	CreatedAt      wire.Timestamp `json:"createdAt"`
	LastActivityAt wire.Timestamp `json:"lastActivityAt,omitzero"`
}

func shownOf(e runtime.Event) shownEvent {
	a := e.Agent
	a.Handle = runtime.Handle{}
	return shownEvent{e, wire.Timestamp(e.Time), shownAgent{a, wire.Timestamp(a.CreatedAt), wire.Timestamp(a.LastActivityAt)}}
}

// events streams the runtime's events; as they are for the service, which asks for all of them.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	opts := runtime.EventOptions{AgentID: query.Get("agentId"), Log: query.Get("log")}
	var err error
	if opts.After, _, err = sequence(query, "after"); err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if opts.After, err = strconv.ParseUint(last, 10, 64); err != nil {
			return badQuery("Last-Event-ID", "must be the seq of an event")
		}
	}
	if opts.Live, err = flag(query, "live"); err != nil {
		return err
	}
	full, err := flag(query, "full")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events, err := s.o.Runtime.Events(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { _ = events.Close() }()
	return s.follow(ctx, cancel, newStream(w, r), func() (item, error) {
		event, err := events.Next()
		i := item{id: strconv.FormatUint(event.Seq, 10), event: string(event.Type), data: event}
		if err == nil && !full {
			i.data = shownOf(event)
		}
		return i, err
	})
}
