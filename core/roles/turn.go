package roles

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/sdk/wire"
)

// exchange is the state of one turn while it is had.
type exchange struct {
	a        *agent
	text     string
	key      string
	resends  int  // with another key, those of earlier lives included
	shown    bool // a turn of the present key was seen in an earlier life
	earlier  bool // the turn that is waited for may be over since an earlier life
	unsure   bool // it was sent with another key though the agent may have it
	asked    int  // times that the runtime did not know what became of the message, by the present key
	refused  int  // times that it was not taken
	failures int  // in a row
	retry    pause.Backoff
	base     int    // turns that had ended before
	began    int    // turns that had begun before
	login    uint64 // event of the last login that was asked for before
}

// answer is the answer of a turn that did not fail, and what the turn used.
type answer struct {
	text  string
	usage *wire.Usage // nil: the agent does not tell; also of a turn that failed
}

// turn has one turn with an agent: it sends text, and returns the answer. A turn that failed, was interrupted, or was
// refused without a word is an error. A turn that the agent has had already, or
// has now, under the same key is waited for. It waits as long as ctx does.
func (s *Service) turn(ctx context.Context, a *agent, text, key string) (answer, error) {
	x := &exchange{a: a, text: text, key: key}
	s.mu.Lock()
	x.login = a.state.loginSeq
	s.mu.Unlock()
	if err := s.openWork(ctx, x); err != nil {
		return answer{}, err
	}
	x.earlier = x.shown
	// The turn that was seen may be that of a former key, and the agent not have the present one.
	had := x.shown && x.resends > 0
	for {
		got, err := s.handOver(ctx, x, had)
		if had = false; errors.Is(err, errAgain) {
			continue
		}
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
		switch again, waitErr := s.afterTurn(ctx, x, err); {
		case waitErr != nil:
			return got, waitErr
		case again:
			if err := s.openWork(ctx, x); err != nil {
				return answer{}, err
			}
			continue
		}
		return got, err
	}
}

// errAgain is that the work is to be sent again.
var errAgain = errors.New("it is sent again")

// handOver sends the work, unless its turn was had, and returns what the turn came to. errAgain has it called again.
func (s *Service) handOver(ctx context.Context, x *exchange, had bool) (answer, error) {
	if had {
		return s.lastAnswer(ctx, x.a)
	}
	reply, err := s.agents.SendManagedAgent(ctx, x.a.id, core.ManagedAgentInput{
		Message: x.text, ExpectResponse: true, Timeout: turnLimit, Key: x.sendKey(),
	})
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case err == nil && reply.Response != nil:
		return s.answered(ctx, x.a, reply.Response)
	case err == nil: // it was taken before, and the runtime does not keep the answer
		return s.lastAnswer(ctx, x.a)
	}
	if err = s.failed(ctx, x, err); err == nil && x.unsure && s.taken(x) {
		err = errTaken // what refuses the last key does so because of a former one
	}
	switch {
	case err == nil:
		return answer{}, errAgain
	case errors.Is(err, errTaken):
		return s.lastAnswer(ctx, x.a)
	}
	return answer{}, err
}

// openWork notes that the work is about to be sent, or sent with another key: what the agent did before is no turn of it. It
// learns what an earlier life noted. Work that cannot be noted is not sent.
func (s *Service) openWork(ctx context.Context, x *exchange) error {
	known, err := s.noted(ctx, x, x.resends)
	if err != nil {
		return err
	}
	x.resends, x.shown, x.asked = known.Attempt, known.Shown, 0
	s.mu.Lock()
	defer s.mu.Unlock()
	x.base, x.began = x.a.state.turn, x.a.state.began
	return nil
}

// noted notes an attempt, and returns what is known of the last one.
func (s *Service) noted(ctx context.Context, x *exchange, attempt int) (core.RoleWork, error) {
	if s.opts.Threads == nil {
		return core.RoleWork{Attempt: attempt}, nil
	}
	var retry pause.Backoff
	for {
		known, err := s.opts.Threads.OpenWork(ctx, x.a.id, x.key, attempt)
		if err == nil {
			return known, nil
		}
		s.log.Warn("the work of an agent cannot be noted yet", "agent", x.a.id, "error", err)
		if !s.pause(ctx, retry.Next()) {
			return core.RoleWork{}, ctx.Err()
		}
	}
}

// afterTurn reports whether the work of a turn that failed is still to be done by the same agent: its credential ended,
// and it has another one now; or its process did, and it was started again. The error ends the turn in another way.
func (s *Service) afterTurn(ctx context.Context, x *exchange, err error) (again bool, waitErr error) {
	code := turnCode(err)
	if code == wire.TurnLoginRequired {
		// The event of the login may be a moment behind the end of the turn, and the login be over by now.
		open := func() bool { return x.a.state.login || x.a.state.loginSeq > x.login }
		if err := s.await(ctx, x.a, wait(foldWait), open); err != nil && !errors.Is(err, errLate) {
			return false, err
		}
	}
	switch {
	case (code == wire.TurnLoginRequired || errors.Is(err, errInterrupted)) && s.loginAsked(x), code == wire.TurnLoginRequired && x.earlier:
		x.resends++
		x.earlier, x.unsure = false, false
		return true, s.await(ctx, x.a, 0, func() bool { return !x.a.state.login })
	case code == wire.TurnAgentEnded && x.resends < maxResends:
		x.resends++
		x.unsure = false
		return true, s.expectEnd(ctx, x)
	}
	return false, nil
}

// sendKey is the key of the next send: another one only once it is known that the first came to nothing.
func (x *exchange) sendKey() string {
	if x.resends == 0 {
		return x.key
	}
	return wire.ResendKey(x.key, x.resends+1)
}

// errTaken is that the agent has, or had, the turn all the same.
var errTaken = errors.New("the message was taken")

// failed decides what follows from a send that failed: nil to send again, errTaken when the turn is there, or the
// error that ends it.
func (s *Service) failed(ctx context.Context, x *exchange, err error) error {
	code := runtimecode.Of(err)
	if code != runtimecode.Internal {
		x.failures = 0
	}
	switch {
	case runtimecode.NoAgent(err):
		return s.expectEnd(ctx, x)
	case code == runtimecode.Blocked:
		// What it asks is given to the sink, and the message follows the answer.
		return s.retryOnce(ctx, x, func() bool { return x.a.state.read && x.a.state.prompt == nil && x.a.state.status != core.ManagedBusy })
	case code == runtimecode.AuthRequired:
		return s.retryOnce(ctx, x, func() bool { return !x.a.state.login })
	case code == runtimecode.Timeout && core.ErrorCode(err) == core.CodeTimeout:
		return s.pauseThen(ctx, x) // a long turn: the same key finds it again
	case code == runtimecode.NotDelivered:
		if x.refused++; x.refused > maxResends {
			return errUntaken
		}
		return s.pauseThen(ctx, x)
	case code == runtimecode.DeliveryUnknown:
		return s.settle(ctx, x)
	case runtimecode.Passing(err):
		return s.pauseThen(ctx, x)
	case code == runtimecode.InvalidArgument && fieldOf(err) == "id":
		return errTaken // the same key with another text: an earlier life put it in other words
	case code == runtimecode.Internal:
		if x.failures++; x.failures > maxFailures {
			return err
		}
		return s.pauseThen(ctx, x)
	}
	return err
}

func fieldOf(err error) string {
	field, _ := core.AsError(err).Details["field"].(string)
	return field
}

// pauseThen waits a little before the next send.
func (s *Service) pauseThen(ctx context.Context, x *exchange) error {
	if !s.pause(ctx, x.retry.Next()) {
		return ctx.Err()
	}
	return nil
}

// retryOnce waits until cond holds, and a little, since a refusal may be newer than the events that we know.
func (s *Service) retryOnce(ctx context.Context, x *exchange, cond func() bool) error {
	if err := s.pauseThen(ctx, x); err != nil {
		return err
	}
	return s.await(ctx, x.a, 0, cond)
}

// expectEnd waits for the event that the agent ended: whoever follows it ends ctx with it. Without one, the agent
// was started again meanwhile, and the send is worth another try.
func (s *Service) expectEnd(ctx context.Context, x *exchange) error {
	if found, err := s.agents.FindManagedAgent(ctx, x.a.id); err != nil || found.Gone() {
		s.lost(x.a)
		return errGone
	}
	return s.pauseThen(ctx, x)
}

// settle finds out about a message of which it is not known whether it was taken. The runtime, which remembers keys, is asked
// again first: the call may only have been cut off, and its turn have ended meanwhile. Where it does not know either: if a
// turn begins soon, or began since, the message was taken. Otherwise it is sent again, with another key.
func (s *Service) settle(ctx context.Context, x *exchange) error {
	x.asked++
	last := x.asked > unknownAsks
	limit := x.retry.Next()
	if last {
		limit, x.asked = settleTime, 0
	}
	err := s.await(ctx, x.a, wait(limit), x.taken)
	switch {
	case err == nil:
		return errTaken
	case !errors.Is(err, errLate):
		return err
	case !last:
		return nil
	}
	known, err := s.noted(ctx, x, x.resends)
	switch {
	case err != nil:
		return err
	case known.Shown:
		return errTaken
	}
	if x.resends++; x.resends > maxResends {
		return errUntaken
	}
	x.unsure = true
	_, err = s.noted(ctx, x, x.resends)
	return err
}

// taken reports whether a turn shows that the agent took the work. The caller holds Service.mu.
func (x *exchange) taken() bool {
	st := &x.a.state
	return x.shown || st.turn > x.base || st.began > x.began || st.status == core.ManagedBusy
}

func (s *Service) taken(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return x.taken()
}

// loginAsked reports whether the agent wants a login, or wanted one since it was asked last, and notes that.
func (s *Service) loginAsked(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := x.a.state.login || x.a.state.loginSeq > x.login
	x.login = x.a.state.loginSeq
	return asked
}

// answered takes the answer of a turn once its events are known: what it asked and did comes before its result.
func (s *Service) answered(ctx context.Context, a *agent, r *core.ManagedAgentResponse) (answer, error) {
	err := s.await(ctx, a, wait(foldWait), func() bool { return a.state.turn >= r.Turn })
	if err != nil && !errors.Is(err, errLate) {
		return answer{}, err
	}
	outcome := r.TurnOutcome
	s.mu.Lock()
	if a.state.turn == r.Turn { // an older runtime says it in the event only
		outcome.Interrupted = outcome.Interrupted || a.state.outcome.Interrupted
	}
	s.mu.Unlock()
	return came(a.kind, r.Text, outcome)
}

// came returns the answer of a turn, or the error that it failed with.
func came(kind, text string, outcome wire.TurnOutcome) (answer, error) {
	got := answer{usage: outcome.Usage}
	switch {
	case outcome.Error != nil:
		return got, turnFailed(kind, outcome.Error)
	case outcome.Interrupted:
		return got, errInterrupted
	case outcome.Refused && strings.TrimSpace(text) == "":
		return got, errRefused
	}
	got.text = text
	return got, nil
}

// lastAnswer waits until the agent is idle and returns the answer of its last turn, as its events tell it.
func (s *Service) lastAnswer(ctx context.Context, a *agent) (answer, error) {
	for {
		if err := s.await(ctx, a, 0, a.state.idle); err != nil {
			return answer{}, err
		}
		// The text of a turn may come after the agent is ready, and the record may be behind the events.
		if !s.pause(ctx, time.Second) {
			return answer{}, ctx.Err()
		}
		found, err := s.agents.FindManagedAgent(ctx, a.id)
		if err != nil {
			return answer{}, err
		}
		s.mu.Lock()
		st := a.state
		s.mu.Unlock()
		switch {
		case !st.idle() || st.turn < found.Turn:
			continue
		case st.turn == 0:
			return answer{}, errUntaken
		}
		return came(a.kind, st.text, st.outcome)
	}
}
