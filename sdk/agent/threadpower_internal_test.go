package agent

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// image is what a loss of power leaves of the journals: what they held when they were synced.
type image struct {
	mu    sync.Mutex // guards saved
	saved map[string]synced
}

type synced struct {
	file os.FileInfo
	raw  []byte
}

func (i *image) sync(f *os.File) error {
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.saved[f.Name()] = synced{info, raw}
	return nil
}

// read reads a journal as a process after the loss would. One that was replaced meanwhile is there whole: package
// durable syncs it.
func (i *image) read(t *testing.T, path string) *savedThread {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	s, ok := i.saved[path]
	if !ok {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(info, s.file) {
		if s.raw, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return readJournal(s.raw)
}

// keptHost hosts threads that outlive the process.
type keptHost struct {
	deafHost
	spawned, adopted chan *Thread
}

func (h keptHost) Spawn(_ context.Context, t *Thread) error {
	h.spawned <- t
	return nil
}

func (h keptHost) Adopt(_ context.Context, t *Thread, _ string) { h.adopted <- t }

// TestThreadsSurviveALossOfPower checks that the server gets nothing of a thread that a loss of power would take back: a
// sequence that is used again is taken for a repetition.
func TestThreadsSurviveALossOfPower(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	srv := agenttest.NewServer(agenttest.Options{MessagesPerSecond: 1000000})
	defer srv.Close()
	dir, host := t.TempDir(), keptHost{spawned: make(chan *Thread, 1), adopted: make(chan *Thread, 1)}
	disk := &image{saved: map[string]synced{}}
	journal := filepath.Join(dir, "state", "thread_1"+journalSuffix)
	start := func() (conn *agenttest.Conn, stop func()) {
		t.Helper()
		a, err := New(Options{
			URL: srv.URL, Name: "site", StateFile: filepath.Join(dir, "session.json"),
			Threads: &ThreadOptions{Max: 1, Types: []string{"claude"}, Host: host, StateDir: filepath.Join(dir, "state")},
		})
		if err != nil {
			t.Fatal(err)
		}
		a.threads.sync = disk.sync
		running, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- a.Run(running) }()
		if conn, err = srv.Accept(ctx); err != nil {
			t.Fatal(err)
		}
		return conn, sync.OnceFunc(func() {
			end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	conn, stop := start()
	defer stop()
	if err := conn.Send(protocol.TypeThreadSpawn, "", protocol.ThreadSpawn{ThreadID: "thread_1", AgentType: "claude"}); err != nil {
		t.Fatal(err)
	}
	thread := <-host.spawned
	if _, err := conn.Next(ctx, protocol.TypeThreadStatus, nil); err != nil {
		t.Fatal(err)
	}
	if disk.read(t, journal) == nil {
		t.Fatal("the server was told of a thread that a loss of power takes back")
	}
	tell := func(conn *agenttest.Conn, thread *Thread, n int, seqs ...uint64) {
		t.Helper()
		for range n {
			if err := thread.Say(ctx, "something"); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range seqs {
			var e protocol.ThreadEvent
			if _, err := conn.Next(ctx, protocol.TypeThreadEvent, &e); err != nil {
				t.Fatal(err)
			}
			if left := disk.read(t, journal); e.Sequence != want || left == nil || left.last < want {
				t.Fatalf("event %d was sent, wanted %d; a loss of power leaves %+v", e.Sequence, want, left)
			}
		}
	}
	tell(conn, thread, 3, 1, 2, 3)
	stop()

	// What a process wrote and did not sync is sent by the next one.
	disk.mu.Lock()
	clear(disk.saved)
	disk.mu.Unlock()
	conn, stop = start()
	defer stop()
	tell(conn, <-host.adopted, 1, 1, 2, 3, 4)
}
