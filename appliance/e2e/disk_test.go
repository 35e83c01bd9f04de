package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/client"
)

// disks are the kinds of small file system the tests run on.
var disks = map[string]func(t *testing.T, dir string){
	"tmpfs": func(t *testing.T, dir string) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskSize)); err != nil {
			requireReal(t, "tmpfs cannot be mounted here: %v", err)
		}
	},
	"ext4": func(t *testing.T, dir string) {
		image := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, diskSize); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"mkfs.ext4", "-q", "-F", "-m", "0", image}, {"mount", "-o", "loop", image, dir}} {
			if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
				requireReal(t, "ext4 in a file cannot be mounted here: %v: %v %s", command, err, out)
			}
		}
	},
}

const (
	mib      = 1 << 20
	diskSize = 400 * mib
)

// onSmallDisks runs a test on each kind of small file system; what is mounted is gone after it.
func onSmallDisks(t *testing.T, test func(t *testing.T, disk string)) {
	for kind, mount := range disks {
		t.Run(kind, func(t *testing.T) {
			if os.Geteuid() != 0 {
				requireReal(t, "a small file system needs root to mount it")
			}
			dir := t.TempDir()
			mount(t, dir)
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			test(t, dir)
		})
	}
}

// fill writes a file until so many bytes are free; 0 takes every last one.
func fill(t *testing.T, dir string, leave int64) (remove func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, mib)
	for free(t, dir) > leave {
		size := min(int64(len(block)), free(t, dir)-leave)
		if size <= 0 {
			break
		}
		if _, err := f.Write(block[:size]); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			break
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func free(t *testing.T, dir string) int64 {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return int64(st.Bavail) * st.Bsize
}

// onDisk starts a server whose store lies on the given file system.
func onDisk(t *testing.T, disk string) *server {
	t.Helper()
	s := configured(t, t.TempDir(), filepath.Join(disk, "store"), "store.minFree: 64MiB")
	s.start()
	return s
}

// A full disk stops writes with a clear answer, harms nothing that runs, and is over by itself.
func TestDiskFull(t *testing.T) { onSmallDisks(t, diskFull) }

func diskFull(t *testing.T, disk string) {
	s := onDisk(t, disk)
	hold := newGate()
	t.Cleanup(hold.release)
	f := s.join(1, "slow", func(ctx context.Context, n int, task *agent.Task) (any, error) {
		return map[string]any{"answer": 42}, hold.wait(ctx)
	})
	s.put(single, "slow", "slow")
	id := s.async("slow", nil)
	eventually(t, "the task to be at the agent", func() bool { return f.handled.Load() == 1 })

	remove := fill(t, disk, 32*mib)
	eventually(t, "the server to notice", func() bool { return s.read("/api/health/ready").status == 503 })
	for _, request := range []func() answer{
		func() answer { return s.post("/api/patterns/slow/execute?async=true", `{}`) },
		func() answer { return s.post("/api/patterns/slow/execute", `{}`, "Idempotency-Key", "full") },
		func() answer { return s.post("/api/patterns/slow/execute/stream", `{}`) },
		func() answer { return s.post("/api/batch/execute", `{"pattern":"slow","inputs":[{}]}`) },
		func() answer {
			return s.do("PUT", "/api/patterns/slow", "application/x-yaml", strings.NewReader(fmt.Sprintf(single, "slow", "slow")))
		},
	} {
		a := request()
		failed := s.failed(a, http.StatusServiceUnavailable, client.CodeInternal)
		if !strings.Contains(failed.Error.Message, "read-only") || !strings.Contains(failed.Error.Message, "MiB free") {
			t.Errorf("the answer does not say what is wrong: %s", a)
		}
		if a.header.Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %s", a)
		}
	}
	health, err := s.api.HealthDetailed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if health.Status != "unhealthy" {
		t.Errorf("health is %s", health.Status)
	}
	for _, c := range health.Checks {
		if c.Name == "store" && (c.Status != "failed" || !strings.Contains(c.Message, "MiB") || !strings.Contains(c.Hint, "disk space")) {
			t.Errorf("check of the store: %+v", c)
		}
	}
	if s.read("/api/health/live").status != 200 {
		t.Error("a full disk is no reason to restart the process")
	}

	// Reads go on; the agent's answer waits unacknowledged.
	hold.release()
	eventually(t, "the agent to have answered", func() bool { return f.agents[0].Stats().Running == 0 })
	if e := s.get(id); e.Status != client.StatusRunning {
		t.Errorf("the execution is %s while nothing can be stored", e.Status)
	}
	if _, err := s.api.GetPattern(t.Context(), "slow", ""); err != nil {
		t.Error(err)
	}
	if n := f.agents[0].Stats().Unacknowledged; n != 1 {
		t.Errorf("%d answers wait for an acknowledgement; one that is not stored must", n)
	}

	remove()
	if e := s.settled(id); e.Status != client.StatusCompleted || string(e.Result) != `{"answer":42}` {
		t.Fatalf("with space back: %s %s %+v", e.Status, e.Result, e.Error)
	}
	eventually(t, "the acknowledgement", func() bool { return f.agents[0].Stats().Unacknowledged == 0 })
	eventually(t, "readiness", func() bool { return s.read("/api/health/ready").status == 200 })
	a := s.post("/api/patterns/slow/execute", `{}`, "Idempotency-Key", "full")
	if a.status != 200 {
		t.Errorf("the refused request, sent again: %s", a)
	}
	if again := f.repeated(); len(again) > 0 {
		t.Errorf("tasks were worked on twice: %v", again)
	}
}

// Another process takes every last byte while the server is under load. What was accepted is there in the
// end, also when the process is killed in that state and cannot start again before space is back.
func TestDiskFullToTheLastByte(t *testing.T) { onSmallDisks(t, diskFullToTheLastByte) }

func diskFullToTheLastByte(t *testing.T, disk string) {
	s := onDisk(t, disk)
	f := s.join(3, "vote", voter)
	s.put(vote, "vote", "vote")

	var accepted sync.Map // execution id to number
	var stored, refused atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for worker := range 8 {
		load.Add(1)
		go func() {
			defer load.Done()
			for n := worker; ; n += 8 {
				select {
				case <-stop:
					return
				default:
				}
				e, err := s.api.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "vote", Input: number(n)})
				var refusal *client.Error
				switch {
				case err == nil:
					accepted.Store(e.ExecutionID, n)
					stored.Add(1)
				case errors.As(err, &refusal) && refusal.Status == http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					t.Errorf("request %d: %v", n, err)
					return
				}
			}
		}()
	}
	eventually(t, "some load", func() bool { return stored.Load() > 50 })
	remove := fill(t, disk, 0)
	before := refused.Load()
	eventually(t, "refusals", func() bool { return refused.Load() > before+50 || t.Failed() })
	if s.read("/api/health/live").status != 200 {
		t.Error("the process is not live")
	}
	close(stop)
	load.Wait()
	remove()
	eventually(t, "readiness", func() bool { return s.read("/api/health/ready").status == 200 })
	check := func() {
		t.Helper()
		accepted.Range(func(id, n any) bool {
			checkVote(t, n.(int), s.settled(id.(string)))
			return true
		})
	}
	check()

	remove = fill(t, disk, 0)
	s.kill()
	// Without a free byte it serves what it has, in the room that was kept for this. Where that was used up already, or the
	// file system took it, it says what to do.
	if s.startFull() {
		var known string
		accepted.Range(func(id, _ any) bool { known = id.(string); return false })
		if known != "" && s.read("/api/executions/"+known).status != 200 {
			t.Error("nothing can be read on a full disk")
		}
		if a := s.read("/api/health/ready"); a.status != 503 {
			t.Errorf("ready on a full disk: %+v", a)
		}
		remove()
		eventually(t, "readiness", func() bool { return s.read("/api/health/ready").status == 200 })
	} else {
		if !strings.Contains(s.log.String(), "free some space and start again") {
			t.Errorf("a start without a free byte: %s", s.log)
		}
		remove()
		s.start()
	}
	f.wait(t)
	check()
	e, err := s.api.Execute(t.Context(), client.ExecuteRequest{Pattern: "vote", Input: number(7)})
	if err != nil {
		t.Fatal(err)
	}
	checkVote(t, 7, e)
	t.Logf("%d accepted, %d refused", stored.Load(), refused.Load())
}
