package schedule

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/seal"
	"github.com/wardroom/wardroom/core/internal/turn"
	"github.com/wardroom/wardroom/sdk/wire"
)

var _ core.ScheduleService = (*Service)(nil)

// Bounds of schedules.
const (
	maxSchedules = 1000
	maxWorkers   = 8   // schedules of executions whose ticks are worked on at once, and as many of threads
	maxRuns      = 50  // entries of a history
	maxQueue     = 100 // ticks of a schedule that wait
	maxRunning   = 100 // runs of a schedule at once
)

// Times of the loop.
const (
	lookEvery  = 5 * time.Second  // how long a step of the clock goes unnoticed at most
	noticed    = time.Second      // how far the clock moves on between a look and its timer before it is looked again
	queueEvery = time.Second      // how often the run before a tick that waits is looked at
	grace      = time.Minute      // how late a tick is started as if it were on time
	retryFirst = time.Second      // after a start that failed and may succeed later
	retryMost  = 30 * time.Second // between such starts
	retryFor   = 10 * time.Minute // how long such starts are tried
	startTime  = 2 * time.Minute  // how long a start may take
	retryTime  = 20 * time.Second // how long one may take that failed before
)

// Store is the part of core.Store that the service uses.
type Store interface {
	core.ScheduleReader
	Update(ctx context.Context, fn func(tx core.Tx) error) error
}

// Observer counts. Methods return at once.
type Observer interface {
	// Ticked is called for count ticks that came to an outcome.
	Ticked(outcome core.ScheduleOutcome, count int)
	// Lag is called with how late a tick was started that was not made up for.
	Lag(late time.Duration)
}

// Options are what a Service is made of. Store, Clock, IDs and Launcher are needed.
type Options struct {
	Store    Store
	Clock    core.Clock
	IDs      core.IDs
	Logger   hclog.Logger // nil: discards
	Launcher core.Launcher
	SealKey  [32]byte // what environments are encrypted with
	// Host returns the host that the start of a target waits for, such as that of its repository; "" for none. It returns at
	// once. nil: no start waits for one.
	Host func(t core.Target) string
	// Alert is called when a schedule begins to fail or to be blocked; may be nil.
	Alert    func(subject, message string, details map[string]any)
	Observer Observer // may be nil
}

// Service keeps schedules and starts what is due. Make it with New, start it with Open, end it with Close.
type Service struct {
	opts  Options
	store Store
	log   hclog.Logger
	box   *seal.Box

	wake chan struct{} // holds one: something changed
	// asked counts the looks that were asked for, and looked is how many of them the last one answered.
	asked, looked atomic.Uint64
	ctx           context.Context // of the loop, and of waits for the store; ends in Close
	stop          context.CancelFunc
	wg            sync.WaitGroup

	mu      sync.Mutex // guards all below; taken after the turn of an entry, never before
	entries map[string]*entry
	names   map[string]string // id by name; "" while one is being made
	seen    time.Time         // by the clock on the wall, when the loop looked last
	working [lanes]int        // goroutines at work
	waiting map[string]int    // of those, how many wait for a host, by its name
}

// lane is what shares a bound of goroutines.
type lane uint8

// The lanes. A start of a thread may wait for a host that does not answer; one that failed before probably does.
const (
	laneExecutions lane = iota
	laneThreads
	laneFailing // of threads
	lanes
)

// entry is a schedule at work.
type entry struct {
	turn     *turn.Turn // taken while a tick is worked on, claimed for a change; guards all up to shown
	rec      *core.ScheduleRecord
	cal      *calendar
	doubted  bool      // another record than rec may be stored
	asked    string    // name that a change in doubt may have given it
	failing  time.Time // since when starts of the present tick fail; zero: they do not
	tries    int       // that failed
	retryAt  time.Time // when the next start is tried
	shown    snapshot  // what it was after the last change; guarded by Service.mu
	ails     bool      // its starts fail, or did at its last tick; guarded by Service.mu
	due      time.Time // when to look at it next; zero: after a change; guarded by Service.mu
	underWay bool      // a goroutine works on it; guarded by Service.mu
	again    bool      // it is looked at once more after that; guarded by Service.mu
}

// snapshot is a schedule as others see it. It is immutable.
type snapshot struct {
	rec *core.ScheduleRecord
	cal *calendar
}

// New makes a service. It does nothing yet.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Alert == nil {
		o.Alert = func(string, string, map[string]any) {}
	}
	if o.Host == nil {
		o.Host = func(core.Target) string { return "" }
	}
	o.Observer = cmp.Or[Observer](o.Observer, unobserved{})
	s := &Service{
		opts: o, store: o.Store, log: o.Logger, box: seal.New(o.SealKey), wake: make(chan struct{}, 1),
		entries: map[string]*entry{}, names: map[string]string{}, waiting: map[string]int{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.seen = s.now() // what is made before the first look is due at it
	return s
}

// unobserved is an Observer that does nothing.
type unobserved struct{}

func (unobserved) Ticked(core.ScheduleOutcome, int) {}
func (unobserved) Lag(time.Duration)                {}

// Open loads the schedules and starts to look for what is due.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.store.AllSchedules(ctx)
	if err != nil {
		return err
	}
	now := s.now()
	for _, r := range list {
		cal := storedCalendar(r)
		if cal.unreadable != "" {
			s.log.Error("the times of a schedule cannot be read; it starts nothing until it is given others", "schedule", r.ID, "name", r.Name,
				"reason", cal.unreadable)
		}
		e := &entry{turn: turn.New(), rec: r, cal: cal, shown: snapshot{r, cal}, due: now}
		e.ails = e.failed()
		s.entries[r.ID] = e
		s.names[r.Name] = r.ID
	}
	s.wg.Go(func() {
		s.run(s.ctx)
	})
	return nil
}

// Close ends the loop and the waits for the store, and joins what it began. Safe to call twice, and before Open.
func (s *Service) Close() {
	s.stop()
	s.wg.Wait()
}

// now returns the time on the wall, without a monotonic reading: ticks are compared with that.
func (s *Service) now() time.Time { return s.opts.Clock.Now().Round(0).UTC() }

// kick has the loop look now.
func (s *Service) kick() {
	s.asked.Add(1)
	pause.Wake(s.wake)
}

// run looks for what is due until ctx ends.
func (s *Service) run(ctx context.Context) {
	tick := make(chan struct{}, 1)
	for {
		asked := s.asked.Load()
		at, wait := s.look(ctx)
		timer := s.opts.Clock.AfterFunc(wait, func() {
			s.asked.Add(1)
			pause.Wake(tick)
		})
		if late := s.now().Sub(at); late >= min(wait, noticed) && ctx.Err() == nil { // the timer is late by as much
			timer.Stop()
			continue
		}
		s.looked.Store(asked)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-tick:
		case <-s.wake:
			timer.Stop()
		}
	}
}

// look has every schedule worked on that is due, and returns when it looked and how long from then until the next look.
func (s *Service) look(ctx context.Context) (now time.Time, wait time.Duration) {
	now = s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	back := now.Before(s.seen) // then nothing is where it was
	s.seen = now
	wait = lookEvery
	for _, e := range s.entries {
		switch {
		case e.underWay:
			e.again = e.again || back
		case !back && (e.due.IsZero() || e.due.After(now)):
			if !e.due.IsZero() {
				wait = min(wait, e.due.Sub(now))
			}
		default:
			in, host := e.lane(), s.opts.Host(e.shown.rec.Target)
			if !s.room(in, host) { // the next one that is done looks again
				e.due = now
				continue
			}
			e.underWay = true
			s.working[in]++
			s.waiting[host]++
			s.wg.Go(func() {
				s.work(ctx, e, in, host)
			})
		}
	}
	return now, wait
}

// lane returns the lane of an entry. The caller holds Service.mu.
func (e *entry) lane() lane {
	switch {
	case e.shown.rec.Target.Thread == nil:
		return laneExecutions
	case e.ails:
		return laneFailing
	}
	return laneThreads
}

// room reports whether one more goroutine may work in a lane and wait for a host: executions do not wait behind threads, nor
// those threads that can be started behind those that fail, or whose host does not answer. The caller holds mu.
func (s *Service) room(in lane, host string) bool {
	threads := s.working[laneThreads] + s.working[laneFailing]
	if own := s.waiting[host]; host != "" && own >= max(1, (maxWorkers-(threads-own))/2) { // it leaves half of what others do
		return false
	}
	switch in {
	case laneExecutions:
		return s.working[in] < maxWorkers
	case laneFailing:
		return threads < maxWorkers && s.working[in] < maxWorkers/2
	default:
		return threads < maxWorkers
	}
}

// work does what is due of a schedule, in a lane, and may wait for a host.
func (s *Service) work(ctx context.Context, e *entry, in lane, host string) {
	ctx, err := e.turn.Take(ctx)
	if err != nil { // the service closes
		return
	}
	defer e.turn.Release()
	var due time.Time
	if s.has(e) {
		due = s.guarded(ctx, e)
	}
	if errors.Is(context.Cause(ctx), turn.ErrWanted) { // whether the change comes about or not
		due = s.now()
	}
	s.mu.Lock()
	if e.again {
		due = s.seen
	}
	e.shown, e.ails, e.due, e.underWay, e.again = snapshot{e.rec, e.cal}, e.failed(), due, false, false
	s.working[in]--
	if s.waiting[host]--; s.waiting[host] == 0 {
		delete(s.waiting, host)
	}
	s.mu.Unlock()
	s.kick()
}

// guarded is advance, whose panic ends nothing but this try: the record is as it was stored last.
func (s *Service) guarded(ctx context.Context, e *entry) (due time.Time) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the work on a schedule panicked", "schedule", e.rec.ID, "panic", p, "stack", string(debug.Stack()))
			due = s.now().Add(retryMost)
		}
	}()
	return s.advance(ctx, e)
}

// changed makes a change of an entry known, whose turn is held. A tick whose starts failed is tried again at once; it stays one
// that was tried.
func (s *Service) changed(e *entry) {
	e.tries, e.retryAt = 0, time.Time{}
	s.mu.Lock()
	e.shown, e.ails, e.due = snapshot{e.rec, e.cal}, e.failed(), s.seen
	s.mu.Unlock()
	s.kick()
}

// failed reports whether starts fail, or did at the last tick.
func (e *entry) failed() bool {
	return e.tries > 0 || e.rec.LastRun != nil && e.rec.LastRun.Outcome == wire.TickFailed
}

// has reports whether an entry is not deleted.
func (s *Service) has(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[e.shown.rec.ID] == e
}

// find returns an entry. NOT_FOUND.
func (s *Service) find(id string) (*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[id]; e != nil {
		return e, nil
	}
	return nil, core.NotFound("schedule", id)
}

// claimed returns an entry whose turn the caller has for a change, and which is not deleted. A start that is under way
// ends for it: before it is stored together with its tick it leaves nothing behind. NOT_FOUND.
func (s *Service) claimed(ctx context.Context, id string) (*entry, error) {
	e, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if err := e.turn.Claim(ctx); err != nil {
		return nil, err
	}
	if !s.has(e) {
		e.turn.Release()
		return nil, core.NotFound("schedule", id)
	}
	return e, nil
}

// Stats are what metrics show.
type Stats struct {
	ByStatus map[core.ScheduleStatus]int
	Queued   int // ticks that wait
}

// Stats returns figures as they are now.
func (s *Service) Stats() Stats {
	out := Stats{ByStatus: map[core.ScheduleStatus]int{}}
	for _, status := range core.ScheduleStatuses {
		out.ByStatus[status] = 0
	}
	for _, t := range s.snapshots() {
		out.ByStatus[t.status()]++
		out.Queued += len(t.rec.Queue)
	}
	return out
}

// snapshots returns every schedule, in no order.
func (s *Service) snapshots() []snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]snapshot, 0, len(s.entries))
	for _, e := range s.entries {
		list = append(list, e.shown)
	}
	return list
}
