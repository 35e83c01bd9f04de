package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// descriptors counts the open files of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(procFile(pid, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestTerminateWithViewers ends the service while many look on and many wait: in its time, in good order, and
// without the agent.
func TestTerminateWithViewers(t *testing.T) {
	const viewers, senders = 50, 20
	c := managed(t, "server.shutdownTimeout: 4s")
	a := c.shell()
	pid := c.agent(a.ID).PID
	c.told(a.ID, "kept=yes", "")
	var consoles []*console
	for range viewers {
		consoles = append(consoles, c.view(a.ID, runtime.AttachOptions{}))
	}
	failures := make(chan error, senders+1)
	send := func(in client.ManagedAgentInput) {
		in.Timeout = time.Minute
		_, err := c.api.SendManagedAgent(t.Context(), a.ID, in)
		failures <- err
	}
	go send(client.ManagedAgentInput{Message: "sleep 8; echo slept", ExpectResponse: true})
	c.await(a.ID, client.ManagedBusy)
	for i := range senders {
		go send(client.ManagedAgentInput{Message: fmt.Sprintf("echo %d >> waited", i)})
	}
	<-time.After(300 * time.Millisecond) // most of them wait by now; one that comes later is refused
	begin := time.Now()
	c.signal(syscall.SIGTERM)
	for range senders + 1 {
		var refused *client.Error
		if err := <-failures; !errors.As(err, &refused) {
			t.Errorf("a send that waited ends with %v, which is no answer", err)
		}
	}
	if code := c.wait(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, c.log)
	}
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("the end took %s of 4 s", took)
	} else {
		t.Logf("the end took %s", took)
	}
	for _, v := range consoles {
		<-v.done
	}
	if kill0 := syscall.Kill(pid, 0); kill0 != nil {
		t.Fatalf("the agent ended with the service: %v", kill0)
	}
	c.start()
	c.runtimeReady()
	c.await(a.ID, client.ManagedReady)
	c.told(a.ID, "echo $kept; ls waited 2>/dev/null | wc -l", "yes\n0")
	if now := c.agent(a.ID).PID; now != pid {
		t.Errorf("pid %d, was %d", now, pid)
	}
	c.retire(a.ID)
}

// TestNothingLeaks attaches and lets go, starts and stops, and counts what the processes hold.
func TestNothingLeaks(t *testing.T) {
	c := managed(t)
	core, plugin := c.process.PID(), c.pluginPID()
	a := c.shell()
	round := func(n int) {
		for range n {
			for range 4 {
				v := c.view(a.ID, runtime.AttachOptions{})
				v.close()
			}
			b := c.shell()
			c.retire(b.ID)
		}
	}
	round(5)
	// Connections of the test that rest between requests are no leak; how many there are is a matter of the load.
	c.transport.CloseIdleConnections()
	before := [2]int{descriptors(t, core), descriptors(t, plugin)}
	round(20)
	eventually(t, "the descriptors to be as before", func() bool {
		c.transport.CloseIdleConnections()
		after := [2]int{descriptors(t, core), descriptors(t, plugin)}
		return after[0] <= before[0]+3 && after[1] <= before[1]+3
	})
	t.Logf("descriptors before %v, after %d and %d", before, descriptors(t, core), descriptors(t, plugin))
	c.retire(a.ID)
}
