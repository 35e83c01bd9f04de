package server

import (
	"net/http"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func (s *Server) recover(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Handles []runtime.Handle `json:"handles"`
	}
	if err := s.read(w, r, &request); err != nil {
		return err
	}
	results, err := s.o.Runtime.Recover(r.Context(), request.Handles)
	if err != nil {
		return err
	}
	if results == nil {
		results = []runtime.Recovered{}
	}
	return reply(w, http.StatusOK, map[string][]runtime.Recovered{"results": results})
}

func (s *Server) prune(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Installation string   `json:"installation"`
		Keep         []string `json:"keep"`
		GraceMs      int64    `json:"graceMs"`
		DryRun       bool     `json:"dryRun"`
	}
	if err := s.read(w, r, &request); err != nil {
		return err
	}
	opts := runtime.PruneOptions{Installation: request.Installation, Keep: request.Keep, DryRun: request.DryRun}
	var err error
	if opts.Grace, err = milliseconds("graceMs", request.GraceMs); err != nil {
		return err
	}
	report, err := s.o.Runtime.Prune(r.Context(), opts)
	if err != nil {
		return err
	}
	for _, list := range []*[]string{&report.Removed, &report.Stopped, &report.Left} {
		if *list == nil {
			*list = []string{}
		}
	}
	return reply(w, http.StatusOK, report)
}
