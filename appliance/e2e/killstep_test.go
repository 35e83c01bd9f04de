package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	"github.com/wardroom/wardroom/sdk/client"
	turns "github.com/wardroom/wardroom/sdk/wire"
)

// killTools are the command lines whose every cell of TestKillAtEachStep runs: names with commas, or all.
var killTools = flag.String("kills", "", "command lines, with commas, for all cells of TestKillAtEachStep, or all; without it claude and the cheapest ones")

// killing is a thread in which something is killed at a certain step of a message.
type killing struct {
	*crew
	tool    tool
	model   *fakemodel.Server
	thread  string
	agent   string
	session string // that it began
	pid     int    // of the command line
	plugin  int    // process
	name    string // of the cell; part of each of its messages
	gate    string // file for which a tool waits
	ends    bool   // the command line ends by the kill
	sends   []*sending
}

// sending is a message whose turn is waited for.
type sending struct {
	text     string
	over     chan struct{} // closed when what follows is set
	response *turns.TurnResponse
	err      error
}

// victims are what is killed, and how.
var victims = []struct {
	name   string
	ends   bool // the command line ends with it
	strike func(*killing)
}{
	{"core", false, func(k *killing) { k.kill(); k.start(); k.runtimeReady() }},
	{"plugin", false, func(k *killing) { k.killRuntime() }},
	{"holder", true, func(k *killing) { killed(k.t, parent(k.t, k.pid)) }},
	{"cli", true, func(k *killing) { _ = syscall.Kill(k.pid, syscall.SIGKILL) }},
}

// killSteps are the steps of a message. Each of hold brings one there and keeps it, and each of free lets it go on after the
// kill.
var killSteps = []struct {
	name       string
	hold, free func(*killing)
	interrupts bool
	cheap      bool
}{
	{name: "accepted", hold: func(k *killing) {
		k.send("HOLD[" + k.name + "]")
		k.held()
		k.send("behind it")
		k.awaitThread("a message that waits", func(th *client.Thread) bool { return th.QueuedInputs == 1 })
	}, free: (*killing).release},
	{name: "handed over", cheap: true, hold: func(k *killing) {
		k.signalCLI(syscall.SIGSTOP)
		k.send("please")
		k.typed()
	}, free: func(k *killing) { k.signalCLI(syscall.SIGCONT) }},
	{name: "tool", hold: func(k *killing) {
		runs := k.gate + ".runs"
		k.send(k.tool.escalate("touch " + runs + "; while ! test -e " + k.gate + "; do sleep 0.1; done"))
		eventually(k.t, "the tool", func() bool {
			k.allow()
			return exists(runs)
		})
	}, free: func(k *killing) {
		if err := os.WriteFile(k.gate, nil, 0o600); err != nil {
			k.t.Fatal(err)
		}
	}},
	{name: "asked", cheap: true, hold: func(k *killing) {
		k.send(k.tool.escalate("touch " + k.gate))
		k.awaitThread("a prompt", func(th *client.Thread) bool { return th.Status == client.ThreadBlocked })
	}, free: func(*killing) {}},
	{name: "answered", hold: func(k *killing) {
		k.send(k.tool.escalate("touch " + k.gate))
		k.awaitThread("a prompt", func(th *client.Thread) bool { return th.Status == client.ThreadBlocked })
		k.signalCLI(syscall.SIGSTOP)
		eventually(k.t, "the answer to the prompt", k.allow)
	}, free: func(k *killing) { k.signalCLI(syscall.SIGCONT) }},
	{name: "ended", hold: func(k *killing) {
		k.send("HOLD[" + k.name + "]")
		k.held()
		k.signal(k.plugin, syscall.SIGSTOP)
		k.release()
		k.request(func(q fakemodel.Request) bool {
			return strings.Contains(q.User, k.name) && q.Kind == "text" && q.DoneNs != 0
		})
	}, free: func(k *killing) { k.signal(k.plugin, syscall.SIGCONT) }},
	{name: "interrupt", interrupts: true, hold: func(k *killing) {
		k.send("HOLD[" + k.name + "]")
		k.held()
		k.signalCLI(syscall.SIGSTOP)
		if _, err := k.api.SendManagedAgent(k.t.Context(), k.agent, client.ManagedAgentInput{Interrupt: true}); err != nil {
			k.t.Fatal(err)
		}
	}, free: func(k *killing) {
		k.signalCLI(syscall.SIGCONT)
		if k.ends { // the work is taken up again
			k.release()
		}
	}},
}

// Whatever is killed at whatever step of a message, it reaches the model once, and its sender gets its own answer, or hears
// honestly that it is not known, was cut off, or waits with a thread that failed; and the next message gets its own.
func TestKillAtEachStep(t *testing.T) {
	t.Parallel()
	whole := strings.Split(*killTools, ",")
	for _, tool := range tools {
		all := *killTools == "all" || slices.Contains(whole, tool.name)
		if !all && (*killTools != "" || tool.name != "claude") {
			continue
		}
		t.Run(tool.name, func(t *testing.T) {
			needs(t, tool.name)
			c, model := managed(t, toolPath(t)), startModel(t)
			n := 0
			for _, step := range killSteps {
				if !all && !step.cheap {
					continue
				}
				for _, victim := range victims {
					n++
					t.Run(step.name+"/"+victim.name, func(t *testing.T) {
						c.server.t, c.t = t, t
						k := &killing{
							crew: c, tool: tool, model: model, name: fmt.Sprintf("cell-%s-%d", tool.name, n), ends: victim.ends,
						}
						k.begin()
						step.hold(k)
						victim.strike(k)
						step.free(k)
						k.judge(step.interrupts)
					})
					c.server.t, c.t = t, t
				}
			}
		})
	}
}

// TestFrozenTool stops the command line for longer than a message of unknown delivery is waited for: the message is sent again,
// is not typed behind the first one, and reaches the model once.
func TestFrozenTool(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		if tool.name != "claude" && *killTools != "all" && !slices.Contains(strings.Split(*killTools, ","), tool.name) {
			continue
		}
		t.Run(tool.name, func(t *testing.T) {
			needs(t, tool.name)
			k := &killing{crew: managed(t, toolPath(t)), tool: tool, model: startModel(t), name: "frozen-" + tool.name}
			k.begin()
			k.signal(-k.pid, syscall.SIGSTOP) // with what it started: the one with the terminal may be among that
			k.send("please")
			eventually(t, "the message in the terminal", k.unread)
			k.killRuntime()
			slowly(t, "the message to be sent again", func() bool {
				logs := k.read("/api/managed-agents/" + k.agent + "/logs")
				return strings.Contains(string(logs.body), "a message waits until what was typed before is read")
			})
			k.signal(-k.pid, syscall.SIGCONT)
			k.judge(false)
			if s := k.sends[0]; s.err != nil || s.response == nil || s.response.Error != nil {
				t.Errorf("%q came to %s", s.text, s.outcome())
			}
		})
	}
}

// TestSlowTool stops the command line while a message is typed, as a busy machine does, for longer than it takes to be typed again:
// what it has not read is neither confirmed nor repeated, and reaches the model once.
func TestSlowTool(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.name)
			k := &killing{crew: managed(t, toolPath(t)), tool: tool, model: startModel(t), name: "slow-" + tool.name}
			k.begin()
			k.signal(-k.pid, syscall.SIGSTOP)
			k.send("please")
			slowly(t, "a look at what was typed", func() bool {
				logs := k.read("/api/managed-agents/" + k.agent + "/logs")
				return strings.Count(string(logs.body), "typed and not taken") > 1 || strings.Contains(string(logs.body), "is not read yet")
			})
			k.signal(-k.pid, syscall.SIGCONT)
			k.judge(false)
			if s := k.sends[0]; s.err != nil || s.response == nil || s.response.Error != nil {
				t.Errorf("%q came to %s", s.text, s.outcome())
			}
		})
	}
}

// begin spawns the thread, and waits until its agent is ready.
func (k *killing) begin() {
	k.t.Helper()
	restarts := 5
	k.gate = filepath.Join(shortDir(k.t), "gate")
	th, err := k.api.SpawnThread(k.t.Context(), client.ThreadSpec{
		ExecutionID: client.NewExecution, AgentType: k.tool.name, Role: "maker",
		Preparation: client.ThreadPreparation{Env: fakemodel.Env(k.tool.name, k.model.URL())},
		Policy:      client.ThreadPolicy{MaxRestarts: &restarts},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.thread = th.ID
	k.t.Cleanup(k.end)
	th = k.awaitThread("a ready agent", func(th *client.Thread) bool { return th.Status == client.ThreadReady })
	k.agent = th.ManagedAgentID
	k.spawned = append(k.spawned, k.agent)
	a := k.crew.agent(k.agent)
	k.pid, k.session, k.plugin = a.PID, a.SessionID, k.pluginPID()
}

// end stops the thread, and shows what a failed one came to.
func (k *killing) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if k.t.Failed() {
		(&staff{crew: k.crew}).explainThread(k.thread)
		for _, q := range k.model.Requests() {
			if strings.Contains(q.User, k.name) {
				k.t.Logf("request %d %s %d results, %d entries, %d %s: %.200q", q.Seq, q.Kind, q.Results, q.Entries, q.Status, q.Note, q.User)
			}
		}
		k.t.Logf("the screen: %q", k.screen(k.agent))
	}
	_ = k.api.StopThread(ctx, k.thread, true, 0) // it may be over
}

func (k *killing) awaitThread(what string, cond func(*client.Thread) bool) *client.Thread {
	k.t.Helper()
	return (&staff{crew: k.crew}).awaitThread(k.thread, what, cond)
}

// send sends a message, and waits for its turn as `thread send --wait` does: over restarts of the server.
func (k *killing) send(words string) {
	s := &sending{text: words + " of " + k.name + "-" + fmt.Sprint(len(k.sends)), over: make(chan struct{})}
	k.sends = append(k.sends, s)
	api := k.client(client.Options{Retry: client.RetryPolicy{MaxElapsed: patience, Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}})
	ctx, key := k.t.Context(), client.NewIdempotencyKey()
	go func() {
		defer close(s.over)
		for ctx.Err() == nil {
			var receipt *client.ThreadReceipt
			receipt, s.err = api.SendThread(ctx, k.thread, client.ThreadInput{Message: s.text, ExpectResponse: true, Timeout: 2 * patience, IdempotencyKey: key})
			if s.err == nil {
				s.response = receipt.Response
			}
			var refused *client.Error
			if s.err == nil || errors.As(s.err, &refused) && refused.Code == client.CodeConflict {
				return
			}
		}
	}()
}

// held waits until the model keeps the answer of the cell back.
func (k *killing) held() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	if err := k.model.AwaitHeld(ctx, k.name); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killing) release() {
	k.t.Helper()
	if _, err := k.model.Release(k.name); err != nil {
		k.t.Fatal(err)
	}
}

// request waits for a request to the model.
func (k *killing) request(match func(fakemodel.Request) bool) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	if _, err := k.model.Await(ctx, match); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killing) signal(pid int, sig syscall.Signal) { _ = syscall.Kill(pid, sig) } // it may be the one that was killed

func (k *killing) signalCLI(sig syscall.Signal) { k.signal(k.pid, sig) }

// typed waits until the runtime has noted that it types the message.
func (k *killing) typed() {
	k.t.Helper()
	eventually(k.t, "the typing of the message", func() bool {
		found, err := filepath.Glob(filepath.Join(k.dir, "store", "plugins", "data", "runtime-local", "sessions", "agents", k.agent, "inputs.jsonl"))
		if err != nil || len(found) == 0 {
			return false
		}
		data, err := os.ReadFile(found[0])
		return err == nil && strings.Contains(string(data), `"state":"typing"`)
	})
}

// unread reports whether the terminal of the command line holds input that was not read.
func (k *killing) unread() bool {
	file, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", k.pid), os.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		k.t.Fatal(err)
	}
	defer file.Close()
	n, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCINQ)
	if err != nil {
		k.t.Fatal(err)
	}
	return n > 0
}

// allow answers the prompt of the thread, if there is one, and reports whether that was done.
func (k *killing) allow() bool {
	th, err := k.api.GetThread(k.t.Context(), k.thread)
	if err != nil || th.Prompt == nil || th.Status != client.ThreadBlocked {
		return false
	}
	_, err = k.api.AnswerThread(k.t.Context(), k.thread, client.ThreadAnswer{PromptID: th.Prompt.ID, Choice: "allow"})
	return err == nil
}

// judge waits for the outcome of each message, and of one that follows.
func (k *killing) judge(interrupts bool) {
	k.t.Helper()
	for _, s := range k.sends {
		k.settle(s)
		k.t.Logf("%s: %s", s.text, s.outcome())
		if wrong := s.wrong(k.ends, interrupts); wrong != "" {
			k.t.Errorf("%q: %s: %s", s.text, wrong, s.outcome())
		}
	}
	if th, err := k.api.GetThread(k.t.Context(), k.thread); err != nil || th.Over() {
		if err != nil || !k.ends || th.Status != client.ThreadFailed || th.Error == nil {
			k.t.Errorf("the thread is over: %s %s, %v", th.Status, th.StatusReason, err)
		}
	} else {
		k.send("after it")
		last := k.sends[len(k.sends)-1]
		k.settle(last)
		if wrong := last.wrong(false, false); wrong != "" {
			k.t.Errorf("the next message: %s: %s", wrong, last.outcome())
		}
	}
	most := 1
	if a := k.crew.agent(k.agent); k.ends && a.SessionID != k.session {
		most = 2 // the first session did not come so far as to be kept, and the message is given to the next one
	}
	waiting := k.read("/api/managed-threads/" + k.thread + "/queue")
	for _, s := range k.sends {
		if quoted, err := json.Marshal(s.text); s.err != nil && (err != nil || !strings.Contains(string(waiting.body), string(quoted))) {
			k.t.Errorf("%q has no outcome, and does not wait in the thread: %s", s.text, waiting)
		}
		if n := k.asked(s.text); n > most || n == 0 && s.err == nil && !s.response.Interrupted && s.response.Error == nil {
			k.t.Errorf("%q reached the model %d times, with the outcome %s", s.text, n, s.outcome())
		}
	}
}

// settle waits for the outcome of a message, and allows what its turn asks meanwhile.
func (k *killing) settle(s *sending) {
	k.t.Helper()
	slowly(k.t, "the outcome of "+s.text, func() bool {
		select {
		case <-s.over:
			return true
		default:
		}
		k.allow()
		return false
	})
}

// asked returns how often a message reached the model. A request that the command line repeats by itself is the same one.
func (k *killing) asked(text string) int {
	seen := map[int]bool{}
	for _, q := range k.model.Requests() {
		if q.User == text && q.Results == 0 && q.Kind != "side" {
			seen[q.Entries] = true
		}
	}
	return len(seen)
}

// outcome says what a message came to.
func (s *sending) outcome() string {
	switch r := s.response; {
	case s.err != nil:
		return s.err.Error()
	case r == nil:
		return "no response"
	case r.Error != nil:
		return r.Error.Code + ": " + r.Error.Message
	default:
		return fmt.Sprintf("%q, interrupted %t, refused %t", r.Text, r.Interrupted, r.Refused)
	}
}

// wrong says what is wrong with an outcome, or "". ended says that the command line may have ended within the turn.
func (s *sending) wrong(ended, interrupts bool) string {
	r := s.response
	switch {
	case s.err != nil && ended: // the message waits in a thread that failed
		return ""
	case s.err != nil || r == nil:
		return "there is no outcome"
	case r.Error != nil && (r.Error.Code == turns.TurnUnknown || ended && r.Error.Code == turns.TurnAgentEnded):
		return ""
	case r.Error != nil:
		return "the turn failed"
	case interrupts && r.Interrupted, ended && strings.Contains(r.Text, "The session broke off"):
		return ""
	case interrupts && !ended:
		return "the interrupt is not told"
	case r.Interrupted || r.Refused:
		return "it says what did not happen"
	case !strings.HasPrefix(squeezed(r.Text), squeezed("ANSWER["+s.text+"]")):
		return "another answer"
	}
	return ""
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }
