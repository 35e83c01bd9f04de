package appliance

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/core/trigger"
)

var _ trigger.Observer = (*metrics.Triggers)(nil)

// openTriggers loads what starts things when signed requests come in.
func (a *App) openTriggers(ctx context.Context) error {
	key, err := sealKey(a.config.Load().Store.Path, triggerKeyFile)
	if err != nil {
		return err
	}
	a.triggers = trigger.New(trigger.Options{
		Store: a.store, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("triggers"), Launcher: launcher{a}, SealKey: key,
		Alert: func(subject, message string, details map[string]any) {
			a.alerts.raise(subject, core.Alert{Severity: core.SeverityWarning, Message: message, Details: details})
		},
		Observer: a.metrics.Triggers,
	})
	a.metrics.Triggers.Watch(func() metrics.TriggerFigures {
		s := a.triggers.Stats()
		return metrics.TriggerFigures{Open: s.Triggers - s.Blocked, Blocked: s.Blocked}
	})
	return a.triggers.Open(ctx)
}
