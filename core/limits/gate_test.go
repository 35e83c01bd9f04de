package limits_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/limits"
)

func TestGateAdmits(t *testing.T) {
	g := limits.NewGate(limits.Rules{
		Allowed: networks(t, "192.0.2.0/24"), Proxies: networks(t, "10.0.0.0/8"),
	}, coretest.NewClock(), func(string) {})
	for name, c := range map[string]struct {
		remote, forwarded, client string
	}{
		"allowed":                     {"192.0.2.1:1", "", "192.0.2.1"},
		"another":                     {"198.51.100.1:1", "", ""},
		"another that says it is not": {"198.51.100.1:1", "192.0.2.1", ""},
		"behind a proxy":              {"10.0.0.1:1", "192.0.2.1", "192.0.2.1"},
		"another behind a proxy":      {"10.0.0.1:1", "198.51.100.1", ""},
		"a proxy that says nothing":   {"10.0.0.1:1", "", ""},
		"a proxy that says nonsense":  {"10.0.0.1:1", "unknown", ""},
		"a socket file":               {"@", "", "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{}}
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		client, err := g.Admit(r)
		if client != c.client || (err == nil) != (c.client != "") || err != nil && core.ErrorCode(err) != core.CodeForbidden {
			t.Errorf("%s: got %q, %v; want %q", name, client, err, c.client)
		}
	}
	g.Change(limits.Rules{})
	if _, err := g.Admit(&http.Request{RemoteAddr: "198.51.100.1:1"}); err != nil {
		t.Errorf("without a list: %v", err)
	}
}

func TestGateChanges(t *testing.T) {
	clock := coretest.NewClock()
	rules := limits.Rules{Limited: true, Limits: limits.Options{PerClient: limits.Rate{PerSecond: 1, Burst: 1}}}
	refused := map[string]int{}
	g := limits.NewGate(rules, clock, func(client string) { refused[client]++ })
	g.Take("alice", core.RequestRead, "")
	g.Change(rules)
	if v := g.Take("alice", core.RequestRead, ""); v.Allowed || v.Retry != time.Second {
		t.Fatalf("the same rules again: %+v", v)
	}
	rules.Limited = false
	g.Change(rules)
	if v := g.Take("alice", core.RequestRead, ""); !v.Allowed || v.Limit != 0 {
		t.Fatalf("without limits: %+v", v)
	}
	rules.Limited, rules.Limits.PerClient.Burst = true, 3
	g.Change(rules)
	if v := g.Take("alice", core.RequestRead, ""); !v.Allowed || v.Limit != 3 {
		t.Fatalf("other limits: %+v", v)
	}
	if len(refused) != 1 || refused["alice"] != 1 {
		t.Fatalf("refused: %v", refused)
	}
}
