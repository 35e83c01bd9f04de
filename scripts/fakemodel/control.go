package fakemodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// controlPrefix is where tests that cannot call the package steer the server.
const controlPrefix = "/_fake/"

// maxControlWait bounds how long a control request may wait.
const maxControlWait = time.Minute

// serveControl answers the control endpoints:
//
//	GET  /_fake/health                   {"ok":true,"pid":N,"requests":N,"held":["name"]}
//	GET  /_fake/requests?after=SEQ       the log as a JSON list, later requests than SEQ only
//	       &done=true                    those whose answer has ended
//	       &wait=SECONDS                 waits until there is one, at most 60 s; an empty list otherwise
//	GET  /_fake/held?name=X&wait=SECONDS {"held":true} when HOLD[X] keeps an answer back
//	POST /_fake/release?name=X           {"ok":true,"released":N}
//	POST /_fake/reset                    forgets requests, and closes what was released
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	route := r.Method + " " + strings.TrimPrefix(r.URL.Path, controlPrefix)
	var answer any
	var err error
	switch route {
	case "GET health":
		answer = object{"ok": true, "pid": os.Getpid(), "requests": s.model.Load(), "held": s.gate.names()}
	case "GET requests":
		answer, err = s.controlRequests(r.Context(), query)
	case "GET held":
		answer, err = s.controlHeld(r.Context(), query)
	case "POST release":
		answer, err = s.controlRelease(query)
	case "POST reset":
		s.Reset()
		answer = object{"ok": true}
	default:
		control(w, http.StatusNotFound, object{"error": fmt.Sprintf(
			"%s %s is not a control endpoint; there are GET health, requests and held, POST release and reset", r.Method, r.URL.Path)})
		return
	}
	if err != nil {
		control(w, http.StatusBadRequest, object{"error": err.Error()})
		return
	}
	control(w, http.StatusOK, answer)
}

func control(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who asked has gone, if it fails
}

func (s *Server) controlRequests(ctx context.Context, query url.Values) (any, error) {
	var after uint64
	var err error
	if text := query.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, fmt.Errorf("after is %q; it must be the seq of a request", text)
		}
	}
	done := false
	if text := query.Get("done"); text != "" {
		if done, err = strconv.ParseBool(text); err != nil {
			return nil, fmt.Errorf("done is %q; it must be true or false", text)
		}
	}
	match := func(q Request) bool { return q.Seq > after && (!done || q.DoneNs != 0) }
	ctx, cancel, err := controlWait(ctx, query)
	if err != nil {
		return nil, err
	}
	defer cancel()
	found, err := s.log.await(ctx, match)
	if err != nil { // nothing came in time
		return []Request{}, nil
	}
	return found, nil
}

func (s *Server) controlHeld(ctx context.Context, query url.Values) (any, error) {
	if !query.Has("name") {
		return nil, errNoName
	}
	ctx, cancel, err := controlWait(ctx, query)
	if err != nil {
		return nil, err
	}
	defer cancel()
	return object{"held": s.gate.awaitHeld(ctx, query.Get("name")) == nil}, nil
}

func (s *Server) controlRelease(query url.Values) (any, error) {
	if !query.Has("name") {
		return nil, errNoName
	}
	released, err := s.Release(query.Get("name"))
	if err != nil {
		return nil, err
	}
	return object{"ok": true, "released": released}, nil
}

var errNoName = errors.New("name is missing; give the name in HOLD[name], such as ?name=x")

// controlWait is a context for the time that the request is ready to wait; without one it has ended already.
func controlWait(ctx context.Context, query url.Values) (context.Context, context.CancelFunc, error) {
	d := 0.0
	if text := query.Get("wait"); text != "" {
		var err error
		if d, err = strconv.ParseFloat(text, 64); err != nil || !(d >= 0 && d <= maxControlWait.Seconds()) {
			return nil, nil, fmt.Errorf("wait is %q; it must be seconds from 0 to %g", text, maxControlWait.Seconds())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(d*float64(time.Second)))
	return ctx, cancel, nil
}
