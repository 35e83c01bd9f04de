package agents_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// join makes a registered agent and returns its id.
func (r *rig) join(reg protocol.Register) (*peer, string) {
	r.tb.Helper()
	p := r.dial()
	return p, p.register(reg).AgentID
}

func TestReserveOrder(t *testing.T) {
	r := newRig(t, agents.Config{})
	reg := func(name, region, model string, tasks int, capabilities ...string) string {
		_, id := r.join(protocol.Register{
			Name: name, Region: region, Capabilities: capabilities, Metadata: map[string]any{"model": model},
			Config: protocol.RegisterConfig{MaxConcurrentTasks: tasks},
		})
		return id
	}
	small := reg("small", "eu", "m1", 2, "a")
	big := reg("big", "us", "m2", 4, "a", "b")
	other := reg("other", "us", "m1", 4, "c")

	reserve := func(n int, need core.TaskNeed) []string { return r.svc.Reserve(need, n) }
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("%s: got %v, want %v", what, got, want)
		}
	}
	if n := r.svc.CountCapable(need("a")); n != 2 {
		t.Fatalf("capable of a: %d", n)
	}
	if n := r.svc.CountCapable(core.TaskNeed{Capabilities: []string{"a"}, Exclude: map[string]bool{small: true, other: true}}); n != 1 {
		t.Fatalf("capable of a without small: %d", n)
	}
	check("nothing fits", reserve(3, need("a", "c")))
	check("none asked", reserve(0, need("a")))
	check("both need a and b", reserve(3, need("b", "a")), big)             // big 1/4
	check("less loaded first", reserve(1, need("a")), small)                // small 1/2
	check("the smaller share", reserve(1, need("a")), big)                  // big 2/4
	check("least recently used among equals", reserve(1, need("a")), small) // small 2/2
	check("busy ones are left out", reserve(2, need("a")), big)             // big 3/4
	check("each once", reserve(5, need("a")), big)                          // big 4/4
	check("all busy", reserve(1, need("a")))
	r.svc.Release(small, "", "")
	check("given back", reserve(2, need("a")), small)
	check("all of any kind", reserve(9, need()), other)
	for range 4 {
		r.svc.Release(big, "", "")
		r.svc.Release(small, "", "")
		r.svc.Release(other, "", "")
	}
	r.svc.Release(small, "task_x", "no reservation left")

	prefer := func(p core.AgentPreference) core.TaskNeed { return core.TaskNeed{Prefer: p} }
	check("region", reserve(1, prefer(core.AgentPreference{Region: "eu"})), small)
	check("region beats load", reserve(1, prefer(core.AgentPreference{Region: "eu"})), small)
	check("model", reserve(1, prefer(core.AgentPreference{Model: "m2"})), big)
	check("region beats model", reserve(2, prefer(core.AgentPreference{Region: "us", Model: "m1"})), other, big)
	check("name beats region", reserve(1, prefer(core.AgentPreference{Region: "us", Names: []string{"x", "big"}})), big)
	check("a busy name", reserve(1, prefer(core.AgentPreference{Names: []string{"small"}})), other)
	exclude := prefer(core.AgentPreference{Names: []string{"big"}})
	exclude.Exclude = map[string]bool{big: true}
	check("excluded", reserve(3, exclude), other)
}

// Whatever happens, an agent never has more reservations than slots, and nothing is lost.
func TestReserveModel(t *testing.T) {
	r := newRig(t, agents.Config{})
	type model struct{ busy, max int }
	fleet := map[string]*model{}
	for i := range 12 {
		_, reg := r.register(fmt.Sprint("a", i), 1+i%3, "x", fmt.Sprint("c", i%4))
		fleet[reg.AgentID] = &model{max: 1 + i%3}
	}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			if rapid.Bool().Draw(rt, "reserve") {
				n := rapid.IntRange(0, 8).Draw(rt, "n")
				free := 0
				for _, m := range fleet {
					if m.busy < m.max {
						free++
					}
				}
				got := r.svc.Reserve(need("x"), n)
				if len(got) != min(n, free) {
					rt.Fatalf("reserved %d, want %d", len(got), min(n, free))
				}
				for i, id := range got {
					if slices.Contains(got[:i], id) {
						rt.Fatalf("%s twice in %v", id, got)
					}
					if fleet[id].busy++; fleet[id].busy > fleet[id].max {
						rt.Fatalf("%s has too many", id)
					}
				}
				continue
			}
			for id, m := range fleet {
				if m.busy > 0 {
					m.busy--
					r.svc.Release(id, "", "")
					break
				}
			}
		}
	})
}

func TestCapacityChanged(t *testing.T) {
	r := newRig(t, agents.Config{})
	_, reg := r.register("one", 1, "echo")
	coretest.WaitFor(t, "capacity of a new agent", func() bool { return r.sink.capacities() == 1 })
	r.give(reg.AgentID, task("task_1"))
	r.svc.Release(reg.AgentID, "task_1", "")
	coretest.WaitFor(t, "capacity of a freed slot", func() bool { return r.sink.capacities() == 2 })
}

func TestFindAgents(t *testing.T) {
	r := newRig(t, agents.Config{})
	ctx := context.Background()
	var ids []string
	for i := range 7 {
		p, id := r.join(protocol.Register{Name: fmt.Sprint("n", i), Region: []string{"eu", "us"}[i%2], Capabilities: []string{"a", fmt.Sprint("c", i)}})
		ids = append(ids, id)
		if i == 3 {
			p.send(protocol.TypeDisconnect, "", protocol.Disconnect{})
			<-p.closed
		}
		if i == 5 {
			p.cut()
			r.waitLost(id)
		}
	}
	slices.Reverse(ids)
	list := func(f core.AgentFilter) ([]string, core.PageInfo, core.AgentCounts) {
		t.Helper()
		found, info, counts, err := r.svc.FindAgents(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, a := range found {
			out = append(out, a.ID)
		}
		return out, info, counts
	}
	got, info, counts := list(core.AgentFilter{})
	if !slices.Equal(got, ids) || info.Total != 7 || info.HasMore || counts != (core.AgentCounts{Connected: 6, Disconnected: 1, Healthy: 5}) {
		t.Fatalf("all: %v %+v %+v", got, info, counts)
	}
	var walked []string
	for cursor := ""; ; {
		page, info, _ := list(core.AgentFilter{Page: core.Page{Limit: 3, Cursor: cursor}})
		walked = append(walked, page...)
		if info.Total != 7 || info.HasMore != (info.NextCursor != "") {
			t.Fatalf("page: %+v", info)
		}
		if cursor = info.NextCursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(walked, ids) {
		t.Fatalf("walked %v", walked)
	}
	if got, info, _ := list(core.AgentFilter{Page: core.Page{Limit: 2, Offset: 5}}); !slices.Equal(got, ids[5:]) || info.HasMore {
		t.Fatalf("offset: %v", got)
	}
	if got, _, _ := list(core.AgentFilter{Status: core.AgentDisconnected}); len(got) != 1 {
		t.Fatalf("disconnected: %v", got)
	}
	if _, info, counts := list(core.AgentFilter{Region: "us", Capabilities: []string{"a"}}); info.Total != 3 || counts.Connected != 2 {
		t.Fatalf("region: %+v %+v", info, counts)
	}
	if got, _, _ := list(core.AgentFilter{Capabilities: []string{"a", "c6"}}); len(got) != 1 {
		t.Fatalf("capabilities: %v", got)
	}
	for _, bad := range []core.AgentFilter{
		{Page: core.Page{Limit: 101}}, {Page: core.Page{Limit: -1}}, {Page: core.Page{Offset: -1}},
		{Page: core.Page{Cursor: "zzz"}}, {Status: "asleep"},
	} {
		if _, _, _, err := r.svc.FindAgents(ctx, bad); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := r.svc.FindAgent(ctx, "agent_x"); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("unknown agent: %v", err)
	}
	if c := r.svc.Stats().Connected; c["eu"] != 4 || c["us"] != 2 {
		t.Errorf("connected by region: %v", c)
	}
}
