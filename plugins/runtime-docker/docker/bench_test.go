package docker_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// BenchmarkSpawn compares the start of an agent with what docker run does for the same image in the same network, in turns. The
// times are medians.
func BenchmarkSpawn(b *testing.B) {
	e, ctx := need(b), b.Context()
	c := e.client(b)
	rt := e.plugin(b, nil).Conn().Runtime()
	spawn(ctx, b, rt, shell("bench-warm-"+strconv.FormatInt(time.Now().UnixNano(), 36))) // the network is made, the image is looked into
	var bare, spawned []time.Duration
	for b.Loop() {
		from := time.Now()
		made, err := c.ContainerCreate(ctx, &container.Config{Image: "wardroom/test:1", Cmd: []string{"sleep", "60"}},
			&container.HostConfig{NetworkMode: "wardroom-agents"}, nil, nil, "")
		if err == nil {
			err = c.ContainerStart(ctx, made.ID, container.StartOptions{})
		}
		if err != nil {
			b.Fatal(err)
		}
		bare = append(bare, time.Since(from))
		if err := c.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}); err != nil {
			b.Fatal(err)
		}
		spec := shell("bench-" + strconv.FormatInt(time.Now().UnixNano(), 36))
		from = time.Now()
		if _, err := rt.Spawn(ctx, spec); err != nil {
			b.Fatal(err)
		}
		spawned = append(spawned, time.Since(from))
		if err := rt.Stop(ctx, spec.ID, runtime.StopOptions{Force: true}); err != nil {
			b.Fatal(err)
		}
	}
	report(b, bare, spawned)
}

// report reports the medians of starts, and what a spawn takes beyond a bare start.
func report(b *testing.B, bare, spawned []time.Duration) {
	b.Helper()
	median := func(list []time.Duration) float64 {
		slices.Sort(list)
		return float64(list[len(list)/2].Microseconds()) / 1000
	}
	m, n := median(bare), median(spawned)
	b.ReportMetric(m, "ms-bare")
	b.ReportMetric(n, "ms-spawn")
	b.ReportMetric(n-m, "ms-beyond")
	b.ReportMetric(0, "ns/op") // of both and their removal: it says nothing
}
