package agentcli

import "context"

// Retire removes what stopped long ago, as the runtime does by itself now and then.
func (r *Runtime) Retire(ctx context.Context) { r.retire(ctx) }

// Queued returns how many messages wait for an agent that runs.
func (r *Runtime) Queued(ctx context.Context, id string) (int, error) {
	return r.count(ctx, id, func(s *session) int { return len(s.delivery.queue) })
}

// Logins returns how many addresses of logins are remembered of an agent that runs.
func (r *Runtime) Logins(ctx context.Context, id string) (int, error) {
	return r.count(ctx, id, func(s *session) int { return len(s.urls) })
}

func (r *Runtime) count(ctx context.Context, id string, of func(s *session) int) (n int, err error) {
	a, err := r.get(id)
	if err != nil {
		return 0, err
	}
	s := a.session()
	_, err = ask(ctx, s, func() ([]Step, error) {
		n = of(s)
		return nil, nil
	})
	return n, err
}

// BacklogRest is for tests.
const BacklogRest = backlogRest

// EscapeGap is for tests.
const EscapeGap = escapeGap
