package agents_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// TestDocumentedTranscript replays the example of docs/agent-protocol.md against the server, so that the
// document cannot lie.
func TestDocumentedTranscript(t *testing.T) {
	doc, err := os.ReadFile("../../docs/agent-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```transcript\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the document has no transcript")
	}
	sink := newSink()
	r := startRigWith(t, agents.Config{}, newMemory(t), coretest.NewClock(), sink, newThreadSink())
	r.sink = sink
	s := &scene{t: t, r: r, real: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch who, what, _ := strings.Cut(line, " "); who {
		case "--":
			s.happen(what)
		case "agent>":
			s.fromAgent(what)
		case "server>":
			s.fromServer(what)
		default:
			t.Fatalf("unreadable line %q", line)
		}
	}
	if s.frames < 45 {
		t.Fatalf("%d frames: the transcript was cut", s.frames)
	}
}

// scene is the state of a replay.
type scene struct {
	t      *testing.T
	r      *rig
	p      *peer
	id     string            // the agent's, as the document writes it
	real   map[string]string // ids and tokens of the document, and what the server made
	held   map[string]bool   // tasks that were handed out and not sent again
	frames int
}

func (s *scene) happen(what string) {
	switch {
	case what == "the agent connects", strings.HasPrefix(what, "another agent connects"):
		s.p = s.r.dial()
	case strings.HasPrefix(what, "the connection breaks"):
		s.p.cut()
		s.r.waitLost(s.real[s.id])
	case what == "the server closes with 1000":
		s.p.expectClose(websocket.CloseNormalClosure)
	}
}

func (s *scene) fromAgent(line string) {
	s.t.Helper()
	e := s.decode(line)
	if now := s.r.clock.Now(); e.Timestamp.After(now) {
		s.r.clock.Advance(e.Timestamp.Sub(now))
	}
	for written, made := range s.real {
		line = strings.ReplaceAll(line, written, made)
	}
	s.p.raw(line)
	switch e.Type { // wait until the server took frames that are not answered
	case protocol.TypeTaskProgress:
		coretest.WaitFor(s.t, "the progress", func() bool {
			s.r.sink.mu.Lock()
			defer s.r.sink.mu.Unlock()
			return len(s.r.sink.progress) > 0
		})
	case protocol.TypeMessage:
		coretest.WaitFor(s.t, "the message", func() bool {
			said := s.r.sink.said()
			return len(said) > 0 && said[len(said)-1].AskID == e.ID
		})
	case protocol.TypeMessageReply:
		coretest.WaitFor(s.t, "the reply", func() bool { return len(s.r.sink.replied()) > 0 })
	}
}

func (s *scene) fromServer(line string) {
	s.t.Helper()
	want := s.decode(line)
	switch want.Type {
	case protocol.TypeTask:
		var task protocol.Task
		s.payload(want, &task)
		if !s.held[task.TaskID] {
			s.dispatch(task)
		}
	case protocol.TypeTaskCancelled:
		var c protocol.TaskCancelled
		s.payload(want, &c)
		s.r.svc.Release(s.real[s.id], c.TaskID, c.Reason)
	case protocol.TypeMessage, protocol.TypeMessageReply, protocol.TypeError:
		s.say(want)
	case protocol.TypeThreadSpawn, protocol.TypeThreadInput, protocol.TypeThreadStop:
		s.order(want)
	}
	got := s.p.expect(want.Type, nil)
	if want.Type == protocol.TypeRegistered {
		var written, made protocol.Registered
		s.payload(want, &written)
		s.payload(got, &made)
		if s.real[written.AgentID] == "" {
			s.id = written.AgentID
			s.real[written.AgentID], s.real[written.ResumeToken] = made.AgentID, made.ResumeToken
		}
	}
	text := string(want.Payload)
	for written, made := range s.real {
		text = strings.ReplaceAll(text, written, made)
	}
	var a, b any
	if json.Unmarshal(got.Payload, &a) != nil || json.Unmarshal([]byte(text), &b) != nil || !reflect.DeepEqual(a, b) ||
		got.ID != want.ID || !got.Timestamp.Equal(want.Timestamp) {
		s.t.Fatalf("the server sent %+v %s\nthe document says %s", got, got.Payload, line)
	}
}

// say does what makes the server send a message, a reply, or the refusal of a message.
func (s *scene) say(want protocol.Envelope) {
	s.t.Helper()
	switch want.Type {
	case protocol.TypeMessage:
		var m protocol.MessageDelivery
		s.payload(want, &m)
		s.r.svc.Ask(s.real[s.id], core.AgentMessage{
			MessageID: m.MessageID, ExecutionID: m.ExecutionID, TaskID: m.TaskID, From: m.From, MessageType: m.MessageType,
			Topic: m.Topic, Content: m.Content, WantsReply: m.WantsReply,
		})
	case protocol.TypeMessageReply:
		var r protocol.MessageReply
		s.payload(want, &r)
		s.r.svc.Reply(s.real[s.id], core.AgentReply{
			MessageID: r.MessageID, AskID: want.ID, TaskID: r.TaskID, From: r.From, Content: r.Content,
		})
	case protocol.TypeError:
		for _, m := range s.r.sink.said() {
			if m.AskID == want.ID {
				var e protocol.Error
				s.payload(want, &e)
				m.Refuse(core.Errorf(core.Code(e.Code), "%s", e.Message))
			}
		}
	}
}

// order does what makes the server ask a host for something. What comes again is the same to the server.
func (s *scene) order(want protocol.Envelope) {
	s.t.Helper()
	host := s.real[s.id]
	switch want.Type {
	case protocol.TypeThreadSpawn:
		var p protocol.ThreadSpawn
		s.payload(want, &p)
		w := p.Workspace
		s.r.svc.SpawnThread(host, core.RemoteThread{
			ThreadID: p.ThreadID, ExecutionID: p.ExecutionID, Name: p.Name, AgentType: p.AgentType, Role: p.Role,
			Objective: p.Objective, Workspace: &core.WorkspaceSpec{Repo: w.Repo, Branch: w.Branch, WorkBranch: w.WorkBranch},
			ContextFiles: []core.ContextFile{{Path: p.ContextFiles[0].Path, Content: p.ContextFiles[0].Content}},
			Approval:     p.ApprovalPreset,
		})
	case protocol.TypeThreadInput:
		var p protocol.ThreadInput
		s.payload(want, &p)
		in := core.RemoteInput{ThreadID: p.ThreadID, InputID: p.InputID, Message: p.Message}
		if p.Answer != nil {
			in.PromptID, in.Choice = p.Answer.PromptID, p.Answer.Choice
		}
		s.r.svc.InputThread(host, in)
	case protocol.TypeThreadStop:
		var p protocol.ThreadStop
		s.payload(want, &p)
		s.r.svc.StopThread(host, p.ThreadID, p.Reason, p.Force)
	}
}

func (s *scene) dispatch(task protocol.Task) {
	s.t.Helper()
	if s.held == nil {
		s.held = map[string]bool{}
	}
	s.held[task.TaskID] = true
	got := s.r.svc.Reserve(need(task.Capability), 1)
	if len(got) != 1 || !s.r.svc.Dispatch(got[0], core.Task{
		ID: task.TaskID, ExecutionID: task.ExecutionID, PatternName: task.PatternName, PatternVersion: task.PatternVersion,
		Capability: task.Capability, Input: task.Input, Timeout: time.Duration(task.Timeout) * time.Millisecond,
		Priority: core.Priority(task.Priority), Attempt: task.Attempt,
	}) {
		s.t.Fatalf("task %s cannot be handed out", task.TaskID)
	}
}

func (s *scene) decode(line string) protocol.Envelope {
	s.t.Helper()
	s.frames++
	var e protocol.Envelope
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	return e
}

func (s *scene) payload(e protocol.Envelope, into any) {
	s.t.Helper()
	if err := json.Unmarshal(e.Payload, into); err != nil {
		s.t.Fatal(err)
	}
}
