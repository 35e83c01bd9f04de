package appliance_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/edge"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

// A thread runs at a site that only connects out, through a restart of the server: it is asked and answered, sent a
// message, and what it came to is kept.
func TestThreadAtAnEdge(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	s := newSiteAt(t, address, "{}")
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	e, err := edge.New(edge.Options{
		URL: "http://" + address, Name: "far", Runtime: world.Runtime(), Root: filepath.Join(s.dir, "far"), AllowFile: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	coretest.WaitFor(t, "the site to connect", func() bool { return e.ID() != "" })

	thread := s.spawn("ask shall we make it?", func(spec *client.ThreadSpec) { spec.Runtime = core.RuntimeConnected })
	if thread.Runtime != core.RuntimeConnected && thread.AgentID != e.ID() {
		t.Errorf("the thread is at %s %s, want the site %s", thread.Runtime, thread.AgentID, e.ID())
	}
	s.await(thread.ID, "the question", func(thread *client.Thread) bool { return thread.Status == client.ThreadBlocked && thread.Prompt != nil })
	s.restart()
	s.await(thread.ID, "the site to come back", func(thread *client.Thread) bool {
		return thread.Status == client.ThreadBlocked && thread.StatusReason != core.ThreadReasonHostAway
	})
	if _, err := s.api.AnswerThread(t.Context(), thread.ID, client.ThreadAnswer{Choice: "yes"}); err != nil {
		t.Fatal(err)
	}
	s.send(thread.ID, "test -f README.md && test -f "+core.ThreadMemoryPath+` && printf '\140\140\140wardroom\n`+
		`{"state":"complete","summary":"Made far away."}\n\140\140\140\n'`)
	end := s.await(thread.ID, "the end", func(thread *client.Thread) bool { return thread.Status == client.ThreadCompleted })
	if end.Completion == nil || end.Completion.Summary != "Made far away." || end.TurnCount != 2 {
		t.Errorf("the thread ended as %s", end.Body)
	}
	coretest.WaitFor(t, "the experience to be found", func() bool { // the index follows the store
		found, err := s.api.ListExperiences(t.Context(), client.ExperienceFilter{Query: "far away"})
		return err == nil && found.Total == 1 && found.Experiences[0].Repo == s.repo
	})
}
