package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// describe is what must be equal wherever an event is read.
func describe(events []client.Event) string {
	var text strings.Builder
	for _, e := range events {
		fmt.Fprintf(&text, "%s %s %s\n", e.ID, e.Type, e.Data)
	}
	return text.String()
}

// Fifty viewers of one execution see the same, whether they came early or late.
func TestManyViewers(t *testing.T) {
	t.Parallel()
	s := dev(t)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(3, "vote", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		if err := hold.wait(ctx); err != nil {
			return nil, err
		}
		return voter(ctx, n, task)
	})
	s.put(vote, "vote", "vote")
	id := s.async("vote", number(1))
	eventually(t, "the tasks to be at the agents", func() bool { return f.handled.Load() == 3 })

	const viewers = 50
	seen := make([]string, viewers)
	var reading sync.WaitGroup
	for i := range viewers {
		v, first := s.watch(t, id, "")
		reading.Add(1)
		go func() {
			defer reading.Done()
			rest, err := v.all()
			if !errors.Is(err, io.EOF) {
				t.Errorf("viewer %d: %v", i, err)
			}
			seen[i] = describe(append([]client.Event{first}, rest...))
		}()
	}
	if open := s.metric("service_streams_open"); open != viewers {
		t.Errorf("%v streams are open", open)
	}
	hold.release()
	reading.Wait()
	late, err := s.open(t, id, "").all()
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	want := describe(late)
	if len(late) != 5 || !late[4].Last() {
		t.Errorf("a stream of the finished execution:\n%s", want)
	}
	for i, got := range seen {
		if got != want {
			t.Fatalf("viewer %d saw\n%s\nwant\n%s", i, got, want)
		}
	}
	eventually(t, "the streams to be closed", func() bool { return s.metric("service_streams_open") == 0 })
}

// A viewer who comes back with the id of any event sees exactly what comes after it, also from the next
// process, and nothing when it was the last one.
func TestResumeAtEachPosition(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.join(3, "vote", voter)
	s.put(vote, "vote", "vote")
	id := s.async("vote", number(1))
	s.settled(id)
	all, err := s.open(t, id, "").all()
	if !errors.Is(err, io.EOF) || len(all) != 5 {
		t.Fatalf("%v\n%s", err, describe(all))
	}
	for range 2 {
		for i, ev := range all {
			rest, err := s.open(t, id, ev.ID).all()
			if !errors.Is(err, io.EOF) || describe(rest) != describe(all[i+1:]) {
				t.Errorf("after %s: %v\n%s", ev.ID, err, describe(rest))
			}
		}
		s.restart()
	}
	for _, bad := range []string{"x", "-1", "99999999999999999999999"} {
		if a := s.read("/api/executions/"+id+"/stream", "Last-Event-ID", bad); a.status != 400 {
			t.Errorf("Last-Event-ID %s: %s", bad, a)
		}
	}
	s.failed(s.read("/api/executions/none/stream"), 404, client.CodeNotFound)
}

// A stream goes on over a kill of the server: the client comes back and sees each event once.
func TestStreamOverARestart(t *testing.T) {
	t.Parallel()
	s := dev(t)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(3, "vote", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		if n > 0 {
			if err := hold.wait(ctx); err != nil {
				return nil, err
			}
		}
		return voter(ctx, n, task)
	})
	s.put(vote, "vote", "vote")
	stream, err := s.api.ExecuteStream(t.Context(), client.ExecuteRequest{Pattern: "vote", Input: number(2)})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var got []client.Event
	for len(got) < 2 {
		ev, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
	}
	s.restart()
	f.wait(t)
	hold.release()
	for {
		ev, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
	}
	all, err := s.open(t, stream.ExecutionID(), "").all()
	if !errors.Is(err, io.EOF) || describe(all) != describe(got) {
		t.Errorf("over the restart:\n%s\nin all (%v):\n%s", describe(got), err, describe(all))
	}
	if stream.Resumed() == 0 {
		t.Error("the stream was never interrupted")
	}
}

// A silent stream sends comments, so that no proxy closes it.
func TestHeartbeatComment(t *testing.T) {
	t.Parallel()
	s := serve(t, "streams.heartbeat: 1s\nstreams.writeTimeout: 500ms")
	s.put(single, "none", "none")
	id := s.async("none", nil)
	v := s.open(t, id, "")
	beats := 0
	var at [2]time.Time
	for lines := v.lines(); beats < 2 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			at[beats] = time.Now()
			beats++
		}
	}
	if between := at[1].Sub(at[0]); beats < 2 || between < 500*time.Millisecond || between > 5*time.Second {
		t.Errorf("%d heartbeats, %s apart", beats, between)
	}
	if _, err := s.api.CancelExecution(t.Context(), id, "test over"); err != nil {
		t.Fatal(err)
	}
}

// A viewer that stops reading is dropped after the time of one write, and slows nobody.
func TestViewerThatStopsReading(t *testing.T) {
	t.Parallel()
	s := serve(t, "streams.writeTimeout: 500ms\nmetrics.public: true")
	const size, chunks = 32 << 10, 300
	start := newGate()
	t.Cleanup(start.release)
	s.join(1, "talker", func(ctx context.Context, _ int, task *agent.Task) (any, error) {
		if err := start.wait(ctx); err != nil {
			return nil, err
		}
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for i := range chunks {
			task.Progress(fmt.Sprintf("%d %s", i, strings.Repeat("x", size)))
			<-pace.C
		}
		return map[string]any{"answer": "done"}, nil
	})
	s.put(single, "talker", "talker")
	id := s.async("talker", nil)
	s.open(t, id, "") // reads its header, and then nothing
	reader := s.open(t, id, "")
	start.release()
	progress, last := 0, time.Now()
	var pause time.Duration
	for {
		ev, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		pause, last = max(pause, time.Since(last)), time.Now()
		if ev.Type == "agent_progress" {
			progress++
		}
	}
	if progress == 0 {
		t.Error("the good viewer saw no progress")
	}
	if pause > 2*time.Second {
		t.Errorf("the good viewer was kept waiting for %s", pause)
	}
	if e := s.settled(id); e.Status != client.StatusCompleted {
		t.Errorf("the execution is %s", e.Status)
	}
	eventually(t, "the bad viewer to be dropped", func() bool { return s.metric("service_streams_open") == 0 })
}
