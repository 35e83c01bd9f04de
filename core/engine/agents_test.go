package engine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

type time = stdtime.Time

// agents is a core.TaskDispatcher whose agents answer only when the test says so, or by a handler.
type agents struct {
	mu       sync.Mutex
	sink     core.TaskSink
	order    []string
	slots    map[string]int      // free slots by agent
	sizes    map[string]int      // all slots by agent
	offers   map[string][]string // capabilities by agent; one that is not here can do everything
	names    map[string]string   // by agent; one that is not here is called by its id
	inbox    []handed            // tasks handed out and not yet answered
	released []string            // "agent task cancel"
	adopted  map[string]bool
	handled  map[string]int // finished work by task id: what agents really did
	answer   func(agent string, task core.Task) (string, *core.TaskError)
	settled  int
	asked    []asked            // messages sent to agents, in order
	replies  []replied          // replies sent to agents, in order
	reserved func(ids []string) // called after each Reserve, if set
}

type asked struct {
	agent   string
	message core.AgentMessage
}

type replied struct {
	agent string
	reply core.AgentReply
}

type handed struct {
	agent string
	task  core.Task
}

func newAgents() *agents {
	return &agents{slots: map[string]int{}, sizes: map[string]int{}, offers: map[string][]string{}, adopted: map[string]bool{}, handled: map[string]int{}}
}

func (a *agents) setSink(sink core.TaskSink) {
	a.mu.Lock()
	a.sink = sink
	a.mu.Unlock()
}

// offer adds an agent that has only the given capability.
func (a *agents) offer(id string, slots int, capability string) {
	a.mu.Lock()
	a.offers[id] = []string{capability}
	a.mu.Unlock()
	a.add(id, slots)
}

// fits reports whether an agent may be taken. The caller holds mu.
func (a *agents) fits(id string, need core.TaskNeed) bool {
	offered, limited := a.offers[id]
	for _, capability := range need.Capabilities {
		if limited && !slices.Contains(offered, capability) {
			return false
		}
	}
	return !need.Exclude[id]
}

// free returns how many slots an agent has free.
func (a *agents) free(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slots[id]
}

func (a *agents) add(id string, slots int) {
	a.mu.Lock()
	a.order = append(a.order, id)
	a.slots[id], a.sizes[id] = slots, slots
	sink := a.sink
	a.mu.Unlock()
	if sink != nil {
		sink.CapacityChanged()
	}
}

// open gives a busy agent free slots.
func (a *agents) open(id string, slots int) {
	a.mu.Lock()
	a.slots[id], a.sizes[id] = slots, slots
	sink := a.sink
	a.mu.Unlock()
	sink.CapacityChanged()
}

func (a *agents) Reserve(need core.TaskNeed, n int) []string {
	got, reserved := a.reserve(need, n)
	if reserved != nil {
		reserved(got)
	}
	return got
}

func (a *agents) reserve(need core.TaskNeed, n int) (got []string, reserved func([]string)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range a.order {
		if len(got) < n && a.slots[id] > 0 && a.fits(id, need) {
			a.slots[id]--
			got = append(got, id)
		}
	}
	return got, a.reserved
}

// Slots counts those that are free, and the tasks that are out.
func (a *agents) Slots(need core.TaskNeed) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]int{}
	for _, id := range a.order {
		if a.fits(id, need) {
			out[id] = max(a.sizes[id], a.slots[id])
		}
	}
	return out
}

func (a *agents) CountCapable(need core.TaskNeed) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, id := range a.order {
		if a.fits(id, need) {
			n++
		}
	}
	return n
}

func (a *agents) Dispatch(agent string, task core.Task) bool {
	a.mu.Lock()
	if _, ok := a.slots[agent]; !ok {
		a.mu.Unlock()
		return false
	}
	a.inbox = append(a.inbox, handed{agent, task})
	answer := a.answer
	a.mu.Unlock()
	if answer != nil {
		result, failure := answer(agent, task)
		a.report(agent, task, result, failure)
	}
	return true
}

func (a *agents) Adopt(agent string, task core.Task) bool {
	a.mu.Lock()
	if _, ok := a.slots[agent]; !ok {
		a.mu.Unlock()
		return false
	}
	a.adopted[task.ID] = true
	a.inbox = append(a.inbox, handed{agent, task})
	answer := a.answer
	a.mu.Unlock()
	if answer != nil {
		result, failure := answer(agent, task)
		a.report(agent, task, result, failure)
	}
	return true
}

func (a *agents) Release(agent, task, cancel string) {
	a.mu.Lock()
	a.released = append(a.released, fmt.Sprintf("%s %s %s", agent, task, cancel))
	if _, ok := a.slots[agent]; ok {
		a.slots[agent]++
	}
	a.inbox = slices.DeleteFunc(a.inbox, func(h handed) bool { return h.agent == agent && h.task.ID == task })
	sink := a.sink
	a.mu.Unlock()
	sink.CapacityChanged()
}

// Keep implements core.TaskCarrier.
func (a *agents) Keep(agent, task, cancel string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.released = append(a.released, fmt.Sprintf("%s %s %s", agent, task, cancel))
	a.inbox = slices.DeleteFunc(a.inbox, func(h handed) bool { return h.agent == agent && h.task.ID == task })
}

// Hold implements core.TaskDispatcher.
func (a *agents) AgentName(agent string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.names[agent], agent)
}

func (a *agents) Hold(agent string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.slots[agent]; !ok {
		return false
	}
	a.slots[agent]--
	return true
}

// Ask implements core.TaskCarrier.
func (a *agents) Ask(agent string, m core.AgentMessage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.slots[agent]; !ok {
		return false
	}
	a.asked = append(a.asked, asked{agent, m})
	return true
}

// Reply implements core.TaskCarrier.
func (a *agents) Reply(agent string, m core.AgentReply) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.slots[agent]; !ok {
		return false
	}
	a.replies = append(a.replies, replied{agent, m})
	return true
}

// report sends an answer to the engine.
func (a *agents) report(agent string, task core.Task, result string, failure *core.TaskError) {
	a.mu.Lock()
	if failure == nil {
		a.handled[task.ID]++
	}
	sink := a.sink
	a.mu.Unlock()
	sink.TaskReported(core.TaskReport{
		AgentID: agent, AgentName: a.AgentName(agent), TaskID: task.ID, ExecutionID: task.ExecutionID, Attempt: task.Attempt,
		Result: json.RawMessage(result), Err: failure,
		Settled: func() {
			a.mu.Lock()
			a.settled++
			a.mu.Unlock()
		},
	})
}

// lose drops an agent for good.
func (a *agents) lose(agent string) {
	a.mu.Lock()
	delete(a.slots, agent)
	a.order = slices.DeleteFunc(a.order, func(id string) bool { return id == agent })
	var tasks []string
	a.inbox = slices.DeleteFunc(a.inbox, func(h handed) bool {
		if h.agent == agent {
			tasks = append(tasks, h.task.ID)
		}
		return h.agent == agent
	})
	sink := a.sink
	a.mu.Unlock()
	sink.AgentLost(agent, tasks)
}

// held returns the tasks that are out.
func (a *agents) held() []handed {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.inbox)
}

// await waits until n tasks are out and returns them.
func (a *agents) await(tb testing.TB, n int) []handed {
	tb.Helper()
	coretest.WaitFor(tb, fmt.Sprintf("%d tasks at agents", n), func() bool { return len(a.held()) == n })
	return a.held()
}

func (a *agents) settledCount() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.settled
}

// echo makes every agent answer at once with its own id, but to the tasks that are out, which it returns.
func (a *agents) echo() []handed {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = func(agent string, _ core.Task) (string, *core.TaskError) {
		return fmt.Sprintf(`{"by":%q,"confidence":0.5}`, agent), nil
	}
	return slices.Clone(a.inbox)
}
