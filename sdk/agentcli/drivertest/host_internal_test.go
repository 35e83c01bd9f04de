package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

// named is a driver that signals its name; what it saves is the name of the next one.
type named struct {
	agentcli.Driver
	host agentcli.Host
	name string
}

func (*named) Save() []byte    { return []byte("second") }
func (n *named) Load(s []byte) { n.name = string(s) }
func (n *named) signal()       { n.host.Signal(agentcli.Signal{Kind: agentcli.SignalText, Text: n.name}) }

type naming struct{ agentcli.Adapter }

func (naming) NewDriver(_ agentcli.Plan, _ agentcli.Room, h agentcli.Host) agentcli.Driver {
	return &named{host: h, name: "first"}
}

// paper is a process that takes all that is typed.
type paper struct{ agentcli.Process }

func (paper) Write(context.Context, []byte) error { return nil }

// Of a driver that is replaced nothing is heard any more: not its timers, nor what it reads; and what it types ends.
func TestReload(t *testing.T) {
	a := &Agent{tb: t, adapter: naming{}, proc: paper{}, work: make(chan func()), stop: make(chan struct{}), more: make(chan struct{})}
	a.host = newHost(a)
	a.driver = a.adapter.NewDriver(a.Plan, a.Room, a.host)
	a.group.Add(1)
	go a.loop()
	begin := func(after time.Duration) {
		n := a.driver.(*named)
		a.host.After(after, n.signal)
		a.host.Do(func() {}, n.signal)
		a.host.Type([]agentcli.Step{{Wait: time.Hour}})
	}
	a.post(func() {
		begin(time.Millisecond)
		a.reload()
		begin(20 * time.Millisecond)
	})
	for range 2 {
		if s := a.Wait(agentcli.SignalText); s.Text != "second" {
			t.Errorf("heard of the %s", s.Text)
		}
	}
	a.post(a.host.end)
	close(a.stop)
	a.group.Wait()
}
