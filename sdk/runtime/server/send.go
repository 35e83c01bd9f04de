package server

import (
	"cmp"
	"net/http"

	"github.com/wardroom/wardroom/sdk/runtime"
)

type sendRequest struct {
	runtime.Input
	Timeout int64 `json:"timeout"` // milliseconds
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) error {
	var request sendRequest
	if err := s.read(w, r, &request); err != nil {
		return err
	}
	in := request.Input
	given := 0
	for _, set := range []bool{in.Message != "", in.Raw != "", len(in.Keys) > 0, in.Interrupt} {
		if set {
			given++
		}
	}
	if given != 1 {
		return badBody("message", "give exactly one of message, raw, keys and interrupt, and not an empty one")
	}
	if in.ExpectResponse && in.Message == "" {
		return badBody("expectResponse", "only a message has a response; raw and keys have none")
	}
	var err error
	if in.Timeout, err = milliseconds("timeout", request.Timeout); err != nil {
		return err
	}
	in.ID = cmp.Or(in.ID, r.Header.Get("Idempotency-Key"))
	result, err := s.o.Runtime.Send(r.Context(), r.PathValue("id"), in)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, result)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	var answer runtime.Answer
	if err := s.read(w, r, &answer); err != nil {
		return err
	}
	if answer.Choice == "" && answer.Text == "" {
		return badBody("choice", "give the choice of an option, or a text")
	}
	if err := s.o.Runtime.Answer(r.Context(), r.PathValue("id"), answer); err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]bool{"answered": true})
}
