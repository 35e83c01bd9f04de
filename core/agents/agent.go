package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
)

// presence is the state of an agent; see the package comment.
type presence uint8

const (
	live presence = iota
	lost
	gone
)

// agent is one entry of the registry. It outlives its connections.
type agent struct {
	id          string
	connectedAt time.Time // this and the next are set before the agent is shared
	hostNotices *hostNotices

	seen   atomic.Int64 // wall clock (ns) of the last frame, for people
	heard  atomic.Int64 // the same by watch, for limits
	watch  core.Stopwatch
	ailing atomic.Bool // missed heartbeats; changed under mu

	slots       slots  // guarded by index.mu
	indexedName string // guarded by index.mu

	saving sync.Mutex // held while the record is written, so that events are stored once and in order

	mu        sync.Mutex // guards all below
	by        maker
	tokenHash [sha256.Size]byte // of the resume token; zeros once it was used up
	presence  presence
	session   *session // of a live agent, else nil
	lostAt    time.Time
	restored  bool // it was lost by a restart, and did not come back since: its grace begins when it can
	lostWhy   string
	leftAt    time.Time // when it was gone

	name         string
	capabilities []string // sorted; replaced, never changed
	region       string
	metadata     map[string]any // replaced, never changed
	maxTasks     int
	taskTimeout  time.Duration // as the agent asked; 0: the server's default
	draining     bool

	tasks  map[string]*held
	done   []core.AgentTask    // the last of those that it had, oldest first; maxDone at most
	listed map[string]struct{} // tasks the agent said it has, at its latest resume
	missed []cancelled         // cancels that could not be sent while it was lost
	resend resend              // messages and replies that may have to be sent again

	threads book // threads that it hosts

	stats   core.AgentStatistics
	changed bool         // differs from the stored record
	events  []core.Event // to be stored with the record
	unsure  *unsure      // events before those that may be stored, or nil
}

// maker is who registered an agent. Only they resume its session. The zero value stands for agents of versions before
// that did not say.
type maker struct {
	kind core.PrincipalKind
	id   string
}

func makerOf(p core.Principal) maker { return maker{p.Kind, p.ID} }

// held is a task that an agent has.
type held struct {
	task     core.Task
	at       time.Time // hand-out
	reported bool      // the agent answered
	answered time.Time // when, if it did
	failed   bool      // the answer is an error
	settled  bool      // the answer is durable
}

// cancelled is a task that the agent should stop working on.
type cancelled struct {
	taskID, executionID, reason string
}

// maxMissed bounds the cancels kept for a lost agent. Beyond it the agent works in vain.
const maxMissed = 1024

// profile is the agent's place in the index. a.mu is held.
func (a *agent) profile() profile {
	model, _ := a.metadata["model"].(string)
	return profile{name: a.name, capabilities: a.capabilities, region: a.region, model: model, max: a.maxTasks}
}

// hearFrom notes that the agent is alive.
func (a *agent) hearFrom(now time.Time) {
	a.seen.Store(now.UnixNano())
	a.heard.Store(a.watch.At(now))
}

// healthy reports whether the agent answers. a.mu is held.
func (a *agent) healthy() bool { return a.presence == live && !a.ailing.Load() }

// refresh tells the index what the agent's state means for it, and returns true when the agent can take a
// task now and could not before. a.mu is held.
func (a *agent) refresh(x *index) bool {
	return x.set(a, a.healthy() && !a.draining, a.presence != gone && !a.draining)
}

// lose makes a live agent lost. a.mu is held.
func (a *agent) lose(x *index, now time.Time, why string) {
	a.presence, a.session, a.lostAt, a.lostWhy, a.restored = lost, nil, now, why, false
	a.listed = nil
	a.refresh(x)
	if a.hosts() {
		a.hostNotices.post(notice{kind: hostAway, agent: a})
	}
}

// leave makes an agent gone, as somebody had it, and returns the tasks it had. a.mu is held; the caller saves the agent and
// tells the sink.
func (a *agent) leave(x *index, ids core.IDs, now time.Time, reason, by string, graceful bool) []string {
	tasks := make([]string, 0, len(a.tasks))
	for id, h := range a.tasks {
		tasks = append(tasks, id)
		a.finish(h, statusLost, now)
	}
	a.presence, a.session, a.leftAt = gone, nil, now
	a.tasks, a.listed, a.missed, a.resend, a.threads = nil, nil, nil, resend{}, book{}
	x.remove(a)
	a.hostNotices.post(notice{kind: hostGone, agent: a}) // one that was lost before a restart may have hosted threads
	a.changed = true
	a.events = append(a.events, event(ids, core.EventAgentDisconnected, a.id, by, now, map[string]any{
		"agentId":           a.id,
		"name":              a.name,
		"reason":            reason,
		"graceful":          graceful,
		"connectedDuration": max(now.Sub(a.connectedAt), 0).Milliseconds(), // the clock may have been set back over a restart
	}))
	return tasks
}

// snapshot is the agent as callers see it. a.mu is held.
func (a *agent) snapshot() core.Agent {
	out := core.Agent{
		ID:            a.id,
		Name:          a.name,
		Status:        core.AgentConnected,
		Healthy:       a.healthy(),
		Capabilities:  a.capabilities,
		Region:        a.region,
		ConnectedAt:   a.connectedAt,
		LastHeartbeat: time.Unix(0, a.seen.Load()).UTC(),
		Metadata:      a.metadata,
		MaxTasks:      a.maxTasks,
		ActiveTasks:   len(a.tasks),
		Statistics:    a.stats,
		CreatedBy:     a.by.id,
	}
	if a.presence == gone {
		left := a.leftAt
		out.Status, out.DisconnectedAt = core.AgentDisconnected, &left
	}
	return out
}

// record is the agent as it is stored. a.mu is held.
func (a *agent) record() *core.AgentRecord {
	return &core.AgentRecord{
		Agent:       a.snapshot(),
		CreatorKind: a.by.kind,
		ResumeHash:  hex.EncodeToString(a.tokenHash[:]),
		Resumable:   a.presence != gone,
	}
}

// restore makes an entry from its stored record. A resumable agent is lost from now on.
func restore(r *core.AgentRecord, watch core.Stopwatch, now time.Time) *agent {
	a := &agent{
		watch:        watch,
		id:           r.ID,
		by:           maker{r.CreatorKind, r.CreatedBy},
		connectedAt:  r.ConnectedAt,
		name:         r.Name,
		capabilities: r.Capabilities,
		region:       r.Region,
		metadata:     r.Metadata,
		maxTasks:     max(1, r.MaxTasks),
		stats:        r.Statistics,
		presence:     gone,
	}
	a.slots.pos = -1
	a.seen.Store(r.LastHeartbeat.UnixNano())
	hash, err := hex.DecodeString(r.ResumeHash)
	if n := copy(a.tokenHash[:], hash); err == nil && n == sha256.Size && r.Resumable && r.Status == core.AgentConnected {
		a.presence, a.lostAt, a.lostWhy = lost, now, "the server restarted and the agent did not come back"
		a.restored = true
		return a
	}
	a.leftAt = now
	if r.DisconnectedAt != nil {
		a.leftAt = *r.DisconnectedAt
	}
	return a
}

// event makes a public event about an agent, put down to a principal: it may be stored with others. data holds plain values, which always encode.
func event(ids core.IDs, kind core.EventType, agentID, by string, now time.Time, data map[string]any) core.Event {
	raw, err := json.Marshal(data)
	if err != nil {
		raw = json.RawMessage("{}")
	}
	return core.Event{ID: ids.New(core.PrefixEvent), Type: kind, Time: now, Subject: agentID, Data: raw, By: by}
}
