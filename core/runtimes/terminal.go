package runtimes

import (
	"context"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// ServeTerminal implements core.ManagedAgentService: it is a viewer of the runtime's terminal on one side, and
// serves one viewer on the other, with the same protocol.
func (s *Service) ServeTerminal(w http.ResponseWriter, r *http.Request, id string, readOnly bool) error {
	s.mu.Lock()
	if s.ctx.Err() != nil {
		s.mu.Unlock()
		return core.Unavailable("shutting_down", "the service is shutting down")
	}
	s.wg.Add(1) // under the lock that Close takes, so that it cannot come after its wait
	s.mu.Unlock()
	defer s.wg.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()

	var refused error
	leave := func() {}
	defer func() { leave() }()
	others := func() ([]terminal.Viewer, <-chan struct{}) { return nil, nil }
	handler := terminal.Handler{
		ReadOnly: readOnly,
		Others:   func() ([]terminal.Viewer, <-chan struct{}) { return others() },
		Open: func(ctx context.Context, opts runtime.AttachOptions) (runtime.Terminal, error) {
			_, rt, err := s.runtimeOf(id)
			switch {
			case core.ErrorCode(err) == core.CodeNotFound:
				return nil, runtime.NotFound(id)
			case err != nil:
				return nil, runtime.Errorf(runtime.CodeUnavailable, "%s", core.AsError(err).Message)
			}
			t, err := rt.Attach(ctx, id, opts)
			if err == nil {
				others, leave = s.audience.join(id, terminal.Viewer{Who: core.PrincipalFrom(ctx).ID, Typing: !opts.ReadOnly})
			}
			if err != nil || readOnly || s.opts.Typing == nil {
				return t, err
			}
			recorded, err := s.opts.Typing(ctx, id, t)
			if err != nil {
				_ = t.Close()
				return nil, runtime.Errorf(runtime.CodeUnavailable, "%s", core.AsError(err).Message)
			}
			return recorded, nil
		},
		Refuse: func(_ http.ResponseWriter, _ *http.Request, status int, err *runtime.Error) {
			refused = refusal(status, err)
		},
	}
	err := handler.Handle(w, r.WithContext(ctx))
	if refused != nil {
		return refused
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("a terminal ended", "agent", id, "error", err)
	}
	return nil
}

// refusal is the error of a request that is not upgraded; the caller answers it.
func refusal(status int, err *runtime.Error) error {
	switch {
	case status == http.StatusForbidden:
		return core.Errorf(core.CodeForbidden, "%s", err.Message)
	case status >= http.StatusInternalServerError:
		return core.Errorf(core.CodeInternal, "%s", err.Message)
	}
	return core.Invalid(err.Field, "%s", err.Message)
}
