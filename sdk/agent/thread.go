package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/internal/clip"
)

// Causes of a thread's cancelled context, besides ErrStopped and ErrReassigned.
var (
	// ErrThreadOver: the thread has ended.
	ErrThreadOver = errors.New("agent: the thread is over")
	// ErrThreadStopped: the server asked to stop the thread.
	ErrThreadStopped = errors.New("agent: the thread is to stop")
)

// ThreadHost runs threads for the server: long-lived agents that get messages, ask questions, and tell what they do.
// Contexts end when the thread is to stop or has ended, when the server forgot the session, and when the agent stops.
//
// The calls for one thread come in this order: Spawn or Adopt, then Message and the other inputs, then Stop. Messages
// come one at a time, and so do the other inputs, but one of each kind may run at once: an answer must get through
// to an agent that is in the middle of a message. Calls for different threads run concurrently.
type ThreadHost interface {
	// Spawn starts the agent of a thread, as t.Spec says. It may take its time; nothing that is reported meanwhile is
	// sent before it returned. After an error the thread is refused; what was begun is to be undone by Spawn itself.
	// It may be asked again for a thread that it spawned, if the process ended before the server knew.
	Spawn(ctx context.Context, t *Thread) error
	// Message gives the agent a message and returns when the agent took it, or later. The host tells that by
	// Thread.Tell with InputTaken, with the event of the turn that the message began; if it does not, the return
	// tells it. A message may come again with the same id, if the process ended before the server knew.
	Message(ctx context.Context, t *Thread, m ThreadMessage) error
	// Answer answers the prompt that the agent is blocked on.
	Answer(ctx context.Context, t *Thread, a protocol.ThreadAnswer) error
	// Stop ends the agent, and returns once nothing of it is left. An event of type stopped is reported for it, if it
	// told none. It may be called again, with force, while it runs.
	Stop(ctx context.Context, t *Thread, s protocol.ThreadStop) error
}

// ThreadTyper is a ThreadHost whose agents have a terminal.
type ThreadTyper interface {
	// Type sends raw bytes or keys to the terminal at once; one of them is set.
	Type(ctx context.Context, t *Thread, id, raw string, keys []string) error
}

// ThreadAdopter is a ThreadHost whose agents outlive the process: with ThreadOptions.StateDir they are found again.
type ThreadAdopter interface {
	// Adopt takes up a thread of an earlier process. mark is that of the last event that was reported. It must not
	// block: what it has to look up, it looks up on a goroutine of its own, until ctx, which is that of the thread,
	// ends. An agent that is gone has an event of type stopped told for it.
	Adopt(ctx context.Context, t *Thread, mark string)
}

// ThreadMessage is a message for an agent.
type ThreadMessage struct {
	ID   string
	Text string
}

// ThreadOptions offer to host threads. Max, Types and Host are required.
type ThreadOptions struct {
	// Max is how many threads the server may have here at once.
	Max int
	// Types are the agent types that the host can start.
	Types []string
	// Host runs the threads.
	Host ThreadHost
	// StateDir, when set, keeps what was reported of each thread until the server has it, so that threads outlive the
	// process: its end does not stop them, and the server holds them for a resume. Host must be a ThreadAdopter,
	// and Options.StateFile must be set. The directory is made with mode 0700; what agents said lies in it in the
	// clear. It lasts over a loss of power: what was told is synced to the disk before it is sent.
	StateDir string
}

// check returns every problem of o.
func (o *ThreadOptions) check(stateFile string) error {
	var problems []error
	if o.Max < 1 {
		problems = append(problems, fmt.Errorf("threads: max is %d, must be at least 1", o.Max))
	}
	if len(o.Types) == 0 {
		problems = append(problems, errors.New("threads: types are empty: no thread could ever be asked for"))
	}
	if o.Host == nil {
		problems = append(problems, errors.New("threads: host is nil"))
	}
	if o.StateDir != "" {
		if _, ok := o.Host.(ThreadAdopter); !ok {
			problems = append(problems, errors.New("threads: a state directory needs a host that is a ThreadAdopter"))
		}
		if stateFile == "" {
			problems = append(problems, errors.New("threads: a state directory needs a state file, or no session could be resumed"))
		}
	}
	return errors.Join(problems...)
}

// ThreadEvent is one thing that happened to a thread; see the types of package protocol.
type ThreadEvent struct {
	Type string
	Data protocol.ThreadData
	// SessionID is the agent's own id of its session, if it is known.
	SessionID string
	// InputTaken is the id of a message that the agent took.
	InputTaken string
	// Mark is kept with the event and given to Adopt: a place in the host's own log. "" is that of the event before.
	Mark string
}

// Thread is a thread that this agent hosts. Methods are safe for concurrent use.
type Thread struct {
	// Spec describes the thread that the server asked for. Env and ContextFiles are empty in a thread that was adopted.
	Spec protocol.ThreadSpawn

	owner  *threads
	ctx    context.Context // of the thread, until it is over
	cancel context.CancelCauseFunc

	telling chan struct{} // capacity 1: held while an event gets its sequence, so that the order is that of Tell

	entry threadEntry // guarded by threads.mu
}

// Context ends when the thread is over, with the cause.
func (t *Thread) Context() context.Context { return t.ctx }

// Tell tells the server an event. It is kept until the server has it durably. Tell blocks while too much waits: a
// host that cannot be held up has to drop something by itself. It returns ErrThreadOver after the event stopped, and
// the cause of a context that ended.
func (t *Thread) Tell(ctx context.Context, e ThreadEvent) error {
	select {
	case t.telling <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.ctx.Done():
		return t.gone()
	}
	defer func() { <-t.telling }()
	if e.Data.OccurredAt.IsZero() {
		e.Data.OccurredAt = time.Now().UTC()
	}
	return t.owner.tell(ctx, t, e)
}

// gone is why nothing can be told any more.
func (t *Thread) gone() error {
	if cause := context.Cause(t.ctx); cause != nil {
		return cause
	}
	return ErrThreadOver
}

// Ready reports that the agent waits for a message.
func (t *Thread) Ready(ctx context.Context) error {
	return t.Tell(ctx, ThreadEvent{Type: protocol.ThreadReady})
}

// Busy reports that the agent took a message and works on it.
func (t *Thread) Busy(ctx context.Context, m ThreadMessage) error {
	return t.Tell(ctx, ThreadEvent{Type: protocol.ThreadBusy, InputTaken: m.ID})
}

// Say reports what the agent said.
func (t *Thread) Say(ctx context.Context, text string) error {
	return t.Tell(ctx, ThreadEvent{Type: protocol.ThreadMessage, Data: protocol.ThreadData{Text: text}})
}

// TurnComplete reports that a turn ended, counting from 1, with what the agent said last.
func (t *Thread) TurnComplete(ctx context.Context, turn int, text string) error {
	return t.Tell(ctx, ThreadEvent{Type: protocol.ThreadTurnComplete, Data: protocol.ThreadData{Turn: turn, Text: text}})
}

// Stopped reports that the agent ended. It is the last event of a thread.
func (t *Thread) Stopped(ctx context.Context, reason string) error {
	return t.Tell(ctx, ThreadEvent{Type: protocol.ThreadStopped, Data: protocol.ThreadData{Reason: reason}})
}

// Bounds of what an event may hold.
const (
	maxThreadText    = 256 << 10
	eventOverhead    = 1024    // of the envelope and the plain fields
	defaultEventSize = 1 << 20 // while the server did not say how much it takes
)

// encodeThreadEvent encodes an event so that it fits into limit bytes; 0: the server did not say. What is too much
// is left out: first the input of tools, then text.
func encodeThreadEvent(e *protocol.ThreadEvent, limit int64) ([]byte, error) {
	limit = cmp.Or(max(limit, 0), defaultEventSize)
	limit = max(limit-eventOverhead, eventOverhead)
	if len(e.Data.Text) > maxThreadText {
		e.Data.Text, e.Data.Truncated = clip.Text(e.Data.Text, maxThreadText), true
	}
	raw, err := encodeText(e)
	if err != nil { // a tool's input that is not JSON
		dropInputs(&e.Data)
		raw, err = encodeText(e)
	}
	if err == nil && int64(len(raw)) > limit {
		dropInputs(&e.Data)
		raw, err = encodeText(e)
	}
	for err == nil && int64(len(raw)) > limit && len(e.Data.Text)+promptLen(&e.Data) > 0 {
		e.Data.Text = clip.Text(e.Data.Text, len(e.Data.Text)/2)
		e.Data.Truncated = true
		if p := e.Data.Prompt; p != nil {
			shorter := *p
			shorter.Text = clip.Text(p.Text, len(p.Text)/2)
			e.Data.Prompt = &shorter
		}
		raw, err = encodeText(e)
	}
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("agent: an event of %d bytes is more than the server takes", len(raw))
	}
	return raw, err
}

func promptLen(d *protocol.ThreadData) int {
	if d.Prompt == nil {
		return 0
	}
	return len(d.Prompt.Text)
}

// dropInputs leaves out what tools were called with, without touching what the caller holds.
func dropInputs(d *protocol.ThreadData) {
	if d.Tool != nil {
		d.Tool = &protocol.ThreadTool{Name: d.Tool.Name}
	}
	if d.Prompt != nil {
		p := *d.Prompt
		p.Input = nil
		d.Prompt = &p
	}
}
