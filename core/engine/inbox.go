package engine

import (
	"encoding/json"
	"sync"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// message is one thing that happened to a run. Exactly one of the fields is meant, by kind.
type message struct {
	kind   messageKind
	report *core.TaskReport
	agents []string // reserved for this run
	slot   bool     // of msgAgents: a slot was granted too
	youth  *youth   // of msgAgents: of an execution that begins now
	ticket uint64   // of msgAgents: the request it answers
	agent  string
	task   string
	reason string
	by     string // of msgCancel: the principal who cancels
	data   json.RawMessage
	reply  chan<- cancelReply

	grants   []roleGrant // of msgAgents to an org chart: by what it stood in line for; agents has all of them
	spawned  *spawnReport
	exchange exchangeMessage
}

type messageKind uint8

const (
	msgReport   messageKind = iota // an agent reported on a task
	msgProgress                    // an agent reported progress
	msgLost                        // the agent that holds a task is gone
	msgAgents                      // the scheduler reserved agents for the run
	msgCancel                      // a caller cancels
	msgLook                        // an agent was lost for good: are there enough left?
	msgSpawned                     // an agent was spawned for a role, or not
	msgExchange                    // a message between roles, or an answer to a question; exchange says what
)

// cancelReply answers msgCancel once the outcome is durable.
type cancelReply struct {
	execution *core.Execution
	err       error
}

// maxProgress is how many messages may wait when progress is still taken in. Nothing else bounds it while
// the store refuses writes, and it is for those who watch now.
const maxProgress = 64

// inbox is an unbounded queue with one reader. It is bounded in effect: a run has few tasks, and the
// agents package bounds the reports in flight of each session.
type inbox struct {
	ready chan struct{} // holds one token while messages wait

	mu       sync.Mutex // guards all below
	messages []message
	spare    []message
	due      bool // the run's timer fired
	closed   bool
}

func newInbox() inbox {
	return inbox{ready: make(chan struct{}, 1)}
}

// put adds a message and returns false if the reader is gone.
func (b *inbox) put(m message) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	if m.kind == msgProgress && len(b.messages) >= maxProgress {
		b.mu.Unlock()
		return true
	}
	b.messages = append(b.messages, m)
	first := len(b.messages) == 1
	b.mu.Unlock()
	if first {
		b.wake()
	}
	return true
}

// fire has the reader see that the run's timer fired. It returns false if the reader is gone.
func (b *inbox) fire() bool {
	b.mu.Lock()
	closed := b.closed
	b.due = !closed
	b.mu.Unlock()
	if !closed {
		b.wake()
	}
	return !closed
}

func (b *inbox) wake() { pause.Wake(b.ready) }

// take returns all waiting messages, and whether the timer fired since the last take. The slice is valid until the next one.
func (b *inbox) take() (messages []message, due bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	messages, due = b.messages, b.due
	clear(b.spare)
	b.messages = b.spare[:0]
	b.spare, b.due = messages, false
	return messages, due
}

// close refuses further messages and returns those that wait.
func (b *inbox) close() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	out := b.messages
	b.messages, b.spare = nil, nil
	return out
}
