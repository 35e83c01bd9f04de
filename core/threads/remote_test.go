package threads_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// edge is a connected agent that hosts one thread. It keeps what was not settled, and outlives the service.
type edge struct {
	r *rig

	mu      sync.Mutex // guards all below
	thread  string
	seq     uint64
	unsure  []core.RemoteThreadEvent // that are not settled
	known   map[string]bool          // inputs
	taken   []string                 // messages, as they were taken
	held    bool                     // the thread runs here
	say     func(message string) string
	offline bool
}

func newEdge(r *rig) *edge {
	e := &edge{r: r, known: map[string]bool{}, say: func(string) string { return "done" }}
	r.agents.infos = nil
	r.hosts.hosts = []core.RemoteHost{{AgentID: "agent_1", Name: "edge", Types: []string{"claude"}, MaxThreads: 2}}
	r.hosts.spawn, r.hosts.input, r.hosts.stop = e.spawn, e.input, e.stop
	return e
}

func (e *edge) spawn(t core.RemoteThread) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held {
		return
	}
	e.thread, e.held = t.ThreadID, true
	e.tell(core.EventManagedStarted, core.AgentSignal{}, "")
	e.tell(core.EventManagedReady, core.AgentSignal{}, "")
}

func (e *edge) input(in core.RemoteInput) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known[in.InputID] || !e.held {
		return
	}
	e.known[in.InputID] = true
	if in.Message == "" {
		e.r.RemoteInputTaken("agent_1", in.ThreadID, in.InputID)
		return
	}
	e.taken = append(e.taken, in.Message)
	e.tell(core.EventManagedBusy, core.AgentSignal{}, in.InputID)
	e.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: e.say(in.Message)}, "")
	e.tell(core.EventManagedReady, core.AgentSignal{}, "")
}

func (e *edge) stop(string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held {
		e.held = false
		e.tell(core.EventManagedStopped, core.AgentSignal{Reason: "stopped"}, "")
	}
}

// tell tells an event, also later until it is settled. The caller holds mu.
func (e *edge) tell(kind core.EventType, sig core.AgentSignal, taken string) {
	e.seq++
	event := core.RemoteThreadEvent{
		AgentID: "agent_1", ThreadID: e.thread, Seq: e.seq, Type: kind, Time: time.Now(), Signal: sig, InputTaken: taken, SessionID: "s-1",
	}
	seq := e.seq
	event.Settled = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.unsure = slices.DeleteFunc(e.unsure, func(u core.RemoteThreadEvent) bool { return u.Seq <= seq })
	}
	e.unsure = append(e.unsure, event)
	if !e.offline && e.r.Service != nil {
		e.r.RemoteThreadEvented(event)
	}
}

// resume is the host after its connection, or the service, was away.
func (e *edge) resume() {
	e.mu.Lock()
	e.offline = false
	again := slices.Clone(e.unsure)
	var held []string
	if e.held {
		held = []string{e.thread}
	}
	e.mu.Unlock()
	for _, event := range again {
		e.r.RemoteThreadEvented(event)
	}
	e.r.HostBack("agent_1", held)
}

func TestRemoteLife(t *testing.T) {
	life := func(t *testing.T, after int) (kinds, end string, writes int) {
		r := newRig(t, core.SystemClock{})
		e := newEdge(r)
		e.say = func(message string) string {
			if message == "second" {
				return block("complete", "Both are done")
			}
			return "The first is done."
		}
		if after >= 0 {
			r.store.failAfter(after)
		}
		r.open()
		mend := func() {
			select {
			case <-r.store.Failed():
				if after >= 0 {
					after = -1
					r.Close()
					r.store.Heal()
					r.open()
					e.resume()
				}
			default:
			}
		}
		s := spec()
		s.Preparation.Env = map[string]string{"TOKEN": "x"}
		var id string
		coretest.WaitFor(t, "the spawn", func() bool {
			th, err := r.SpawnThread(r.ctx, s)
			mend()
			if err == nil {
				id = th.ID
			}
			return err == nil
		})
		coretest.WaitFor(t, "the send", func() bool {
			_, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "second"})
			mend()
			return err == nil
		})
		coretest.WaitFor(t, "the end", func() bool {
			mend()
			return r.record(id).Status.Terminal()
		})
		rec := r.record(id)
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.held || rec.Workspace != nil || rec.SealedEnv != nil || rec.AgentID != "agent_1" || rec.SessionID != "s-1" {
			t.Errorf("held %v, record %+v", e.held, rec)
		}
		if len(r.hosts.forgot) == 0 || r.hosts.spawned[0].Env["TOKEN"] != "x" || len(r.hosts.spawned[0].ContextFiles) != 1 {
			t.Errorf("forgot %q, spawned %+v", r.hosts.forgot, r.hosts.spawned)
		}
		return fmt.Sprint(r.kinds(id)), fmt.Sprint(rec.Status, rec.TurnCount, rec.Completion.Summary, len(e.taken)), r.store.Stored()
	}
	want, wantEnd, writes := life(t, -1)
	t.Logf("%d writes: %s %s", writes, want, wantEnd)
	for n := range writes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			got, end, _ := life(t, n)
			if got != want {
				t.Errorf("events\n got %s\nwant %s", got, want)
			}
			if end != wantEnd {
				t.Errorf("end %s, want %s", end, wantEnd)
			}
		})
	}
}

func TestRemoteRepeats(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	id := r.readied(spec())
	before := len(r.kinds(id))
	e.mu.Lock()
	settled := 0
	for seq := uint64(1); seq <= e.seq; seq++ {
		r.RemoteThreadEvented(core.RemoteThreadEvent{
			AgentID: "agent_1", ThreadID: id, Seq: seq, Type: core.EventManagedMessage, Signal: core.AgentSignal{Text: "again"},
			Settled: func() { settled++ },
		})
	}
	last := make(chan struct{})
	e.seq++
	r.RemoteThreadEvented(core.RemoteThreadEvent{
		AgentID: "agent_1", ThreadID: id, Seq: e.seq, Type: core.EventManagedMessage, Signal: core.AgentSignal{Text: "new"},
		Settled: func() { close(last) },
	})
	want := int(e.seq) - 1
	e.mu.Unlock()
	<-last
	coretest.WaitFor(t, "the output, which is told at most ten times a second", func() bool { return len(r.kinds(id)) > before })
	if settled != want || len(r.kinds(id)) != before+1 {
		t.Errorf("%d of %d repeats are settled; %q", settled, want, r.kinds(id))
	}
	for _, foreign := range []core.RemoteThreadEvent{
		{AgentID: "agent_2", ThreadID: id, Seq: 99, Type: core.EventManagedStopped},
		{AgentID: "agent_1", ThreadID: "thread_nobody", Seq: 1, Type: core.EventManagedStopped},
	} {
		done := false
		foreign.Settled = func() { done = true }
		r.RemoteThreadEvented(foreign)
		if !done {
			t.Errorf("%+v is not settled", foreign)
		}
	}
	if rec := r.record(id); rec.Status != core.ThreadReady {
		t.Errorf("it is %s", rec.Status)
	}
}

// TestRemoteAfterTheEnd: what a host tells beyond the end is settled as well, or it would wait for that, and its whole
// connection with it.
func TestRemoteAfterTheEnd(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	id := r.readied(spec())
	var waiting sync.WaitGroup
	tell := func(kind core.EventType, text string) {
		e.seq++
		waiting.Add(1)
		r.RemoteThreadEvented(core.RemoteThreadEvent{
			AgentID: "agent_1", ThreadID: id, Seq: e.seq, Type: kind, Signal: core.AgentSignal{Text: text}, Settled: waiting.Done,
		})
	}
	coretest.WaitFor(t, "what was told so far to be settled", func() bool { // it takes the lock that is held below
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.unsure) == 0
	})
	e.mu.Lock()
	r.store.failAfter(0)
	tell(core.EventManagedBusy, "")
	<-r.store.Failed() // it is tried again, and the others wait behind it
	tell(core.EventManagedTurnComplete, block("complete", "Done"))
	tell(core.EventManagedReady, "")
	tell(core.EventManagedMessage, "one more thing")
	tell(core.EventManagedBusy, "")
	e.mu.Unlock()
	r.store.Heal()
	waiting.Wait()
	r.untilStatus(id, core.ThreadCompleted)
	for _, kind := range []core.EventType{core.EventManagedMessage, core.EventManagedStopped} {
		e.mu.Lock()
		tell(kind, "after all")
		e.mu.Unlock()
	}
	waiting.Wait()
}

// TestAnswerWhileHostIsAway: an answer that was acknowledged outlives us, until the prompt closes, and has one id.
func TestAnswerWhileHostIsAway(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	id := r.readied(spec())
	e.mu.Lock()
	e.tell(core.EventManagedBusy, core.AgentSignal{}, "")
	e.tell(core.EventManagedQuestion, core.AgentSignal{Prompt: json.RawMessage(`{"id":"p1","kind":"question","text":"Which?"}`)}, "")
	e.mu.Unlock()
	r.untilStatus(id, core.ThreadBlocked)
	r.HostAway("agent_1")
	r.until(id, "the host to be away", func(rec *core.ThreadRecord) bool { return rec.StatusReason == core.ThreadReasonHostAway })
	ann := core.WithPrincipal(r.ctx, core.Principal{Kind: core.PrincipalAPIKey, ID: "ann"})
	if _, err := r.AnswerThread(ann, id, core.ThreadAnswer{Text: "canary"}); err != nil {
		t.Fatal(err)
	}
	rec := r.record(id)
	if rec.Ruling == nil || rec.Ruling.Person != "ann" || rec.Answer == nil || bytes.Contains(rec.Answer.SealedText, []byte("canary")) {
		t.Fatalf("stored %+v, %+v", rec.Ruling, rec.Answer)
	}
	given := func() (n int) {
		r.hosts.mu.Lock()
		defer r.hosts.mu.Unlock()
		for _, in := range r.hosts.inputs {
			if in.PromptID == "p1" && in.Text == "canary" && in.InputID == rec.Answer.InputID {
				n++
			}
		}
		return n
	}
	if given() != 1 {
		t.Errorf("handed over %d times", given())
	}
	r.reopen()
	coretest.WaitFor(t, "the answer after a restart", func() bool { return given() == 2 })
	e.resume()
	coretest.WaitFor(t, "the answer once the host is back", func() bool { return given() == 3 })
	e.mu.Lock()
	e.tell(core.EventManagedUnblocked, core.AgentSignal{}, "")
	e.mu.Unlock()
	r.until(id, "the turn to go on", func(rec *core.ThreadRecord) bool { return rec.Status == core.ThreadRunning && rec.Answer == nil })
}

// What fails in giving an answer to the host of one thread is tried again, and ends nothing else.
func TestAnswerToHostFails(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	e := newEdge(r)
	answered := make(chan struct{})
	failed := false
	r.hosts.input = func(in core.RemoteInput) {
		switch {
		case in.PromptID == "":
			e.input(in)
		case !failed:
			failed = true
			panic("out of bounds")
		default:
			close(answered)
		}
	}
	r.open()
	s := spec()
	s.Policy.AutoAnswer = []core.AutoAnswerRule{{Answer: "allow"}}
	id := r.readied(s)
	e.mu.Lock()
	e.tell(core.EventManagedBusy, core.AgentSignal{}, "")
	e.tell(core.EventManagedBlocked, core.AgentSignal{Prompt: json.RawMessage(`{"id":"p1","kind":"approval","text":"May I?"}`)}, "")
	e.mu.Unlock()
	r.untilStatus(id, core.ThreadBlocked)
	coretest.WaitFor(t, "the answer", func() bool {
		clock.Advance(time.Second)
		select {
		case <-answered:
			return true
		default:
			return false
		}
	})
}

func TestHostAway(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	s := spec()
	s.Preparation.Env = map[string]string{"TOKEN": "x"}
	s.Preparation.Workspace = &core.WorkspaceSpec{Repo: "nowhere"}
	if _, err := r.SpawnThread(r.ctx, s); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a repository that is none: %v", err)
	}
	s.Preparation.Workspace.Repo = "app"
	id := r.readied(s)
	e.mu.Lock()
	e.offline = true
	e.mu.Unlock()
	r.HostAway("agent_1")
	r.until(id, "the host to be away", func(rec *core.ThreadRecord) bool { return rec.StatusReason == core.ThreadReasonHostAway })
	e.mu.Lock()
	e.tell(core.EventManagedMessage, core.AgentSignal{Text: "meanwhile"}, "")
	e.mu.Unlock()
	e.resume()
	r.until(id, "the host to be back", func(rec *core.ThreadRecord) bool { return rec.StatusReason == "" && rec.LastText == "meanwhile" })
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: "more"}); err != nil {
		t.Fatal(err)
	}
	r.until(id, "a turn", func(rec *core.ThreadRecord) bool { return rec.TurnCount == 2 && rec.QueuedInputs == 0 })
	// A host that lost the thread is asked for it again, with its session and its environment.
	e.mu.Lock()
	e.held = false
	told := e.seq
	e.mu.Unlock()
	e.resume()
	r.until(id, "the thread to be back", func(rec *core.ThreadRecord) bool { return rec.Restarts == 1 && rec.Status == core.ThreadReady })
	if got := r.hosts.spawned[len(r.hosts.spawned)-1]; got.SessionID != "s-1" || got.After != told || got.Env["TOKEN"] != "x" {
		t.Errorf("asked for %+v, want events after %d", got, told)
	}
	for _, got := range r.hosts.spawned {
		if got.Workspace.Repo != "https://git.example.com/app.git" { // the host does not know our short names
			t.Errorf("asked for the repository %q", got.Workspace.Repo)
		}
	}
	r.HostGone("agent_1")
	if rec := r.untilStatus(id, core.ThreadFailed); rec.StatusReason != core.ThreadReasonLost {
		t.Errorf("reason %q", rec.StatusReason)
	}
}

func TestStopRemote(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	id := r.readied(spec())
	if err := r.StopThread(r.ctx, id, core.ThreadStop{}); err != nil {
		t.Fatal(err)
	}
	if rec := r.record(id); rec.Status != core.ThreadStopped || e.held {
		t.Errorf("it is %s, held %v", rec.Status, e.held)
	}
	// A host that comes back with a thread that is over is told so.
	r.HostBack("agent_1", []string{id})
	coretest.WaitFor(t, "another stop", func() bool {
		r.hosts.mu.Lock()
		defer r.hosts.mu.Unlock()
		return len(r.hosts.stopped) == 2
	})
}

// answersAtHost are the answers that the host was given, as it counts them: one that it knows it drops.
func (r *rig) answersAtHost() (list []core.RemoteInput) {
	r.hosts.mu.Lock()
	defer r.hosts.mu.Unlock()
	for _, in := range r.hosts.inputs {
		known := slices.ContainsFunc(list, func(k core.RemoteInput) bool { return k.InputID == in.InputID })
		if in.PromptID != "" && !known {
			list = append(list, in)
		}
	}
	return list
}

// Of two people who answer a prompt before its host reports that it is closed, the first counts, and the second is refused
// with the name of the first, until the host refuses the answer, or its text cannot be read any more.
func TestAnswerHostedTwice(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	id := r.readied(spec())
	ask := func(prompt string) {
		e.mu.Lock()
		e.tell(core.EventManagedQuestion, core.AgentSignal{Prompt: json.RawMessage(prompt)}, "")
		e.mu.Unlock()
	}
	e.mu.Lock()
	e.tell(core.EventManagedBusy, core.AgentSignal{}, "")
	e.mu.Unlock()
	ask(`{"id":"p1","kind":"question","text":"Which?"}`)
	r.untilStatus(id, core.ThreadBlocked)
	answer := func(who, text string) error {
		ctx := core.WithPrincipal(r.ctx, core.Principal{Kind: core.PrincipalUser, ID: who})
		_, err := r.AnswerThread(ctx, id, core.ThreadAnswer{PromptID: "p1", Text: text})
		return err
	}
	refused := func(by string) {
		t.Helper()
		err := answer("bob", "that one")
		if want := "the prompt p1 is answered already by " + by + " (text)"; core.ErrorCode(err) != core.CodeConflict || core.AsError(err).Message != want {
			t.Errorf("the second answer: %v, want a conflict: %s", err, want)
		}
		if rec := r.record(id); rec.Ruling == nil || rec.Ruling.Person != by {
			t.Errorf("the record names %+v, want %s", rec.Ruling, by)
		}
	}
	given := func() (list []string) {
		for _, in := range r.answersAtHost() {
			list = append(list, in.Text)
		}
		return list
	}
	if err := answer("ann", "this one"); err != nil {
		t.Fatal(err)
	}
	refused("ann")

	first := r.record(id).Answer.InputID
	r.RemoteInputRefused("agent_2", id, first, core.InputRefusal{Reason: "of another host"})
	r.RemoteInputRefused("agent_1", id, "in_other", core.InputRefusal{Reason: "another input"})
	refused("ann")
	r.RemoteInputRefused("agent_1", id, first, core.InputRefusal{Code: "AGENT_ERROR", Reason: "the terminal is gone"})
	rec := r.until(id, "the prompt to be open again", func(rec *core.ThreadRecord) bool { return rec.Answer == nil })
	if rec.Status != core.ThreadBlocked || len(rec.Prompt) == 0 || rec.Ruling != nil {
		t.Errorf("it is %s with the ruling %+v", rec.Status, rec.Ruling)
	}
	if err := answer("cleo", "the other"); err != nil {
		t.Fatal(err)
	}
	refused("cleo")
	if got := fmt.Sprint(given()); got != "[this one the other]" {
		t.Errorf("the host was given %s", got)
	}

	blocked := strings.Count(strings.Join(r.kinds(id), " "), "thread_blocked")
	ask(`{"id":"p1","kind":"question","text":"Which?"}`) // again, as after an answer that did not do
	coretest.WaitFor(t, "the prompt to be told of again", func() bool {
		return strings.Count(strings.Join(r.kinds(id), " "), "thread_blocked") > blocked
	})
	if err := answer("cleo", "that one, please"); err != nil {
		t.Errorf("to a prompt that came again: %v", err)
	}

	e.mu.Lock()
	e.tell(core.EventManagedUnblocked, core.AgentSignal{}, "")
	e.mu.Unlock()
	r.until(id, "the turn to go on", func(rec *core.ThreadRecord) bool { return rec.Status == core.ThreadRunning })
	refused("cleo")

	ask(`{"id":"p1","kind":"question","text":"Which now?"}`) // as an agent does that numbers its prompts anew
	r.untilStatus(id, core.ThreadBlocked)
	r.hosts.mu.Lock()
	r.hosts.gone = true
	r.hosts.mu.Unlock()
	if err := answer("ann", "lost"); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("an answer that the host did not get: %v", err)
	}
	if rec := r.record(id); rec.Answer != nil || rec.Status != core.ThreadBlocked {
		t.Errorf("it is %s with the answer %+v", rec.Status, rec.Answer)
	}
}

// A code of a login may be wrong without a word of the host: another one is taken.
func TestAnswerHostedLoginAgain(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	id := r.readied(spec())
	e.mu.Lock()
	e.tell(core.EventManagedLogin, core.AgentSignal{LoginURL: "https://login.example.com"}, "")
	e.mu.Unlock()
	r.untilStatus(id, core.ThreadBlocked)
	for _, code := range []string{"wrong", "right"} {
		if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{Text: code}); err != nil {
			t.Errorf("the code %s: %v", code, err)
		}
	}
}

// The answer of a rule to a prompt of a hosted thread counts like one of a person: it is there once, it is handed over again
// when the prompt comes again, and when the host refuses it people are asked.
func TestRuleAnswersHosted(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	r.open()
	s := spec()
	s.Preparation.Approval = "autonomous"
	id := r.readied(s)
	ask := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.tell(core.EventManagedBlocked, core.AgentSignal{
			Prompt: json.RawMessage(`{"id":"p1","kind":"approval","tool":"Bash","text":"Run make?"}`),
		}, "")
	}
	given := func(n int) (last core.RemoteInput) {
		t.Helper()
		coretest.WaitFor(t, fmt.Sprintf("%d answers at the host", n), func() bool {
			list := r.answersAtHost()
			if len(list) > 0 {
				last = list[len(list)-1]
			}
			return len(list) == n
		})
		return last
	}
	ask()
	if in := given(1); in.Choice != "allow" {
		t.Errorf("the host got %+v", in)
	}
	r.Close()
	r.open()
	e.resume()
	coretest.WaitFor(t, "the answer to come again", func() bool {
		r.hosts.mu.Lock()
		defer r.hosts.mu.Unlock()
		n := 0
		for _, in := range r.hosts.inputs {
			if in.PromptID != "" {
				n++
			}
		}
		return n > 1
	})
	given(1) // under the id that the host knows
	_, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{PromptID: "p1", Choice: "deny"})
	if core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("an answer of a person beside that of the rule: %v, want a conflict", err)
	}
	ask()
	in := given(2)

	r.RemoteInputRefused("agent_1", id, in.InputID, core.InputRefusal{Code: "AGENT_ERROR", Reason: "the terminal is gone"})
	rec := r.until(id, "people to be asked", func(rec *core.ThreadRecord) bool { return rec.Ruling == nil && rec.Answer == nil })
	if rec.Status != core.ThreadBlocked {
		t.Errorf("it is %s", rec.Status)
	}
	if _, err := r.AnswerThread(r.ctx, id, core.ThreadAnswer{PromptID: "p1", Choice: "deny"}); err != nil {
		t.Errorf("an answer of a person after that: %v", err)
	}
	if in := given(3); in.Choice != "deny" {
		t.Errorf("the host got %+v", in)
	}
}

// A message that a host refuses is given up with an event, and the next one follows; one that it has no room for now is
// given again after a while, a few times.
func TestHostRefusesMessages(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	r.config.TurnRetryDelay = time.Millisecond
	e := newEdge(r)
	refusals := map[string]core.InputRefusal{
		"never": {Code: "VALIDATION_ERROR", Reason: "it holds what no terminal takes"},
		"full":  {Code: string(core.CodeRateLimited), Reason: "too many inputs wait"},
	}
	once := true
	attempts := map[string]int{}
	r.hosts.input = func(in core.RemoteInput) {
		why, refused := refusals[in.Message]
		if in.Message == "later" && once {
			why, refused, once = refusals["full"], true, false
		}
		if attempts[in.Message]++; refused {
			r.RemoteInputRefused("agent_1", in.ThreadID, in.InputID, why)
			return
		}
		e.input(in)
	}
	r.open()
	id := r.readied(spec())
	send := func(message string) error {
		_, err := r.SendThread(r.ctx, id, core.ThreadInput{Message: message, ExpectResponse: true, Timeout: 20 * time.Second})
		return err
	}
	for _, message := range []string{"never", "full"} {
		if err := send(message); core.ErrorCode(err) != core.CodeConflict || !strings.Contains(core.AsError(err).Message, refusals[message].Reason) {
			t.Errorf("%s: %v, want a conflict that has the reason of the host", message, err)
		}
	}
	if err := send("later"); err != nil {
		t.Errorf("one that the host takes later: %v", err)
	}
	if got, want := fmt.Sprint(attempts["never"], attempts["full"], attempts["later"]), "1 5 2"; got != want {
		t.Errorf("attempts %s, want %s", got, want)
	}
	if rec := r.record(id); rec.QueuedInputs != 0 || rec.Status != core.ThreadReady || rec.StatusReason != "" {
		t.Errorf("it is %s (%s) with %d messages", rec.Status, rec.StatusReason, rec.QueuedInputs)
	}
}
