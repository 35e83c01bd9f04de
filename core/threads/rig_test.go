package threads_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/threads"
)

// rig is a service over things that outlive it.
type rig struct {
	t      *testing.T
	ctx    context.Context
	clock  core.Clock
	ids    core.IDs
	store  *memStore
	agents *fakeAgents
	spaces *fakeSpaces
	memory *fakeMemory
	hosts  *fakeHosts
	config threads.Config
	// observer is told of what happens, if it is not nil.
	observer threads.Observer
	// meanwhile is called while a spawn or a continuation is checked, if it is not nil.
	meanwhile func()
	// opens is whether what belongs to one execution would be open to others in another one, if it is not nil.
	opens func(from, to string) bool
	*threads.Service
}

func newRig(t *testing.T, clock core.Clock) *rig {
	t.Helper()
	store := newMemStore(t, clock)
	r := &rig{
		t: t, ctx: context.Background(), clock: clock, ids: core.NewIDs(clock), store: store, agents: newFakeAgents(store),
		spaces: &fakeSpaces{store: store, ids: core.NewIDs(clock)}, memory: &fakeMemory{ids: core.NewIDs(clock)}, hosts: &fakeHosts{},
		config: threads.Config{MaxRestarts: 3},
	}
	t.Cleanup(func() {
		if r.Service != nil {
			r.Close()
		}
	})
	return r
}

func (r *rig) make() *threads.Service {
	return threads.New(threads.Options{
		Store: r.store, Streams: r.store, ManagedAgents: r.agents, Hosts: r.hosts, Workspaces: r.spaces, Memory: r.memory,
		Clock: r.clock, IDs: r.ids, Config: r.config, SealKey: [32]byte{1, 2, 3}, Observer: r.observer, Opens: r.opens,
		AgentTypes: func(context.Context) []string {
			if r.meanwhile != nil {
				r.meanwhile()
			}
			return []string{"claude", "codex", "gemini", "shell"}
		},
	})
}

func (r *rig) open() *rig {
	r.t.Helper()
	r.Service = r.make()
	if err := r.Open(r.ctx); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// reopen is a crash and a new start.
func (r *rig) reopen() {
	r.t.Helper()
	r.Close()
	r.open()
}

func spec() core.ThreadSpec {
	return core.ThreadSpec{ExecutionID: core.NewExecution, AgentType: "claude", Role: "coder", Objective: "Fix the parser"}
}

func (r *rig) spawn(s core.ThreadSpec) *core.Thread {
	r.t.Helper()
	th, err := r.SpawnThread(r.ctx, s)
	if err != nil {
		r.t.Fatal(err)
	}
	return th
}

func (r *rig) record(id string) *core.ThreadRecord {
	r.t.Helper()
	rec, err := r.store.FindThread(r.ctx, id)
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// until waits for a thread to be as cond says.
func (r *rig) until(id, what string, cond func(*core.ThreadRecord) bool) *core.ThreadRecord {
	r.t.Helper()
	var last *core.ThreadRecord
	defer func() {
		if r.t.Failed() && last != nil {
			r.t.Logf("thread is %s (%s), ending %+v, events %v", last.Status, last.StatusReason, last.Ending, r.kinds(id))
		}
	}()
	coretest.WaitFor(r.t, what, func() bool {
		last = r.record(id)
		return cond(last)
	})
	return last
}

func (r *rig) untilStatus(id string, status core.ThreadStatus) *core.ThreadRecord {
	r.t.Helper()
	return r.until(id, "the thread to be "+string(status), func(rec *core.ThreadRecord) bool { return rec.Status == status })
}

// kinds are the types of the events of a thread, with the word of a thread_status. Messages are left out: when they come
// is up to who sends them.
func (r *rig) kinds(id string) []string {
	r.store.Put(func(core.Tx) error { return nil }) // events are read a moment after what they follow from
	page, _, err := r.store.Events(r.ctx, id, 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for _, e := range page {
		if e.Type == core.EventThreadInput {
			continue
		}
		kind := string(e.Type)
		if e.Type == core.EventThreadStatus {
			kind += " " + field(e, "status")
		}
		if kind == "thread_status input_turn" { // it depends on whether the turn ended before the agent was known to have the message
			continue
		}
		list = append(list, kind)
	}
	group, _, err := r.store.Events(r.ctx, core.ThreadGroup(r.record(id).ExecutionID), 0, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range page {
		if !slices.ContainsFunc(group, func(g core.Event) bool { return g.Seq == e.Seq && g.Subject == id }) {
			r.t.Errorf("event %s is not in the group of its execution", e.Type)
		}
	}
	return list
}

func (r *rig) wantKinds(id string, want ...string) {
	r.t.Helper()
	if got := r.kinds(id); !slices.Equal(got, want) {
		r.t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

// fakeSpaces is workspaces without files.
type fakeSpaces struct {
	core.WorkspaceService
	store *memStore
	ids   core.IDs

	mu       sync.Mutex // guards all below
	files    map[string][]core.ContextFile
	finished int
	// provision and finish decide what becomes of a call, if they are not nil.
	provision func(ctx context.Context) error
	finish    func() error
	update    func()
}

func (f *fakeSpaces) ReserveWorkspace(ctx context.Context, req core.WorkspaceRequest) (*core.Workspace, error) {
	w := &core.Workspace{
		ID: f.ids.New(core.PrefixWorkspace), ThreadID: req.ThreadID, ExecutionID: req.ExecutionID, Status: core.WorkspaceReserved,
		Repo: req.Spec.Repo, Branch: req.Spec.Branch, WorkBranch: "wardroom/x",
	}
	w.Path = "/spaces/" + w.ID
	f.put(w)
	return w, nil
}

func (f *fakeSpaces) AdoptWorkspace(tx core.WorkspaceTx, id, threadID, executionID string) (*core.Workspace, error) {
	w, err := tx.FindWorkspace(id)
	if err != nil {
		return nil, err
	}
	if w.ThreadID != "" && w.ThreadID != threadID && w.Status != core.WorkspaceReleased {
		return nil, core.Conflict("workspace", id, string(w.Status), "taken")
	}
	w.ThreadID, w.ExecutionID = threadID, executionID
	return w, tx.PutWorkspace(w)
}

func (f *fakeSpaces) ProvisionWorkspace(ctx context.Context, id string) (*core.Workspace, error) {
	if f.provision != nil {
		if err := f.provision(ctx); err != nil {
			return nil, err
		}
	}
	w := f.workspace(id)
	w.Status = core.WorkspaceReady
	f.put(w)
	return w, nil
}

func (f *fakeSpaces) FindWorkspace(ctx context.Context, id string) (*core.Workspace, error) {
	return f.store.FindWorkspace(ctx, id)
}

// put stores a workspace as it is, whatever the store refuses otherwise.
func (f *fakeSpaces) put(w *core.Workspace) {
	f.store.Put(func(tx core.Tx) error { return tx.PutWorkspace(w) })
}

func (f *fakeSpaces) workspace(id string) *core.Workspace {
	w, err := f.store.FindWorkspace(context.Background(), id)
	if err != nil {
		panic(err)
	}
	return w
}

func (f *fakeSpaces) WriteContext(_ context.Context, id, threadID string, files []core.ContextFile) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files == nil {
		f.files = map[string][]core.ContextFile{}
	}
	if w := f.workspace(id); w.ThreadID != threadID {
		return core.Conflict("workspace", id, string(w.Status), "the workspace is of another thread")
	}
	f.files[id] = files
	return nil
}

func (f *fakeSpaces) CheckContext(files []core.ContextFile) error {
	for i, file := range files {
		if file.Path == "../out" {
			return core.Invalid(fmt.Sprintf("preparation.contextFiles[%d].path", i), "leaves the workspace")
		}
	}
	return nil
}

func (f *fakeSpaces) CheckFinish(spec *core.WorkspaceSpec, finish *core.ThreadFinish) error {
	if finish != nil && finish.Push && (spec == nil || spec.Repo == "") {
		return core.Invalid("policy.finish", "there is no repository")
	}
	return nil
}

func (f *fakeSpaces) InspectWorkspace(context.Context, string) (*core.WorkspaceChanges, error) {
	return &core.WorkspaceChanges{CommitCount: 1, Commits: []core.WorkspaceCommit{{Hash: "abc"}}, FileCount: 1}, nil
}

func (f *fakeSpaces) FinishWorkspace(context.Context, string, core.ThreadFinish, string) ([]core.Artifact, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.finished++
	if f.finish != nil {
		if err := f.finish(); err != nil {
			return nil, err
		}
	}
	return []core.Artifact{{Type: core.ArtifactCommit, Value: "abc"}}, nil
}

func (f *fakeSpaces) ReleaseWorkspace(tx core.WorkspaceTx, id string) error {
	w, err := tx.FindWorkspace(id)
	if err != nil {
		return err
	}
	w.Status = core.WorkspaceReleased
	return tx.PutWorkspace(w)
}

func (f *fakeSpaces) UpdateWorkspace(_ context.Context, id string, how core.WorkspaceUpdateMethod) (*core.WorkspaceUpdate, error) {
	if f.update != nil {
		f.update()
	}
	return &core.WorkspaceUpdate{WorkspaceID: id, Branch: string(how), Changed: true}, nil
}

func (f *fakeSpaces) ResolveWorkspace(spec *core.WorkspaceSpec) (*core.WorkspaceSpec, error) {
	if spec == nil {
		return nil, nil
	}
	if spec.Repo == "nowhere" {
		return nil, core.Invalid("preparation.workspace.repo", "is no repository")
	}
	out := *spec
	out.Repo = "https://git.example.com/" + spec.Repo + ".git"
	return &out, nil
}

func (f *fakeSpaces) GitEnv(string) map[string]string {
	return map[string]string{"GIT_AUTHOR_NAME": "wardroom"}
}

// fakeMemory keeps what it gets.
type fakeMemory struct {
	core.MemoryService
	ids core.IDs
}

func (f *fakeMemory) Recall(_ context.Context, q core.MemoryQuery) (*core.MemoryContext, error) {
	return &core.MemoryContext{
		MemoryQuery: q, Decisions: []*core.Decision{{}},
		File: core.ContextFile{Path: core.ThreadMemoryPath, Content: "# " + q.Objective},
	}, nil
}

func (f *fakeMemory) KeepDecision(tx core.Tx, d *core.Decision) error {
	d.ID = f.ids.New(core.PrefixDecision)
	return tx.PutDecision(d)
}

func (f *fakeMemory) KeepExperience(tx core.Tx, e *core.Experience) error {
	e.ID = f.ids.New(core.PrefixMemory)
	return tx.PutExperience(e)
}

func (f *fakeMemory) Kept(...*core.Experience) {}

// fakeHosts notes what hosts are asked for.
type fakeHosts struct {
	mu      sync.Mutex // guards all below
	hosts   []core.RemoteHost
	spawned []core.RemoteThread
	inputs  []core.RemoteInput
	stopped []string
	forgot  []string
	gone    bool
	away    string            // type that one hosts that may come back
	back    []core.RemoteHost // those that come back as soon as it was asked who is away
	// spawn, input and stop, if they are not nil, say what the host does; called without mu, on a goroutine of the caller.
	spawn func(core.RemoteThread)
	input func(core.RemoteInput)
	stop  func(threadID string)
}

func (f *fakeHosts) Hosts() []core.RemoteHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.hosts)
}

func (f *fakeHosts) HostAway(agentType string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts, f.back = append(f.hosts, f.back...), nil
	return f.away == agentType
}

func (f *fakeHosts) SpawnThread(_ string, t core.RemoteThread) bool {
	f.mu.Lock()
	f.spawned = append(f.spawned, t)
	gone, then := f.gone, f.spawn
	f.mu.Unlock()
	if then != nil && !gone {
		then(t)
	}
	return !gone
}

func (f *fakeHosts) InputThread(_ string, in core.RemoteInput) bool {
	f.mu.Lock()
	f.inputs = append(f.inputs, in)
	gone, then := f.gone, f.input
	f.mu.Unlock()
	if then != nil && !gone {
		then(in)
	}
	return !gone
}

func (f *fakeHosts) StopThread(_, threadID, _ string, _ bool) bool {
	f.mu.Lock()
	f.stopped = append(f.stopped, threadID)
	gone, then := f.gone, f.stop
	f.mu.Unlock()
	if then != nil && !gone {
		then(threadID)
	}
	return !gone
}

func (f *fakeHosts) ForgetThread(_, threadID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgot = append(f.forgot, threadID)
}

// blockUntil is a step of preparation that takes until gate is closed, or its caller leaves.
func blockUntil(gate <-chan struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
