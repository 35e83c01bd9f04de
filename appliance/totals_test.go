package appliance_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
)

// TestMeanOverARestart: the mean duration goes on from executions of every end, as it counts them while the process lives.
func TestMeanOverARestart(t *testing.T) {
	opts := appliance.Options{Dev: true, Listen: "127.0.0.1:0", DataDir: t.TempDir(), Version: "1.2.3"}
	mean := func(c *client.Client) float64 {
		health, err := c.HealthDetailed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return float64(health.Metrics.AvgExecutionTime)
	}
	a, err := appliance.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := client.New("http://"+a.Addr(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.CreatePattern(t.Context(), client.PatternInput{Definition: "name: none\nversion: 1.0.0\nagents: {capabilities: [x]}\n"}); err != nil {
		t.Fatal(err)
	}
	begun, err := c.ExecuteAsync(t.Context(), client.ExecuteRequest{Pattern: "none", Input: []byte(`{}`), Options: client.ExecuteOptions{Timeout: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the execution to fail", func() bool {
		e, err := c.GetExecution(t.Context(), begun.ExecutionID)
		return err == nil && e.Status == client.StatusFailed && mean(c) > 0
	})
	before := mean(c)
	a.Close()

	again, err := client.New("http://"+open(t, opts).Addr(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if after := mean(again); after < before-1 || after > before+1 {
		t.Errorf("the mean is %v ms after a restart, was %v ms", after, before)
	}
}
