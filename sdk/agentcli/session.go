package agentcli

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/journal"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// session drives one life of an agent. Its loop goroutine owns the state machine, the delivery of messages and
// the driver; a feeder feeds the display, a typist types, a waiter waits for the end, a stopper ends it. Everything
// that other goroutines want of the state machine they post into the mailbox.
type session struct {
	loop
	o       *Options
	a       *agent
	spec    runtime.Spec // with its environment
	plan    Plan
	life    int
	base    uint64 // offset of the first byte of this life
	proc    Process
	driver  Driver
	display *display
	typist  *typist
	sizes   *sizes
	events  *journal.Journal
	book    *logbook
	redact  redactor
	logger  hclog.Logger

	ctx    context.Context // of the goroutines; its end lets go of the agent
	cancel context.CancelFunc
	public atomic.Pointer[runtime.Agent]
	freed  func() // called before ended is closed: another agent may run
	// background runs what the end of the session does not wait for; the runtime joins it.
	background func(fn func())
	// missing is called after freed when the agent runs, as far as is known, and has to be looked for.
	missing func()
	ended   chan struct{} // closed when nothing of the session runs any more

	feeder  *feeder
	stopper *stopper
	gauge   gauge

	// The loop owns what follows.
	agent   runtime.Agent
	started time.Time
	aliveAt time.Time // of the last sign of life since the session was made, with a monotonic reading
	ready   bool      // it was ready once in this life
	// behind is set while the output since an earlier runtime process is being read: the screen is an old one, and neither it
	// nor the hooks that came meanwhile are heard.
	behind    bool
	head      uint64 // how far the output went when the process was found
	headKnown bool
	away      bool // over, because the process is out of reach
	wasAway   bool // the last that was reported of the agent is that it was
	delivery  delivery
	fusion    fusion
	wish      wish
	urls      []string // logins that were reported since it was ready
	doneTo    uint64   // commands of the output before it were given to the driver
	toldTo    uint64   // what followed from commands before it is in the events
	replays   bool     // the driver is given such a command
	seq       uint64   // newest event
	dirty     bool     // the state is to be stored
	stored    []byte   // the state that was stored last
	resumes   bool     // this life is to resume an earlier session
	// lostSession is set when that is not there: anew is called when nothing of this life runs any more.
	lostSession bool
	anew        func()
	watching    bool // the driver wants to see the screen

	readyTimer func()
	pauseTimer func()
	lastScreen time.Time // when the driver saw the screen
	outputAt   time.Time // when the loop heard of output last
	check      checkpoint
	copies     sessionCopier
	exitCause  *runtime.Exit
}

// newSession makes the session of a process; it runs nothing yet.
func newSession(r *Runtime, a *agent, spec runtime.Spec, rec *record, proc Process) *session {
	ctx, cancel := context.WithCancel(r.ctx)
	s := &session{
		o: &r.o, a: a, spec: spec, plan: rec.Plan, life: rec.Life, base: rec.Base, proc: proc, loop: loop{mail: newMailbox()}, events: r.events,
		redact: newRedactor(spec.Env), logger: r.o.Logger.With("agent", a.id, "type", spec.Type),
		ctx: ctx, cancel: cancel, ended: make(chan struct{}),
		agent: rec.Agent, started: rec.Started, watching: true,
		doneTo: rec.Base,
	}
	s.aliveAt = s.o.Now()
	s.display = newDisplay(s.o, rec.Cols, rec.Rows, rec.Base)
	s.typist = newTypist(proc.Write, s.display.offset, s.display.shown, time.Now, s.o.HumanHold)
	if b, ok := proc.(Backlogger); ok {
		s.typist.unread = b.Unread
	}
	s.feeder = &feeder{
		ctx: ctx, proc: proc, base: s.base, display: s.display, typist: s.typist, mail: s.mail, output: s.output, commands: s.commands,
		logger: s.logger, caughtUp: make(chan struct{}),
	}
	s.stopper = &stopper{proc: proc, mail: s.mail, ended: s.ended, politely: s.typeExit, logger: s.logger}
	s.book = &logbook{log: a.log, display: s.display, redact: s.redact, now: s.o.Now, logger: s.logger}
	s.fusion.s, s.copies.s = s, s
	remembered, err := loadInputs(a.dir, s.redact)
	if err != nil {
		s.logger.Error("the file of remembered messages cannot be read, or not be written without secrets that an earlier version kept", "error", err)
	}
	s.delivery = delivery{s: s, inputs: remembered, repeats: map[string]*message{}}
	s.sizes = newSizes(s.o.ResizePolicy, rec.Cols, rec.Rows, s.resize)
	s.publish()
	return s
}

// run is the session's loop. It returns when the process has ended, or the runtime lets go of it, and every
// goroutine of the session is joined.
func (s *session) run() {
	s.spawn(s.feeder.run)
	if w, ok := s.driver.(keyWatcher); ok {
		s.typist.place = host{s}.place
		keys := &keyboard{}
		keys.notify = func() {
			s.mail.post(func() {
				if p := keys.take(); !s.over {
					w.keyed(p)
					s.dirty = true
				}
			})
		}
		s.typist.heard = keys.typed
	}
	s.spawn(func() { s.typist.run(s.ctx) })
	s.spawn(s.await)
	var hooks <-chan *HookCall
	if source, ok := s.proc.(HookSource); ok {
		hooks = source.Hooks()
	}
	for !s.over {
		heard := hooks
		if s.behind { // what the terminal told before them comes first
			heard = nil
		}
		select {
		case <-s.mail.wake:
			for _, fn := range s.mail.take() {
				fn()
				s.delivery.pump()
			}
		case call, ok := <-heard:
			if !ok {
				hooks = nil
				continue
			}
			s.alive()
			s.driver.Hook(call)
			s.dirty = true
			s.delivery.pump()
		case <-s.ctx.Done():
			s.letGo()
		}
		s.store()
	}
	s.cancel()
	s.sizes.close()
	for _, fn := range s.mail.close() {
		fn() // each of them sees that the session is over, and answers whoever waits
	}
	s.delivery.dismiss()
	s.group.Wait()
	_ = s.proc.Close()
	s.book.log.Rest()
	s.freed()
	if s.away {
		s.a.unreachable(s)
		s.missing()
	}
	if s.lostSession {
		s.anew()
	}
	close(s.ended)
}

// await waits for the end of the process, and cleans up behind it.
func (s *session) await() {
	exit, err := s.proc.Wait(s.ctx)
	if s.ctx.Err() != nil {
		return
	}
	if err != nil && !errors.Is(err, ErrGone) {
		s.mail.post(func() { s.outOfReach(err) })
		return
	}
	select { // the last words of the process come before its end
	case <-s.feeder.caughtUp:
	case <-time.After(drainTimeout):
	case <-s.ctx.Done():
		return
	}
	out := exit.Reason == runtime.ReasonOutOfMemory
	ctx, cancel := context.WithTimeout(s.ctx, cleanTimeout)
	defer cancel()
	if m, ok := s.proc.(Meter); ok {
		if usage, err := m.Usage(ctx); err == nil {
			out = out || usage.OutOfMemory && exit.Code != 0 // one that ended well got over it
		}
	}
	if err := s.proc.Kill(ctx); err != nil && s.ctx.Err() == nil {
		s.logger.Debug("cleaning up behind the process failed", "error", err)
	}
	s.mail.post(func() { s.exited(exit, err, out) })
}

const (
	drainTimeout = 3 * time.Second  // for the last output of a process that ended
	cleanTimeout = 20 * time.Second // for killing what it left
)

// publish makes the agent visible as it is now.
func (s *session) publish() {
	v := s.agent
	s.public.Store(&v)
}

// activity is when the agent last did something.
func (s *session) activity(t time.Time) time.Time {
	if seen := s.display.seen.Load(); seen > 0 {
		if at := time.Unix(0, seen); at.After(t) {
			return at.UTC()
		}
	}
	return t
}

// alive notes that the agent shows a sign of life.
func (s *session) alive() {
	now := s.o.Now()
	s.aliveAt, s.agent.LastActivityAt = now, now.UTC()
}

// silence is how long the agent gave no sign of life since it was started or taken up.
func (s *session) silence() time.Duration { return min(s.o.Now().Sub(s.aliveAt), s.display.quiet()) }

// store writes where the session is, if that changed.
func (s *session) store() {
	if !s.dirty || s.over {
		return
	}
	s.dirty = false
	s.publish()
	if err := s.state().save(s.a.dir, &s.stored); err != nil {
		s.logger.Warn("the state of the agent cannot be stored", "error", err)
	}
}

// state is where the session is.
func (s *session) state() *lifeState {
	state := &lifeState{
		Version: recordVersion, Life: s.life, Offset: s.doneTo, Agent: s.agent, Seq: s.seq, Ready: s.ready, Trust: s.fusion.trust,
		LoggedTo: s.book.loggedTo, URLs: s.urls, Sent: s.delivery.sent, LastMs: s.fusion.lastMs, Wish: s.wish,
	}
	if saved := s.driver.Save(); json.Valid(saved) {
		state.Driver = saved
	}
	if s.fusion.turn != nil {
		state.TurnStarted, state.TurnInput, state.TurnRefused = s.fusion.turn.started, s.fusion.turn.input, s.fusion.turn.refused
	}
	if h := s.fusion.held; h != nil {
		state.Held = &heldState{Event: h.event, Input: h.input, Text: h.text, Told: h.told}
	}
	return state
}

// catchUp ends the time in which the session is behind: once history was read, the terminal answers again, the driver looks
// at it, hooks are heard, and messages are typed. What was left on the input line shows only then.
func (s *session) catchUp() {
	if s.over || !s.behind {
		return
	}
	if !s.feeder.readHistory(s.head, s.headKnown) {
		s.after(replayLook, s.catchUp)
		return
	}
	s.display.mute(false)
	s.behind = false
	if s.wish != (wish{}) {
		s.after(redoGrace, s.redo)
	}
	if w, ok := s.driver.(outputWatcher); ok {
		w.output(s.display.drawn())
	}
	if s.pauseTimer == nil {
		s.pause()
	}
	s.delivery.clearCutOff()
	s.delivery.pump()
}

// gone is why a session that is over does nothing any more.
func (s *session) gone() error {
	switch {
	case s.agent.Status == runtime.StatusStopped:
		return errNotRunning(s.a.id)
	case s.away:
		return errUnreachable(s.a.id)
	default:
		return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the runtime is closing", Retry: true}
	}
}

func (s *session) loginOpen() bool {
	return s.agent.Status == runtime.StatusError && s.agent.Reason == runtime.ReasonLoginRequired
}
