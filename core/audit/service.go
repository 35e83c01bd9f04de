package audit

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	sinks "github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Options are what a Service is made of.
type Options struct {
	Clock  core.Clock
	IDs    core.IDs
	Logger hclog.Logger
	Config Config
	Key    ed25519.PrivateKey // signs checkpoints
	// Mask replaces fields of records that must not be read in clear, before they are chained; nil: none.
	Mask core.Masker
	// Version is that of the product, which exports in CEF name.
	Version string
	// Older reports what is old; nil: the clock is believed.
	Older core.OlderFunc
	// Alert sends an alert to people; may be nil.
	Alert   func(subject, message string, details map[string]any)
	Metrics Metrics // nil: nothing is counted
}

// Metrics counts what is recorded and delivered. *metrics.Audit is one. Methods are safe for concurrent use.
type Metrics interface {
	Recorded(category, outcome string)
	Lost(records int)
	Delivered(sink string, records int, took time.Duration)
	SinkFailed(sink, code string)
}

// Service implements core.AuditService. Make it with New, hand its Hook to the store, then Open it; it records nothing
// before. All methods are safe for concurrent use.
type Service struct {
	opts   Options
	log    hclog.Logger
	store  core.AuditStore // set by Open
	config atomic.Pointer[Config]
	signed atomic.Uint64 // sequence of the last checkpoint
	last   atomic.Int64  // time of the last record, Unix ms: it tells when the clock is set back
	noted  uint64        // sequence of the record of a step back that is not committed yet; 0: none. For transactions alone
	queue  queue
	folds  folds
	seen   seen
	sinks  atomic.Pointer[[]*outlet] // replaced, never changed
	taken  chan struct{}             // a sink took records while the trail is crowded

	work     context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup  // the queue, the keeper
	delivery context.Context // of the sinks; ends with Drain
	drained  context.CancelFunc
	outlets  sync.WaitGroup // one of each sink
}

var _ core.AuditService = (*Service)(nil)

// New makes a service. It starts nothing.
func New(o Options) *Service {
	if o.Clock == nil || o.IDs == nil || len(o.Key) != ed25519.PrivateKeySize {
		panic("audit: New needs the clock, the ids and the key")
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Older == nil {
		o.Older = core.OlderBy(o.Clock)
	}
	if o.Alert == nil {
		o.Alert = func(string, string, map[string]any) {}
	}
	o.Metrics = cmp.Or[Metrics](o.Metrics, noMetrics{})
	o.Mask = cmp.Or[core.Masker](o.Mask, noMask{})
	s := &Service{opts: o, log: o.Logger.Named("audit")}
	s.taken = make(chan struct{}, 1)
	s.queue.wake, s.queue.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	s.work, s.cancel = context.WithCancel(context.Background())
	s.delivery, s.drained = context.WithCancel(s.work)
	s.sinks.Store(&[]*outlet{})
	s.ApplyConfig(o.Config)
	return s
}

// ApplyConfig replaces the configuration.
func (s *Service) ApplyConfig(c Config) { s.config.Store(&c) }

// Open begins to write what Record takes, and to keep the trail, of which nothing goes that one of the named sinks lacks.
// The store must outlive Close.
func (s *Service) Open(store core.AuditStore, names []string) {
	s.store = store
	if head := store.AuditHead(); head.Sequence > 0 {
		s.last.Store(s.timeOf(head.Sequence).UnixMilli())
	}
	for _, name := range names {
		s.join(name)
	}
	s.wg.Go(s.drain)
	s.wg.Go(s.keep)
}

// Deliver begins to deliver to the sinks, each of which find returns by its name. It is called once.
func (s *Service) Deliver(find func(name string) sinks.Sink) {
	for _, k := range s.all() {
		s.deliver(k, find(k.name))
	}
}

func (s *Service) deliver(k *outlet, to sinks.Sink) {
	k.sink = to
	s.outlets.Go(func() {
		k.run(s.delivery)
	})
}

// all returns the outlets.
func (s *Service) all() []*outlet { return *s.sinks.Load() }

func (s *Service) join(name string) *outlet {
	k := newOutlet(s, name)
	all := append(slices.Clone(s.all()), k)
	s.sinks.Store(&all)
	return k
}

// Join adds a sink after Deliver, from where it was when it was there before; one that there is stays as it is. From then on no record
// goes that it lacks. Calls do not overlap each other or Drain.
func (s *Service) Join(name string, to sinks.Sink) {
	if slices.ContainsFunc(s.all(), func(k *outlet) bool { return k.name == name }) {
		return
	}
	s.deliver(s.join(name), to)
}

// lastDelivery is how long sinks have for the end of the trail when the process stops.
const lastDelivery = time.Second

// Drain signs the trail, gives sinks that work a moment to take its end, and ends the delivery: what they lack then is
// delivered after the next start. Safe to call twice, and before Deliver.
func (s *Service) Drain() {
	if s.store != nil && s.delivery.Err() == nil && len(s.all()) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), lastDelivery)
		s.unfold(true)
		s.flush(ctx)
		s.checkpoint(ctx)
		look := time.NewTicker(10 * time.Millisecond)
		for !s.delivered() && ctx.Err() == nil {
			select {
			case <-look.C:
			case <-ctx.Done():
			}
		}
		look.Stop()
		cancel()
	}
	s.drained()
	s.outlets.Wait()
}

// delivered reports whether every sink that works has everything.
func (s *Service) delivered() bool {
	head := s.store.AuditHead()
	for _, k := range s.all() {
		if st := k.status(head, s.opts.Clock.Now()); st.State != "failing" && (st.Behind > 0 || k.begins()) {
			return false
		}
	}
	return true
}

// timeOf returns the time of a record, or zero.
func (s *Service) timeOf(sequence uint64) (at time.Time) {
	err := s.store.AuditRows(s.work, sequence, false, func(row core.AuditRow) (bool, error) {
		at = row.Time
		return false, nil
	})
	if err != nil {
		s.log.Debug("a record cannot be read", "sequence", sequence, "error", err)
	}
	return at
}

// Close writes what waits, signs the end of the chain, and stops.
func (s *Service) Close() {
	s.Drain()
	s.cancel()
	s.wg.Wait()
	if s.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.unfold(true)
	s.flush(ctx)
	s.checkpoint(ctx)
}

// Wants implements core.AuditService.
func (s *Service) Wants(category string, text bool) bool {
	c := s.config.Load()
	return c.wants(category) && (!text || c.Level >= Verbose)
}

// Blocking implements core.AuditService.
func (s *Service) Blocking() bool {
	c := s.config.Load()
	return c.Enabled && c.Blocking
}

// Hook is the core.AuditHook of the service.
func (s *Service) Hook(ctx context.Context, tx core.AuditTx) error {
	c := s.config.Load()
	if !c.Enabled {
		return nil
	}
	intent := core.AuditIntentFrom(ctx)
	if intent != nil && (intent.Recorded.Load() || !c.wants(intent.Category)) {
		intent = nil
	}
	var entries []core.AuditEntry
	events := tx.Appended()
	if intent != nil {
		entry := intent.AuditEntry
		if entry.Resource.ID == "" && intent.IDPrefix != "" {
			entry.Resource.ID = tx.FirstID(intent.IDPrefix)
		}
		if made := madePattern(events); made != nil && entry.Resource.ID == "" && entry.Resource.Type == "patterns" {
			entry.Resource.ID, entry.Resource.Version = textField(made, "name"), textField(made, "version")
		}
		entries = append(entries, entry)
	}
	for i := range events {
		if entry, ok := derive(&events[i], intent); ok && c.wants(entry.Category) {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if err := s.add(tx, c, entries); err != nil {
		return err
	}
	if intent != nil {
		tx.AfterCommit(func() { intent.Recorded.Store(true) })
	}
	return nil
}

// madePattern returns the event of a pattern that was made, or nil. A pattern's id is its name, which no prefix tells of.
func madePattern(events []core.Event) *core.Event {
	for i := range events {
		if events[i].Type == core.EventPatternCreated {
			return &events[i]
		}
	}
	return nil
}

// textField returns a text in the data of an event; "" for none.
func textField(e *core.Event, name string) string {
	value, _ := rawjson.Field(e.Data, name)
	return textOf(value)
}

// errFull is the answer to what cannot be recorded.
var errFull = core.Unavailable(core.ReasonAuditFull,
	"the audit trail is full and security.audit.mode is blocking: nothing is done until sinks took what they lack, or security.audit.maxSize "+
		"is raised and the configuration reloaded; `wardroom audit status`, or `wardroom status` on the machine of the server, shows which sink is behind")

// add appends entries to the trail.
func (s *Service) add(tx core.AuditTx, c *Config, entries []core.AuditEntry) error {
	if c.MaxBytes > 0 && tx.AuditHead().Bytes >= c.MaxBytes {
		if c.Blocking {
			return errFull
		}
		n := len(entries)
		tx.AfterCommit(func() { s.lose(n) })
		return nil
	}
	if err := s.noteClock(tx, c); err != nil {
		return err
	}
	for i := range entries {
		if err := tx.AppendAudit(s.seal(&entries[i], c.Level)); err != nil {
			return err
		}
	}
	signed := s.signed.Load()
	head := tx.AuditHead()
	if head.Sequence >= signed+checkpointRecords {
		if err := tx.AppendAudit(s.sign); err != nil {
			return err
		}
		signed = head.Sequence + 1
	}
	tx.AfterCommit(func() {
		s.signed.Store(max(signed, s.signed.Load()))
		for i := range entries {
			s.opts.Metrics.Recorded(entries[i].Category, entries[i].Outcome)
		}
		s.wakeSinks()
	})
	return nil
}

// clockBack is how far the clock may be set back without a record of that.
const clockBack = time.Minute

// noteClock records that the clock was set back: times of records then go back too, and their sequence is the order.
func (s *Service) noteClock(tx core.AuditTx, c *Config) error {
	now := s.opts.Clock.Now().UnixMilli()
	last := s.last.Load()
	if last-now < clockBack.Milliseconds() {
		s.last.Store(now)
		return nil
	}
	sequence := tx.AuditHead().Sequence
	if s.noted != 0 && sequence >= s.noted {
		return nil // by a transaction of the same commit, which has it in its trail
	}
	s.noted = sequence + 1
	tx.AfterCommit(func() {
		s.last.Store(now) // not before: a transaction may fail, or be run again
		s.noted = 0
	})
	return tx.AppendAudit(s.seal(&core.AuditEntry{
		Category: wire.AuditAdmin, Action: "system.clock", Outcome: wire.AuditSuccess, Actor: system, Resource: wire.AuditResource{Type: "system"},
		Details: map[string]any{"setBackMs": last - now},
	}, max(c.Level, Standard)))
}

// system is the actor of what Wardroom does by itself.
var system = wire.AuditActor{Type: string(core.PrincipalSystem), ID: core.System.ID}

// seal makes the record of an entry.
func (s *Service) seal(e *core.AuditEntry, level Level) core.AuditSeal {
	return func(dst []byte, sequence uint64, previous core.AuditHash) ([]byte, time.Time, core.AuditHash) {
		r := wire.AuditRecord{
			Sequence: sequence, EventID: s.opts.IDs.New(core.PrefixAudit), Timestamp: s.opts.Clock.Now().UTC(),
			Category: e.Category, Action: e.Action, Outcome: e.Outcome, Actor: e.Actor, Resource: e.Resource, Request: e.Request,
		}
		if level == Minimal {
			r.Actor.UserAgent = ""
			r.Request = wire.AuditRequest{RequestID: e.Request.RequestID}
		} else if len(e.Details) > 0 {
			r.Details = trail.AppendDetails(nil, e.Details)
		}
		if s.opts.Mask.Active() {
			s.maskRecord(&r)
		}
		line, hash := trail.AppendSealed(dst, &r, previous)
		return line, r.Timestamp, hash
	}
}

// sign makes a checkpoint. It is a core.AuditSeal.
func (s *Service) sign(dst []byte, sequence uint64, previous core.AuditHash) ([]byte, time.Time, core.AuditHash) {
	return s.own(trail.ActionCheckpoint, trail.SignCheckpoint(s.opts.Key, sequence-1, previous))(dst, sequence, previous)
}

// own makes a record about the trail itself. details are canonical.
func (s *Service) own(action string, details []byte) core.AuditSeal {
	return func(dst []byte, sequence uint64, previous core.AuditHash) ([]byte, time.Time, core.AuditHash) {
		r := wire.AuditRecord{
			Sequence: sequence, EventID: s.opts.IDs.New(core.PrefixAudit), Timestamp: s.opts.Clock.Now().UTC(), Category: wire.AuditAdmin,
			Action: action, Outcome: wire.AuditSuccess, Actor: system, Resource: wire.AuditResource{Type: "audit"}, Details: details,
		}
		line, hash := trail.AppendSealed(dst, &r, previous)
		return line, r.Timestamp, hash
	}
}

// checkpoint signs the end of the chain, unless it is signed.
func (s *Service) checkpoint(ctx context.Context) {
	if !s.config.Load().Enabled {
		return
	}
	err := s.store.RecordAudit(ctx, func(tx core.AuditTx) error {
		head := tx.AuditHead()
		if head.Sequence == 0 || head.Sequence <= s.signed.Load() {
			return nil
		}
		if err := tx.AppendAudit(s.sign); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			s.signed.Store(head.Sequence + 1)
			s.noted = 0 // of a commit that failed
			s.wakeSinks()
		})
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the audit trail could not be signed; it is tried again", "error", err)
	}
}

func (s *Service) wakeSinks() {
	for _, k := range s.all() {
		pause.Wake(k.wake)
	}
}

// noMetrics counts nothing.
type noMetrics struct{}

func (noMetrics) Recorded(string, string)              {}
func (noMetrics) Lost(int)                             {}
func (noMetrics) Delivered(string, int, time.Duration) {}
func (noMetrics) SinkFailed(string, string)            {}
