package joined_test

import (
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core/internal/joined"
)

func TestGroup(t *testing.T) {
	var g joined.Group
	var ran atomic.Int32
	release := make(chan struct{})
	for range 3 {
		g.Go(func() {
			<-release
			ran.Add(1)
		})
	}
	if g.Ended() {
		t.Error("it has ended before its end")
	}
	g.End()
	g.End()
	g.Go(func() { ran.Add(100) })
	close(release)
	g.Wait()
	if n := ran.Load(); n != 3 || !g.Ended() {
		t.Errorf("%d ran, ended %v", n, g.Ended())
	}
}
