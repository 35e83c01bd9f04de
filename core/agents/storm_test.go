package agents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// keeper is a sink that remembers which tasks are open: each must end by a report or by AgentLost.
type keeper struct {
	svc *agents.Service

	mu    sync.Mutex
	open  map[string]bool
	ended map[string]int
}

func (k *keeper) TaskReported(r core.TaskReport) {
	k.mu.Lock()
	if k.open[r.TaskID] {
		delete(k.open, r.TaskID)
		k.ended[r.TaskID]++
	}
	k.mu.Unlock()
	k.svc.Release(r.AgentID, r.TaskID, "")
	r.Settled()
}

func (k *keeper) AgentLost(_ string, tasks []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range tasks {
		if k.open[id] {
			delete(k.open, id)
			k.ended[id]++
		}
	}
}

func (k *keeper) TaskProgressed(string, string, json.RawMessage) {}
func (k *keeper) CapacityChanged()                               {}
func (k *keeper) MessageReceived(core.TaskMessage)               {}
func (k *keeper) MessageReplied(core.MessageReply)               {}
func (k *keeper) MessageWithdrawn(string, string, string)        {}

func (k *keeper) left() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.open)
}

// storm is an agent that answers tasks, now and then breaks its connection and resumes, and at times leaves.
func storm(r *rig, rng *rand.Rand, name string, stop <-chan struct{}) {
	var reg protocol.Registered
	over := stop
	for {
		p, _, err := r.tryDial(http.Header{"Sec-WebSocket-Protocol": {protocol.Subprotocol}})
		if err != nil {
			select {
			case <-over: // the service ends under its agents
			default:
				r.tb.Errorf("the service is up and refuses an agent: %v", err)
			}
			return
		}
		in := protocol.Register{Name: name, Capabilities: []string{"echo"}, Config: protocol.RegisterConfig{MaxConcurrentTasks: 4}}
		if reg.AgentID != "" {
			in.Resume = &protocol.Resume{AgentID: reg.AgentID, Token: reg.ResumeToken, Tasks: []string{}}
		}
		// The service may end a connection at any time (the clock runs ahead of a starved agent): what cannot be
		// sent any more is what a broken connection loses.
		say := func(kind protocol.Type, id string, payload any) { _ = p.trySend(kind, id, payload) }
		say(protocol.TypeRegister, "r1", in)
		cut := rng.IntN(20)
		for alive := true; alive; {
			select {
			case <-stop:
				cut = -1 // go on answering
				stop = nil
			case e := <-p.frames:
				switch e.Type {
				case protocol.TypeRegistered:
					decode(e, &reg)
				case protocol.TypeTask:
					var t protocol.Task
					decode(e, &t)
					if cut == 0 {
						alive = false
						break
					}
					cut--
					say(protocol.TypeTaskResult, "", result(t.TaskID, t.Attempt))
					if cut == 7 && rng.IntN(4) == 0 {
						say(protocol.TypeDisconnect, "", protocol.Disconnect{})
						<-p.closed
						reg, alive = protocol.Registered{}, false
					}
				}
			case <-p.closed:
				if websocket.IsCloseError(p.err, websocket.CloseServiceRestart) {
					return
				}
				alive = false
			}
		}
		p.cut()
	}
}

func decode(e protocol.Envelope, into any) {
	if err := json.Unmarshal(e.Payload, into); err != nil {
		panic(err)
	}
}

func TestStorm(t *testing.T) {
	clock := coretest.NewClock()
	k := &keeper{open: map[string]bool{}, ended: map[string]int{}}
	r := &rig{tb: t, store: newMemory(t), sink: newSink(), clock: clock}
	r.svc = agents.New(agents.Options{Store: r.store, Sink: k, Clock: clock, Config: agents.Config{MessagesPerSecond: 100000}})
	k.svc = r.svc
	if err := r.svc.Open(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.svc.Reachable()
	r.http = httptest.NewServer(http.HandlerFunc(r.svc.ServeWS))
	t.Cleanup(r.close)
	stop := make(chan struct{})
	var peers sync.WaitGroup
	for i := range 6 {
		peers.Add(1)
		go func() {
			defer peers.Done()
			storm(r, rand.New(rand.NewPCG(uint64(i), 7)), fmt.Sprint("storm", i), stop)
		}()
	}
	given, ticks := 0, 0
	for given < 600 {
		for _, id := range r.svc.Reserve(need("echo"), 3) {
			given++
			task := task(fmt.Sprint("task_", given))
			k.mu.Lock()
			k.open[task.ID] = true
			k.mu.Unlock()
			if !r.svc.Dispatch(id, task) {
				k.mu.Lock()
				delete(k.open, task.ID)
				k.mu.Unlock()
			}
		}
		if _, _, _, err := r.svc.FindAgents(context.Background(), core.AgentFilter{}); err != nil {
			t.Fatal(err)
		}
		if given/50 > ticks {
			ticks++
			clock.Advance(time.Second)
		}
		runtime.Gosched()
	}
	close(stop)
	coretest.WaitFor(t, "every task to end", func() bool {
		clock.Advance(10 * time.Millisecond)
		return k.left() == 0
	})
	for id, n := range k.ended {
		if n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
	r.close() // under load: no goroutine may stay
	peers.Wait()
}
