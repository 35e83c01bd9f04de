package edge_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/edge"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// flakyRuntime is a fakeRuntime that fails some calls before it does what it is for.
type flakyRuntime struct {
	*fakeRuntime
	lost  atomic.Int64 // answers of Spawn that get lost, still to come
	stops atomic.Int64 // refusals of Stop, still to come
	hangs bool         // Spawn starts the agent, and answers when its caller has given up
	stuck string       // id of an agent that is listed first, and is never stopped
}

func (f *flakyRuntime) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	a, err := f.fakeRuntime.Spawn(ctx, spec)
	switch {
	case f.hangs:
		<-ctx.Done()
		return runtime.Agent{}, runtime.Errorf(runtime.CodeCanceled, "the caller went away")
	case f.lost.Add(-1) >= 0:
		return runtime.Agent{}, runtime.Errorf(runtime.CodeUnavailable, "the connection broke")
	}
	return a, err
}

func (f *flakyRuntime) Stop(ctx context.Context, id string, opts runtime.StopOptions) error {
	if f.stops.Add(-1) >= 0 || id == f.stuck {
		return runtime.Errorf(runtime.CodeUnavailable, "the runtime is not there")
	}
	return f.fakeRuntime.Stop(ctx, id, opts)
}

func (f *flakyRuntime) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	list, err := f.fakeRuntime.List(ctx, filter)
	if i := slices.IndexFunc(list, func(a runtime.Agent) bool { return a.ID == f.stuck }); i > 0 {
		list[0], list[i] = list[i], list[0]
	}
	return list, err
}

// flaky has the edge started anew on a runtime that fails.
func (s *site) flaky() *flakyRuntime {
	s.t.Helper()
	s.stop()
	rt := &flakyRuntime{fakeRuntime: s.rt}
	s.opts.Runtime = rt
	return rt
}

// TestSpawnWhoseAnswerIsLost checks that an agent which was started is the thread's, though the answer of the runtime was lost.
func TestSpawnWhoseAnswerIsLost(t *testing.T) {
	s := newSite(t)
	s.flaky().lost.Store(1)
	s.start()
	s.spawn("thread_1", nil)
	if st := s.status(); st.Status != protocol.ThreadAccepted {
		t.Fatalf("status %+v", st)
	}
	s.want("1 started", "2 ready")
}

// TestSpawnThatIsStopped checks that no agent is left of a thread which is stopped while it is spawned, even if the runtime cannot be
// reached at first.
func TestSpawnThatIsStopped(t *testing.T) {
	s := newSite(t)
	rt := s.flaky()
	rt.hangs = true
	rt.stops.Store(1)
	s.start()
	s.spawn("thread_1", nil)
	s.send(protocol.TypeThreadStop, protocol.ThreadStop{ThreadID: "thread_1"})
	if st := s.status(); st.Status != protocol.ThreadRefused || st.Code != agent.CodeThreadStopped {
		t.Fatalf("status %+v", st)
	}
	s.untilStopped("thread_1")
}

// TestForgottenWhileTheRuntimeIsAway checks that agents which the server has given up are stopped once the runtime is there:
// those of this process, and those of one before.
func TestForgottenWhileTheRuntimeIsAway(t *testing.T) {
	s := newSite(t)
	rt := s.flaky()
	s.start()
	s.spawn("thread_1", nil)
	s.want("1 started", "2 ready")
	rt.stops.Store(1)
	s.server.Forget()
	s.server.DropAll()
	s.accept()
	s.untilStopped("thread_1")

	s.spawn("thread_2", nil)
	s.want("1 started", "2 ready")
	s.stop()
	rt.stops.Store(1)
	s.opts.Root = t.TempDir()
	s.start()
	s.untilStopped("thread_2")
}

// TestOrphanThatCannotBeStopped checks that the others of an earlier session are stopped all the same.
func TestOrphanThatCannotBeStopped(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"thread_1", "thread_2"} {
		s.spawn(id, nil)
		s.want("1 started", "2 ready")
	}
	s.flaky().stuck = "thread_1"
	s.opts.Root = t.TempDir()
	s.start()
	s.untilStopped("thread_2")
}

func (s *site) untilStopped(id string) {
	s.t.Helper()
	stream, err := s.rt.Events(s.ctx, runtime.EventOptions{AgentID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	for {
		e, err := stream.Next()
		if err != nil {
			s.t.Fatalf("agent %s was not stopped: %v", id, err)
		}
		if e.Type == runtime.EventStopped {
			return
		}
	}
}

// slowList is a fakeRuntime that lists its agents once a stream of events has ended.
type slowList struct {
	*fakeRuntime
	ended chan struct{} // closed by the first stream that is closed
	once  sync.Once
}

func (r *slowList) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	<-r.ended
	return r.fakeRuntime.List(context.WithoutCancel(ctx), filter)
}

func (r *slowList) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	stream, err := r.fakeRuntime.Events(ctx, opts)
	return slowStream{stream, r}, err
}

type slowStream struct {
	runtime.EventStream
	rt *slowList
}

func (s slowStream) Close() error {
	s.rt.once.Do(func() { close(s.rt.ended) })
	return s.EventStream.Close()
}

// TestEndWhileOrphansAreStopped ends an edge, as an operator does by disconnecting it, while it looks for agents without a
// thread: those of its threads are none, and go on.
func TestEndWhileOrphansAreStopped(t *testing.T) {
	s := newSite(t)
	s.stop()
	rt := &slowList{fakeRuntime: newFakeRuntime(), ended: make(chan struct{})}
	s.rt, s.opts.Runtime, s.opts.Root = rt.fakeRuntime, rt, t.TempDir()
	e, err := edge.New(s.opts)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(s.ctx) }()
	s.accept()
	s.spawn("thread_1", nil)
	s.want("1 started", "2 ready")
	if err := s.conn.Close(4403, "disconnected by an operator"); err != nil {
		t.Fatal(err)
	}
	var refused *agent.ConnectError
	if err := <-ended; !errors.As(err, &refused) {
		t.Errorf("run: %v", err)
	}
	if a, err := rt.Inspect(s.ctx, "thread_1"); err != nil || a.Status != runtime.StatusReady {
		t.Errorf("the agent of the thread is %+v, %v", a, err)
	}
}
