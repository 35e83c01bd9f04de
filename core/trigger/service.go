package trigger

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"golang.org/x/time/rate"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/seal"
	"github.com/wardroom/wardroom/core/internal/turn"
)

var _ core.TriggerService = (*Service)(nil)

// Bounds of triggers.
const (
	maxTriggers = 1000
	maxRuns     = 50              // entries of a history
	maxReceived = 128             // requests to one trigger that are worked on or wait for each other
	startTime   = 2 * time.Minute // how long a start may take
	maxTurns    = 5               // of a request whose start gave way to changes
)

// Store is the part of core.Store that the service uses.
type Store interface {
	core.TriggerReader
	core.IdempotencyReader
	Update(ctx context.Context, fn func(tx core.Tx) error) error
}

// Observer counts. Methods return at once.
type Observer interface {
	// Received is called for each request with what became of it: an outcome, "unauthorized", "disabled" or "limited".
	Received(outcome string)
}

// Options are what a Service is made of. Store, Clock, IDs and Launcher are needed.
type Options struct {
	Store    Store
	Clock    core.Clock
	IDs      core.IDs
	Logger   hclog.Logger // nil: discards
	Launcher core.Launcher
	SealKey  [32]byte // what secrets are encrypted with
	// Alert is called when a trigger begins to be blocked; may be nil.
	Alert    func(subject, message string, details map[string]any)
	Observer Observer // may be nil
}

// Service keeps triggers and starts what is asked for. Make it with New, load it with Open, end waits for the store with Close. It has no
// goroutines.
type Service struct {
	opts  Options
	store Store
	log   hclog.Logger
	box   *seal.Box

	ctx  context.Context // of waits for the store; ends in Close
	stop context.CancelFunc

	mu      sync.Mutex // guards all below; taken after the turn of an entry, never before
	entries map[string]*entry
	names   map[string]string // id by name
}

// entry is a trigger at work.
type entry struct {
	turn    *turn.Turn // of the request or the change that is worked on
	rec     *core.TriggerRecord
	secrets []secret
	limit   *rate.Limiter
	unsaid  bool // it is blocked, and there was no alert yet

	received atomic.Int32 // requests that are worked on or wait for their turn

	shown *snapshot // as it is stored; guarded by Service.mu
}

// snapshot is what requests are checked against without waiting for others. It is immutable.
type snapshot struct {
	rec     *core.TriggerRecord
	secrets []secret
}

// New makes a service. It knows no triggers yet.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Alert == nil {
		o.Alert = func(string, string, map[string]any) {}
	}
	o.Observer = cmp.Or[Observer](o.Observer, unobserved{})
	s := &Service{
		opts: o, store: o.Store, log: o.Logger, box: seal.New(o.SealKey), entries: map[string]*entry{}, names: map[string]string{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// unobserved is an Observer that does nothing.
type unobserved struct{}

func (unobserved) Received(string) {}

// Open loads the triggers. One whose secret cannot be read takes no request until it is given another.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.store.AllTriggers(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		var secrets []secret
		if !s.box.Open(r.ID, r.Sealed, &secrets) {
			s.log.Error("the secret of a trigger cannot be read any more, as the key that sealed it (triggers.key) was replaced; rotate it",
				"trigger", r.ID, "name", r.Name)
		}
		s.add(r, secrets)
	}
	return nil
}

// Close ends waits for the store. Safe to call twice, and before Open.
func (s *Service) Close() { s.stop() }

// add makes a stored trigger known.
func (s *Service) add(r *core.TriggerRecord, secrets []secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[r.ID] = &entry{turn: turn.New(), rec: r, secrets: secrets, limit: limiter(r.RatePerMinute), shown: &snapshot{r, secrets}}
	s.names[r.Name] = r.ID
}

// limiter takes so many requests a minute, of which a sixth, and at least ten, may come at once.
func limiter(perMinute int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(perMinute)/60), max(perMinute/6, min(perMinute, 10)))
}

// load has an entry, whose turn was just taken, go by what is stored: the outcome of the change before may have been known since. It
// returns false for one that is deleted.
func (s *Service) load(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.rec.RatePerMinute != e.shown.rec.RatePerMinute {
		e.limit = limiter(e.shown.rec.RatePerMinute)
	}
	e.rec, e.secrets = e.shown.rec, e.shown.secrets
	return s.entries[e.rec.ID] == e
}

// peek returns an entry as it was after the last change; nil if there is none of that id.
func (s *Service) peek(id string) (*entry, *snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[id]; e != nil {
		return e, e.shown
	}
	return nil, nil
}

// claimed returns an entry for a change, which a start that is under way gives way to. NOT_FOUND, or an error of ctx.
func (s *Service) claimed(ctx context.Context, id string) (*entry, error) {
	e, _ := s.peek(id)
	if e == nil {
		return nil, core.NotFound("trigger", id)
	}
	if err := e.turn.Claim(ctx); err != nil {
		return nil, err
	}
	if !s.load(e) {
		e.turn.Release()
		return nil, core.NotFound("trigger", id)
	}
	return e, nil
}

// view is a record as others see it; whole with its history.
func (s *Service) view(r *core.TriggerRecord, secrets []secret, whole bool) *core.Trigger {
	out := r.Trigger
	out.RotatesAt = nil
	if now := s.opts.Clock.Now(); len(secrets) > 1 && secrets[1].Until != nil && now.Before(*secrets[1].Until) {
		out.RotatesAt = secrets[1].Until
	}
	if !whole {
		out.Runs = out.Runs[:min(len(out.Runs), 1)]
	}
	return &out
}

// FindTriggers implements core.TriggerService.
func (s *Service) FindTriggers(_ context.Context, filter core.TriggerFilter) ([]*core.Trigger, core.PageInfo, error) {
	list := slices.DeleteFunc(s.snapshots(), func(t *snapshot) bool { return filter.CreatedBy != "" && t.rec.CreatedBy != filter.CreatedBy })
	list, info, err := core.PageOf(list, filter.Page, core.PrefixTrigger, func(t *snapshot) string { return t.rec.ID })
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	rows := make([]*core.Trigger, len(list))
	for i, t := range list {
		rows[i] = s.view(t.rec, t.secrets, false)
	}
	return rows, info, nil
}

// snapshots returns every trigger, in no order.
func (s *Service) snapshots() []*snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*snapshot, 0, len(s.entries))
	for _, e := range s.entries {
		list = append(list, e.shown)
	}
	return list
}

// FindTrigger implements core.TriggerService.
func (s *Service) FindTrigger(_ context.Context, id string) (*core.Trigger, error) {
	_, t := s.peek(id)
	if t == nil {
		return nil, core.NotFound("trigger", id)
	}
	return s.view(t.rec, t.secrets, true), nil
}

// Stats are what metrics show.
type Stats struct {
	Triggers int
	Blocked  int // whose last request was refused for a right
}

// Stats returns figures as they are now.
func (s *Service) Stats() Stats {
	out := Stats{}
	for _, t := range s.snapshots() {
		out.Triggers++
		if t.rec.BlockedReason != "" {
			out.Blocked++
		}
	}
	return out
}
