package appliance

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

const (
	maxAlerts     = 256             // that wait to be written; beyond that the oldest is lost, with a line in the log
	alertLook     = 2 * time.Second // how often the disk is looked at, and a write that failed is tried again
	alertCertLook = time.Hour       // how often certificates are looked at
)

// alerts raises system.alert events for what the parts of the appliance notice: once when something begins, not as
// long as it lasts. Those that belong to a change of state (a question, a webhook that was disabled) are written with
// it by whoever changes it, and not here.
type alerts struct {
	clock  core.Clock
	ids    core.IDs
	log    hclog.Logger
	append func(ctx context.Context, e core.Event) error // writes one event
	looks  []*look

	wake chan struct{} // holds one: something waits

	mu      sync.Mutex // guards all below
	waiting []core.Event
}

// look is something that is looked at now and then. It raises what it finds, and remembers that it did.
type look struct {
	every time.Duration
	run   func(ctx context.Context)
	next  time.Time
}

func (a *App) newAlerts() *alerts {
	l := &alerts{clock: a.clock, ids: a.ids, log: a.log.Named("alerts"), wake: make(chan struct{}, 1)}
	l.append = func(ctx context.Context, e core.Event) error {
		return a.store.Update(ctx, func(tx core.Tx) error { return tx.Append(e) })
	}
	space := &spaceWatch{raise: l.raise, measure: a.space}
	records := &recordWatch{raise: l.raise, broken: a.store.Broken, failures: a.store.RetentionFailures, steps: a.store.ClockSteps}
	certificates := &certificateWatch{raise: l.raise, clock: a.clock, list: a.store.AllWebhooks}
	waits := &waitWatch{
		raise: l.raise, clock: a.clock, list: a.store.AllManagedAgents,
		limit: func() time.Duration { return a.config.Load().Threads.WaitAlert },
	}
	own := &ownCertificateWatch{raise: l.raise, clock: a.clock, source: a.certificates.Load}
	l.looks = []*look{
		{every: alertLook, run: func(context.Context) { own.look() }},
		{every: alertWaitLook, run: waits.look},
		{every: alertLook, run: func(context.Context) { space.look() }},
		{every: alertLook, run: func(context.Context) { records.look() }},
		{every: alertCertLook, run: certificates.look},
	}
	return l
}

// raise has an alert written. It returns at once; subject is the id or name of what it is about.
func (l *alerts) raise(subject string, what core.Alert) {
	l.log.Warn("alert", "severity", what.Severity, "message", what.Message)
	data, err := json.Marshal(what)
	if err != nil {
		l.log.Error("an alert cannot be written", "error", err)
		return
	}
	e := core.Event{ID: l.ids.New(core.PrefixEvent), Type: core.EventSystemAlert, Time: l.clock.Now(), Subject: subject, Data: data}
	l.mu.Lock()
	if len(l.waiting) >= maxAlerts {
		l.log.Error("an alert is lost, as too many wait for the store", "alert", string(l.waiting[0].Data))
		l.waiting = l.waiting[1:]
	}
	l.waiting = append(l.waiting, e)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run looks and writes until ctx ends; what waits then is tried once more.
func (l *alerts) run(ctx context.Context) {
	tick := make(chan struct{}, 1)
	for {
		now := l.clock.Now()
		for _, look := range l.looks {
			if !now.Before(look.next) {
				look.next = now.Add(look.every)
				look.run(ctx)
			}
		}
		l.write(ctx)
		timer := l.clock.AfterFunc(alertLook, func() {
			select {
			case tick <- struct{}{}:
			default:
			}
		})
		select {
		case <-ctx.Done():
			timer.Stop()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // the store is still open
			l.write(last)
			cancel()
			return
		case <-tick:
		case <-l.wake:
			timer.Stop()
		}
	}
}

// write stores what waits, in order. What cannot be stored now waits for the next time.
func (l *alerts) write(ctx context.Context) {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.mu.Unlock()
			return
		}
		e := l.waiting[0]
		l.mu.Unlock()
		if err := l.append(ctx, e); err != nil {
			l.log.Debug("an alert waits for the store", "error", err)
			return
		}
		l.mu.Lock()
		if len(l.waiting) > 0 && l.waiting[0].ID == e.ID { // else it was lost meanwhile
			l.waiting = l.waiting[1:]
		}
		l.mu.Unlock()
	}
}
