package agents

import (
	"slices"
	"strings"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// maxCachedNeeds bounds the cache of which classes fit a need. Patterns name few distinct sets.
const maxCachedNeeds = 1024

// index answers which agents can take a task. Agents that are alike for a need (same capabilities, region
// and model) form a class; each class keeps those that can take a task now in a heap, best first. So a
// reservation costs a step per fitting class and a logarithm of its size, however many agents there are.
type index struct {
	mu      sync.Mutex // guards all below, and slots of every agent
	agents  map[string]*agent
	classes map[classKey]*class
	names   map[string][]*agent
	needs   map[string][]*class // fitting classes by joined capabilities; dropped when classes change
	used    uint64              // rises with each reservation: the order of use

	key     []byte   // scratch of fitting
	skipped []*agent // scratch of Reserve

	changed func() // called when an agent opens or closes; or nil
}

// slots is the index's view of one agent.
type slots struct {
	class    *class
	pos      int    // in class.ready, or -1
	reserved int    // slots taken by Reserve and not yet used
	tasks    int    // tasks held
	max      int    // tasks it takes at once
	lastUse  uint64 // index.used when it was reserved last
	open     bool   // live, healthy and not draining
	counted  bool   // counts as capable: not gone and not draining
}

func (s *slots) busy() int  { return s.reserved + s.tasks }
func (s *slots) free() bool { return s.open && s.busy() < s.max }

type classKey struct{ capabilities, region, model string }

// class is a set of agents that are alike.
type class struct {
	key          classKey
	capabilities []string // sorted
	members      int
	counted      int      // members that count as capable
	ready        []*agent // heap of the members with a free slot
}

func newIndex() *index {
	return &index{
		agents:  map[string]*agent{},
		classes: map[classKey]*class{},
		names:   map[string][]*agent{},
		needs:   map[string][]*class{},
	}
}

// fits reports whether the class has all capabilities.
func (c *class) fits(capabilities []string) bool {
	for _, want := range capabilities {
		if _, ok := slices.BinarySearch(c.capabilities, want); !ok {
			return false
		}
	}
	return true
}

// score ranks a class by preference, names apart.
func (c *class) score(p core.AgentPreference) int {
	score := 0
	if p.Region != "" && p.Region == c.key.region {
		score += 2
	}
	if p.Model != "" && p.Model == c.key.model {
		score++
	}
	return score
}

// profile is what places an agent in the index.
type profile struct {
	name         string
	capabilities []string // sorted
	region       string
	model        string
	max          int
}

// place puts the agent into its class, or moves it when its profile changed.
func (x *index) place(a *agent, p profile) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old, ok := x.agents[a.id]; ok {
		x.unlist(old)
	}
	key := classKey{strings.Join(p.capabilities, "\x00"), p.region, p.model}
	c := x.classes[key]
	if c == nil {
		c = &class{key: key, capabilities: p.capabilities}
		x.classes[key] = c
		clear(x.needs)
	}
	a.slots.class, a.slots.pos, a.slots.max = c, -1, p.max
	c.members++
	if a.slots.counted {
		c.counted++
	}
	x.agents[a.id] = a
	x.names[p.name] = append(x.names[p.name], a)
	a.indexedName = p.name
	x.settle(a)
}

// remove takes the agent out, with all its slots.
func (x *index) remove(a *agent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.agents[a.id]; !ok {
		return
	}
	x.unlist(a)
	delete(x.agents, a.id)
	a.slots = slots{pos: -1}
}

// unlist undoes place but for the slots in use.
func (x *index) unlist(a *agent) {
	c := a.slots.class
	if a.slots.pos >= 0 {
		c.pull(a.slots.pos)
	}
	c.members--
	if a.slots.counted {
		c.counted--
	}
	if c.members == 0 {
		delete(x.classes, c.key)
		clear(x.needs)
	}
	same := x.names[a.indexedName]
	if i := slices.Index(same, a); i >= 0 {
		same[i] = same[len(same)-1]
		same[len(same)-1] = nil
		same = same[:len(same)-1]
	}
	if len(same) == 0 {
		delete(x.names, a.indexedName)
	} else {
		x.names[a.indexedName] = same
	}
	a.slots.class = nil
}

// set records whether the agent may take tasks and counts as capable. It returns true when the agent can take
// a task now and could not before.
func (x *index) set(a *agent, open, counted bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := a.slots.pos >= 0
	if a.slots.open != open && x.changed != nil {
		x.changed()
	}
	a.slots.open = open
	if c := a.slots.class; c != nil && a.slots.counted != counted {
		if counted {
			c.counted++
		} else {
			c.counted--
		}
	}
	a.slots.counted = counted
	x.settle(a)
	return !before && a.slots.pos >= 0
}

// use turns a reserved slot into a held task. Without a reservation the task takes a slot anyway: the
// caller knows better than the count.
func (x *index) use(a *agent, tasks int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if a.slots.reserved > 0 {
		a.slots.reserved--
	}
	a.slots.tasks = tasks
	x.settle(a)
}

// hold sets the number of held tasks. It returns true when the agent can take a task now and could not
// before.
func (x *index) hold(a *agent, tasks int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := a.slots.pos >= 0
	a.slots.tasks = tasks
	x.settle(a)
	return !before && a.slots.pos >= 0
}

// keep sets the number of held tasks after one ended, and reserves its slot in the same step, so that no
// reservation comes in between.
func (x *index) keep(a *agent, tasks int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	a.slots.tasks = tasks
	a.slots.reserved++
	x.settle(a)
}

// reserveThis takes a slot of this very agent, beyond what it offers if need be.
func (x *index) reserveThis(a *agent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.take(a)
	x.settle(a)
}

// idle reports whether the agent holds no task and no slot of it is reserved.
func (x *index) idle(a *agent) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return a.slots.busy() == 0
}

// unreserve gives back one reserved slot, and returns as hold does.
func (x *index) unreserve(a *agent) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if a.slots.reserved == 0 {
		return false
	}
	before := a.slots.pos >= 0
	a.slots.reserved--
	x.settle(a)
	return !before && a.slots.pos >= 0
}

// settle puts the agent where it belongs in the heap of its class after its slots changed.
func (x *index) settle(a *agent) {
	c := a.slots.class
	if c == nil {
		return
	}
	switch free := a.slots.free(); {
	case free && a.slots.pos < 0:
		c.push(a)
	case free:
		c.fix(a.slots.pos)
	case a.slots.pos >= 0:
		c.pull(a.slots.pos)
	}
}

// fitting returns the classes that have all capabilities.
func (x *index) fitting(capabilities []string) []*class {
	x.key = x.key[:0]
	for _, c := range capabilities {
		x.key = append(append(x.key, c...), 0)
	}
	if found, ok := x.needs[string(x.key)]; ok {
		return found
	}
	var found []*class
	for _, c := range x.classes {
		if c.fits(capabilities) {
			found = append(found, c)
		}
	}
	if len(x.needs) >= maxCachedNeeds {
		clear(x.needs)
	}
	x.needs[string(x.key)] = found
	return found
}
