package engine

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// CheckRequest returns why a request would be refused now, without starting anything. Whether there is room in the queue
// is not asked. A nil input is one that is not known yet.
func (e *Engine) CheckRequest(ctx context.Context, req core.ExecuteRequest) error {
	if req.Input != nil {
		_, _, err := e.prepare(ctx, req, origin{})
		return err
	}
	pattern, plan, err := e.patterns.Resolve(ctx, req.Pattern, req.Version)
	if err != nil {
		return err
	}
	if _, err := e.pin(ctx, plan, nil, []string{pattern.Name}); err != nil {
		return err
	}
	if err := mayRun(core.PrincipalFrom(ctx), pattern.Name, plan.Definition()); err != nil {
		return err
	}
	config := e.config.Load()
	if _, err = checkOptions(req.Options, plan.Definition(), config); err != nil || !config.RequireConsent {
		return err
	}
	return core.CheckConsent(req.Options.Metadata, "options.metadata")
}
