package webhook

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/seal"
)

var _ core.WebhookService = (*Service)(nil)

// Service implements core.WebhookService and delivers. Make it with New, start it with Open before whoever writes
// events, end it with Close after them and before the store.
type Service struct {
	opts   Options
	log    hclog.Logger
	clock  core.Clock
	config atomic.Pointer[Config]
	seal   *seal.Box
	bodies bodies
	tests  chan struct{} // holds one value for each test under way

	ctx    context.Context // of all work; ends in Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // all but the writer
	stop   chan struct{}  // closed when the writer is to end
	writer sync.WaitGroup // the writer

	wake      chan struct{} // holds one: there may be new events
	writeWake chan struct{} // holds one: there are outcomes
	loadWake  chan struct{} // holds one: there are loads

	position atomic.Uint64 // sequence up to which the log was read

	// Locks are taken in this order.

	reading  sync.Mutex                   // guards the reader's state below, and is held while endpoints are added, changed or deleted
	kept     uint64                       // position as the store has it
	fanning  *unsure                      // deliveries that are in doubt, or nil
	fanned   time.Time                    // of the last deliveries
	metadata map[string]map[string]string // of executions, by id: what filters may ask about

	metadataBytes int // of it

	records sync.Mutex             // held while records of endpoints are written
	doubted atomic.Pointer[unsure] // a write of them that is in doubt, or nil; set while records is held

	mu         sync.Mutex // guards all below
	opened     bool
	stopping   bool // no attempt begins any more
	endpoints  map[string]*endpoint
	fast, slow ring
	slowTurn   bool
	active     int // attempts under way
	slowActive int // of slow endpoints
	running    map[*job]struct{}
	outcomes   []*outcome
	loads      []*endpoint
	tick       core.Timer
	lastTick   time.Time
}

// New makes a service. It starts nothing.
func New(o Options) *Service {
	o.setDefaults()
	s := &Service{
		opts: o, log: o.Logger, clock: o.Clock, seal: seal.New(o.SealKey), tests: make(chan struct{}, testsAtOnce),
		stop: make(chan struct{}), wake: make(chan struct{}, 1), writeWake: make(chan struct{}, 1), loadWake: make(chan struct{}, 1),
		metadata: make(map[string]map[string]string), endpoints: make(map[string]*endpoint), running: make(map[*job]struct{}),
	}
	s.config.Store(o.Config.withDefaults())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Open reads the endpoints, brings those of the configuration up to date, and begins to deliver.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.opts.Store.AllWebhooks(ctx)
	if err != nil {
		return err
	}
	seq, err := s.opts.Store.Cursor(ctx, cursorName)
	if err != nil {
		return err
	}
	s.position.Store(seq)
	s.kept = seq
	if err := s.sealPlain(ctx, list); err != nil {
		return err
	}
	s.mu.Lock()
	for _, rec := range list {
		s.put(rec)
	}
	s.mu.Unlock()
	if err := s.declare(ctx, s.config.Load().Declared); err != nil {
		return err
	}
	s.mu.Lock()
	s.opened = true
	s.lastTick = s.clock.Now().Round(0)
	for _, ep := range s.endpoints {
		s.look(ep)
	}
	s.mu.Unlock()
	s.writer.Go(func() {
		s.runWriter(s.stop)
	})
	s.start(func() { s.runReader(s.ctx) })
	for range loaders {
		s.start(func() { s.runLoader(s.ctx) })
	}
	s.start(func() { s.runKeeper(s.ctx) })
	return nil
}

// sealPlain seals headers that a release before stored in clear.
func (s *Service) sealPlain(ctx context.Context, list []*core.WebhookRecord) error {
	for _, rec := range list {
		if len(rec.PlainHeaders) == 0 {
			continue
		}
		var err error
		if rec.SealedHeaders, err = s.sealHeaders(rec.ID, rec.PlainHeaders); err != nil {
			return err
		}
		rec.PlainHeaders = nil
		if err := s.opts.Store.Update(ctx, func(tx core.Tx) error { return tx.PutWebhook(rec) }); err != nil {
			return err
		}
	}
	return nil
}

// start runs fn on a goroutine that Close waits for; not at all once Close has begun.
func (s *Service) start(fn func()) {
	if s.ctx.Err() != nil {
		return
	}
	s.wg.Go(fn)
}

// Reload takes over another configuration. Declared endpoints that were disabled because of failures are enabled again.
func (s *Service) Reload(ctx context.Context, c Config) error {
	if err := checkDeclared(&c); err != nil {
		return err
	}
	s.config.Store(c.withDefaults())
	s.bodies.clear()
	s.mu.Lock()
	for _, ep := range s.endpoints {
		ep.closeTransport()
	}
	s.mu.Unlock()
	if err := s.declare(ctx, c.Declared); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ep := range s.endpoints {
		s.list(ep)
	}
	s.dispatch()
	return nil
}

// Drain lets no attempt begin any more, and returns once those under way are over and stored, or ctx ends.
func (s *Service) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	for {
		s.mu.Lock()
		idle := s.active == 0 && len(s.outcomes) == 0
		s.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.after(firstRetry / 5):
		}
	}
}

// Close ends all work and joins it. Attempts under way are cut short and made again after the next start. Safe to call
// twice, and without Open.
func (s *Service) Close() {
	s.mu.Lock()
	s.stopping = true
	opened := s.opened
	s.opened = false
	for _, ep := range s.endpoints {
		if ep.timer != nil {
			ep.timer.Stop()
			ep.timer = nil
		}
	}
	if s.tick != nil {
		s.tick.Stop()
	}
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
	if opened {
		close(s.stop)
		s.writer.Wait()
		s.reading.Lock()
		if err := s.keepCursor(context.Background()); err != nil {
			s.log.Debug("how far the log was read cannot be stored", "error", err)
		}
		s.reading.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ep := range s.endpoints {
		ep.closeTransport()
	}
}

// put takes an endpoint into memory, or its new record. mu is held, records as well unless nothing runs yet.
func (s *Service) put(rec *core.WebhookRecord) {
	ep := s.endpoints[rec.ID]
	if ep == nil {
		ep = newEndpoint(rec)
		s.endpoints[rec.ID] = ep
	}
	ep.rec = rec
	ep.secrets, ep.broken = s.openSecrets(rec.ID, rec.Sealed)
	headers, err := s.openHeaders(rec.ID, rec.SealedHeaders)
	if rec.Headers = headers; ep.broken == nil {
		ep.broken = err
	}
	if ep.broken != nil {
		s.log.Error("what a webhook has sealed cannot be read", "webhook", rec.ID, "error", ep.broken)
	}
}

// closeTransport lets the next attempt make the transport anew. Service.mu is held.
func (ep *endpoint) closeTransport() {
	if idle, ok := ep.transport.(interface{ CloseIdleConnections() }); ok {
		idle.CloseIdleConnections()
	}
	ep.transport = nil
}

var _ interface{ CloseIdleConnections() } = (*http.Transport)(nil)

// after is a channel that is closed once d has passed.
func (s *Service) after(d time.Duration) <-chan struct{} {
	done := make(chan struct{})
	s.clock.AfterFunc(d, func() { close(done) })
	return done
}

// pause waits, or until ctx ends.
func (s *Service) pause(ctx context.Context, d time.Duration) {
	done := make(chan struct{})
	timer := s.clock.AfterFunc(d, func() { close(done) })
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Stats counts what a service does at the moment.
type Stats struct {
	Endpoints int
	Disabled  int    // because of failures
	Active    int    // attempts under way
	Waiting   int    // deliveries in memory
	Behind    uint64 // events, of all kinds, that were committed since the last that was turned into deliveries
}

// Stats returns the figures of this moment.
func (s *Service) Stats() Stats {
	behind := uint64(0)
	if last, at := s.opts.Store.LastSeq(), s.position.Load(); last > at {
		behind = last - at
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{Endpoints: len(s.endpoints), Active: s.active, Behind: behind}
	for _, ep := range s.endpoints {
		st.Waiting += len(ep.window)
		if !ep.rec.Enabled && ep.rec.DisabledReason != "" {
			st.Disabled++
		}
	}
	return st
}
