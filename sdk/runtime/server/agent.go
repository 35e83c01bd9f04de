package server

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wardroom/wardroom/sdk/runtime"
)

type healthBody struct {
	Status  string `json:"status"` // healthy or unhealthy
	Runtime string `json:"runtime,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) error {
	capabilities, err := s.o.Runtime.Capabilities(r.Context())
	if err != nil {
		return reply(w, http.StatusServiceUnavailable, healthBody{Status: "unhealthy", Reason: runtime.AsError(err).Message})
	}
	return reply(w, http.StatusOK, healthBody{Status: "healthy", Runtime: capabilities.Name})
}

func (s *Server) capabilities(w http.ResponseWriter, r *http.Request) error {
	capabilities, err := s.o.Runtime.Capabilities(r.Context())
	if err != nil {
		return err
	}
	if capabilities.Types == nil {
		capabilities.Types = []string{}
	}
	return reply(w, http.StatusOK, capabilities)
}

// present returns an agent as the request wants to see it.
func (s *Server) present(ctx context.Context, q url.Values, a *runtime.Agent) (any, error) {
	full, err := flag(q, "full")
	if err != nil {
		return nil, err
	}
	if full {
		return a, nil
	}
	return record(a, s.runtimeName(ctx)), nil
}

// shownLimit is the least limit that a list names which was asked for without one, and has all agents: a limit is
// never 0, so that clients may page by it.
const shownLimit = 20

type agentList struct {
	Agents  []any `json:"agents"`
	Total   int   `json:"total"`
	Limit   int   `json:"limit"`
	Offset  int   `json:"offset"`
	HasMore bool  `json:"hasMore"`
}

func (s *Server) listAgents(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	list, err := parseList(query)
	if err != nil {
		return err
	}
	if _, err := flag(query, "full"); err != nil {
		return err
	}
	agents, err := s.o.Runtime.List(r.Context(), list.filter)
	if err != nil {
		return err
	}
	answer := agentList{Agents: []any{}, Offset: list.offset, Limit: list.limit}
	name := s.runtimeName(r.Context())
	for i := range agents {
		shown := record(&agents[i], name)
		if !list.matches(&agents[i], &shown) {
			continue
		}
		if answer.Total++; answer.Total <= list.offset || list.limit >= 0 && len(answer.Agents) == list.limit {
			continue
		}
		view, err := s.present(r.Context(), query, &agents[i])
		if err != nil {
			return err
		}
		answer.Agents = append(answer.Agents, view)
	}
	if answer.Limit < 0 {
		answer.Limit = max(len(answer.Agents), shownLimit)
	}
	answer.HasMore = list.offset+len(answer.Agents) < answer.Total
	return reply(w, http.StatusOK, answer)
}

func (s *Server) spawnAgent(w http.ResponseWriter, r *http.Request) error {
	var request spawnRequest
	if err := s.read(w, r, &request); err != nil {
		return err
	}
	spec, err := request.spec()
	if err != nil {
		return err
	}
	if spec.ID == "" {
		spec.ID = s.o.NewID()
	}
	if _, err := flag(r.URL.Query(), "full"); err != nil {
		return err
	}
	agent, err := s.o.Runtime.Spawn(r.Context(), spec)
	if err != nil {
		return err
	}
	view, err := s.present(r.Context(), r.URL.Query(), &agent)
	if err != nil {
		return err
	}
	w.Header().Set("Location", r.URL.Path+"/"+url.PathEscape(agent.ID))
	return reply(w, http.StatusCreated, view)
}

func (s *Server) getAgent(w http.ResponseWriter, r *http.Request) error {
	agent, err := s.o.Runtime.Inspect(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	view, err := s.present(r.Context(), r.URL.Query(), &agent)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, view)
}

func (s *Server) stopAgent(w http.ResponseWriter, r *http.Request) error {
	var opts runtime.StopOptions
	var err error
	query := r.URL.Query()
	if opts.Force, err = flag(query, "force"); err != nil {
		return err
	}
	if text := query.Get("timeout"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return badQuery("timeout", "must be a number of milliseconds")
		}
		if opts.Grace, err = milliseconds("timeout", ms); err != nil {
			return err
		}
	}
	if err := s.o.Runtime.Stop(r.Context(), r.PathValue("id"), opts); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) restartAgent(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Fresh bool `json:"fresh"` // begin a new session
	}
	if err := s.read(w, r, &request); err != nil {
		return err
	}
	if _, err := flag(r.URL.Query(), "full"); err != nil {
		return err
	}
	agent, err := s.o.Runtime.Restart(r.Context(), r.PathValue("id"), runtime.RestartOptions{Fresh: request.Fresh})
	if err != nil {
		return err
	}
	view, err := s.present(r.Context(), r.URL.Query(), &agent)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, view)
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	metrics, err := s.o.Runtime.Metrics(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, metrics)
}
