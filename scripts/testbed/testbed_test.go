package testbed

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
)

func TestUntil(t *testing.T) {
	looks := 0
	err := Until(t.Context(), time.Minute, "it is so", func(context.Context) (bool, error) { looks++; return looks == 3, nil })
	if err != nil || looks != 3 {
		t.Errorf("%d looks: %v", looks, err)
	}
	err = Until(t.Context(), time.Millisecond, "it is so", func(context.Context) (bool, error) { return false, nil })
	if err == nil || err.Error() != "waited 1ms until it is so" {
		t.Errorf("in vain: %v", err)
	}
	broken := errors.New("broken")
	if err := Until(t.Context(), time.Minute, "", func(context.Context) (bool, error) { return false, broken }); !errors.Is(err, broken) {
		t.Errorf("an error: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Until(over, time.Minute, "", func(context.Context) (bool, error) { return false, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestReceive(t *testing.T) {
	r, err := Receive(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := http.Get(r.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if res.StatusCode != http.StatusTeapot {
		t.Error(res.Status)
	}
}

func TestRunAgents(t *testing.T) {
	srv := agenttest.NewServer(agenttest.Options{})
	defer srv.Close()
	names := make(chan string, 2)
	go func() {
		for range 2 {
			c, err := srv.Accept(t.Context())
			if err != nil {
				names <- err.Error()
				continue
			}
			names <- c.Register.Name
		}
	}()
	agents, err := RunAgents(t.Context(), 2, func(i int) agent.Options {
		return agent.Options{
			URL: srv.URL, Name: []string{"a", "b"}[i], Capabilities: []string{"c"},
			Handler: func(context.Context, *agent.Task) (any, error) { return nil, nil },
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{<-names, <-names}
	slices.Sort(got)
	if err := agents.End(); err != nil || strings.Join(got, " ") != "a b" {
		t.Errorf("%v: %v", got, err)
	}
	if _, err := RunAgents(t.Context(), 1, func(int) agent.Options { return agent.Options{} }); err == nil {
		t.Error("an agent without a name ran")
	}
}

func TestReadings(t *testing.T) {
	pid := os.Getpid()
	if rss, peak := Memory(pid, "VmRSS"), Memory(pid, "VmHWM"); rss < 1<<20 || peak < rss/2 {
		t.Errorf("memory %d, peak %d", rss, peak)
	}
	if Memory(pid, "Pss") == 0 || Parent(pid) != os.Getppid() || CPUTime(1<<30) != 0 || Memory(1<<30, "VmRSS") != 0 {
		t.Errorf("pss %d, parent %d", Memory(pid, "Pss"), Parent(pid))
	}
	exe := Executable(pid)
	if found, err := Running(filepath.Base(exe), "/nowhere", filepath.Dir(exe)); err != nil || !slices.Contains(found, pid) {
		t.Errorf("%s runs as %v: %v", exe, found, err)
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "reserve"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 1<<16), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := DiskUse(dir, nil)
	some, failed := DiskUse(dir, func(name string) bool { return name == "reserve" })
	if err != nil || failed != nil || all-some < 1<<16 {
		t.Errorf("%d bytes, %d without one: %v %v", all, some, err, failed)
	}
	if all, err := DiskUse(filepath.Join(dir, "nothing"), nil); all != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", all, err)
	}
}

func TestQuantile(t *testing.T) {
	if Quantile([]int{1, 2, 3, 4}, .5) != 3 || Quantile([]int{1, 2}, 1) != 2 || Quantile([]int(nil), .5) != 0 {
		t.Error("wrong")
	}
}
