package agentcli

import "context"

// Retire removes what stopped long ago, as the runtime does by itself now and then.
func (r *Runtime) Retire(ctx context.Context) { r.retire(ctx) }

// Queued returns how many messages wait for an agent that runs.
func (r *Runtime) Queued(ctx context.Context, id string) (int, error) {
	a, err := r.get(id)
	if err != nil {
		return 0, err
	}
	s, count := a.session(), 0
	_, err = ask(ctx, s, func() ([]Step, error) {
		count = len(s.delivery.queue)
		return nil, nil
	})
	return count, err
}

// BacklogRest is for tests.
const BacklogRest = backlogRest

// EscapeGap is for tests.
const EscapeGap = escapeGap
