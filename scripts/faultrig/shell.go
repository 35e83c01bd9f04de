package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// shellAgent is a managed agent of the rig: a shell that writes each message it is sent into its ledger. It lives
// from the first round to the last, through every kill.
type shellAgent struct {
	id, ledger string
	pid        int
	mark       string // begins the texts of its messages
	next       int
	sent       []message
}

// message is what was sent to a shell, and what the sender was told about it.
type message struct {
	text string
	fate fate
}

// fate is what became of a message, as its sender knows it.
type fate int

const (
	fateOpen    fate = iota // the round ended before an answer came
	fateSent                // it was taken
	fateUnknown             // it may have been taken
	fateNot                 // it was not taken
)

// agentRecord is an agent as the core tells of it.
type agentRecord struct {
	ID, Status, StatusReason, Workdir string
	PID                               int
}

// shells are all managed agents of a run.
type shells struct {
	caller  *caller
	plugin  string          // of their runtime
	plugins string          // folder of the runtime's binaries
	data    string          // folder of the server, in which the rooms of agents are
	engine  *testbed.Engine // that they have containers of, or nil
	all     []*shellAgent
}

const managedAgents = "/api/managed-agents"

// start spawns the shells and waits for their prompts.
func (s *shells) start(ctx context.Context, n int, mark string) error {
	for i := range n {
		var a agentRecord
		body := fmt.Appendf(nil, `{"type":"shell","name":"shell-%d"}`, i)
		// Until its runtime is up the core answers 503, which call bears.
		r, err := s.caller.call(ctx, http.MethodPost, managedAgents, fmt.Sprintf("%s-spawn-%d", mark, i), body)
		if err != nil {
			return err
		}
		if r.status != http.StatusCreated {
			return &unexpectedError{"POST " + managedAgents, r}
		}
		if err := r.into(&a); err != nil {
			return err
		}
		s.all = append(s.all, &shellAgent{
			id: a.ID, pid: a.PID, ledger: filepath.Join(a.Workdir, "ledger"), mark: fmt.Sprintf("%s-%d", mark, i),
		})
	}
	return s.settle(ctx)
}

// settle waits until every shell is there, with the process that it always had, and takes messages.
func (s *shells) settle(ctx context.Context) error {
	for _, sh := range s.all {
		for {
			var a agentRecord
			r, found, err := s.caller.get(ctx, managedAgents+"/"+sh.id, &a)
			switch {
			case err != nil:
				return fmt.Errorf("shell %s: %w", sh.id, err)
			case !found:
				return fmt.Errorf("lost: the agent %s is not known any more", sh.id)
			case a.Status == "stopped" || a.Status == "error":
				return fmt.Errorf("lost: the agent %s is %s", sh.id, r.body)
			case a.PID != sh.pid:
				return fmt.Errorf("lost: the agent %s had the process %d and has %d", sh.id, sh.pid, a.PID)
			}
			if a.Status == "ready" && a.StatusReason == "" {
				break
			}
			if !pause(ctx, 20*time.Millisecond) {
				return fmt.Errorf("the agent %s does not get ready: %s", sh.id, r.body)
			}
		}
	}
	return nil
}

// load sends messages to all shells, one after the other to each, until stop is closed. Each is repeated under
// its key until it is answered, or ctx ends.
func (s *shells) load(ctx context.Context, stop <-chan struct{}) (finish func() []error) {
	var senders sync.WaitGroup
	problems := make([]error, len(s.all))
	for i, sh := range s.all {
		senders.Add(1)
		go func() {
			defer senders.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if problems[i] = sh.send(ctx, s.caller); problems[i] != nil {
					return
				}
			}
		}()
	}
	return func() []error {
		senders.Wait()
		return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	}
}

// send sends the next message. An error is a broken promise.
func (sh *shellAgent) send(ctx context.Context, c *caller) error {
	sh.next++
	text := fmt.Sprintf("%s-%d", sh.mark, sh.next)
	sh.sent = append(sh.sent, message{text: text})
	fate := &sh.sent[len(sh.sent)-1].fate
	expect := sh.next%2 == 0
	body := fmt.Appendf(nil, `{"message":"echo %s >>%s; echo got %s","expectResponse":%t,"timeout":20000}`, text, sh.ledger, text, expect)
	path := managedAgents + "/" + sh.id + "/send"
	r, err := c.call(ctx, http.MethodPost, path, text, body)
	if err != nil {
		return fmt.Errorf("message %s: %w", text, err)
	}
	switch runtimeCode(r.body) {
	case "DELIVERY_UNKNOWN":
		*fate = fateUnknown
		return nil
	case "NOT_DELIVERED":
		*fate = fateNot
		return nil
	case "TIMEOUT":
		*fate = fateUnknown
		return nil
	}
	if r.status != http.StatusOK {
		return &unexpectedError{"POST " + path + " " + text, r}
	}
	var answer struct {
		Sent     bool
		Response *struct{ Text string }
	}
	if err := r.into(&answer); err != nil {
		return err
	}
	*fate = fateSent
	if !answer.Sent || expect && (answer.Response == nil || answer.Response.Text != "got "+text) {
		return &unexpectedError{"POST " + path + " " + text, r}
	}
	return nil
}

func runtimeCode(body []byte) string {
	var envelope struct {
		Error struct{ Details struct{ RuntimeCode string } }
	}
	_ = json.Unmarshal(body, &envelope) // no envelope is no code
	return envelope.Error.Details.RuntimeCode
}

// prove compares the ledgers with what the senders were told.
func (s *shells) prove() (counts map[fate]int, problems []error) {
	counts = map[fate]int{}
	for _, sh := range s.all {
		text, err := os.ReadFile(sh.ledger)
		if err != nil && len(sh.sent) > 0 {
			problems = append(problems, err)
			continue
		}
		problems = append(problems, judge(sh.sent, strings.Fields(string(text)))...)
		for _, m := range sh.sent {
			counts[m.fate]++
		}
	}
	return counts, problems
}

// judge wants every message that was acknowledged in the ledger once, no other more than once, none that was
// said not to be delivered, and all in the order in which they were sent.
func judge(sent []message, ledger []string) (problems []error) {
	times := map[string]int{}
	for _, line := range ledger {
		times[line]++
	}
	at := 0
	for _, m := range sent {
		n := times[m.text]
		delete(times, m.text)
		switch {
		case n > 1:
			problems = append(problems, fmt.Errorf("doubled: message %s reached its agent %d times", m.text, n))
		case n == 0 && m.fate == fateSent:
			problems = append(problems, fmt.Errorf("lost: message %s was acknowledged and did not reach its agent", m.text))
		case n == 1 && m.fate == fateNot:
			problems = append(problems, fmt.Errorf("told wrongly: message %s was said not to be delivered, and was", m.text))
		}
		if n != 1 {
			continue
		}
		next := slices.Index(ledger, m.text)
		if next < at {
			problems = append(problems, fmt.Errorf("order: message %s reached its agent before an earlier one", m.text))
		}
		at = next
	}
	for line := range times {
		problems = append(problems, fmt.Errorf("merged: the ledger has %q, which nobody sent", line))
	}
	return problems
}

// stop ends the shells through the core; nothing of them may be left.
func (s *shells) stop(ctx context.Context) error {
	for _, sh := range s.all {
		r, err := s.caller.call(ctx, http.MethodDelete, managedAgents+"/"+sh.id, "", nil)
		if err != nil {
			return err
		}
		if r.status != http.StatusNoContent {
			return &unexpectedError{"DELETE " + managedAgents + "/" + sh.id, r}
		}
	}
	for {
		left, err := s.processes()
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("orphans: after the end of all agents there are still the processes %v", left)
		}
	}
}
