package api_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// fakeLimits allows a number of requests, and records what it is asked.
type fakeLimits struct {
	clock   core.Clock
	allowed int
	refuse  bool // every address
	asked   []string

	holds, released int // streams at once, 0: any number; those that ended
	held            []string
}

func (f *fakeLimits) Admit(*http.Request) (string, error) {
	if f.refuse {
		return "", core.Errorf(core.CodeForbidden, "requests from this address are not allowed")
	}
	return "192.0.2.1", nil
}

func (f *fakeLimits) Take(client string, kind core.RequestKind, pattern string) core.Quota {
	f.asked = append(f.asked, strings.Join([]string{client, strconv.Itoa(int(kind)), pattern}, "|"))
	q := core.Quota{Limit: 10, Remaining: f.allowed, Window: time.Minute, Reset: f.clock.Now().Add(1500 * time.Millisecond)}
	if f.allowed > 0 {
		f.allowed--
		q.Allowed = true
	} else {
		q.By, q.Retry = "client", 1200*time.Millisecond
	}
	return q
}

func TestQuota(t *testing.T) {
	var l *fakeLimits
	authorized := 0
	r := newRig(t, func(o *api.Options) {
		l = &fakeLimits{clock: o.Clock, allowed: 3}
		o.Limits = l
		o.Authenticate = func(r *http.Request) (core.Principal, error) {
			if r.Header.Get("Authorization") == "" {
				return core.Principal{}, core.Errorf(core.CodeUnauthorized, "a credential is needed")
			}
			return core.Principal{Kind: "apiKey", ID: "alice"}, nil
		}
		o.Authorize = func(context.Context, core.Principal, api.Access) error { authorized++; return nil }
	})
	const key = "Authorization: Bearer x"
	if a := r.do("GET", "/api/health/live", ""); a.status != 200 || a.header.Get("X-RateLimit-Limit") != "" {
		t.Fatalf("a probe: %d, %v", a.status, a.header)
	}
	l.allowed, l.asked = 3, nil // the check of all answers has read the OpenAPI document
	a := r.do("GET", "/api/patterns", "", key)
	want := strconv.FormatInt(r.clock.Now().Unix()+2, 10)
	if a.status != 200 || a.header.Get("X-RateLimit-Limit") != "10" || a.header.Get("X-RateLimit-Remaining") != "3" ||
		a.header.Get("X-RateLimit-Reset") != want {
		t.Fatalf("%d, %v", a.status, a.header)
	}
	r.do("POST", "/api/patterns/code-review/execute", `{"input":{}}`, key)
	r.do("GET", "/api/openapi.json", "")
	authorized = 0
	a = r.do("POST", "/api/patterns", `{`, key)
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "2" || a.header.Get("X-RateLimit-Remaining") != "0" ||
		a.at("error", "code") != "RATE_LIMITED" || authorized != 0 || a.at("error", "details", "limit") != 10. ||
		a.at("error", "details", "windowSeconds") != 60. || a.at("error", "details", "retryAfter") != 2. {
		t.Fatalf("%d, %v, %s", a.status, a.header, a.text)
	}
	l.allowed = 1
	if a := r.do("GET", "/api/patterns", ""); a.status != http.StatusUnauthorized || a.header.Get("X-RateLimit-Limit") != "10" {
		t.Fatalf("without a credential: %d", a.status)
	}
	got := strings.Join(l.asked, "\n")
	if want := "principal alice|0|\nprincipal alice|2|code-review\naddress 192.0.2.1|0|\nprincipal alice|1|\naddress 192.0.2.1|0|"; got != want {
		t.Fatalf("asked\n%s\nwant\n%s", got, want)
	}
}

func TestOriginRefused(t *testing.T) {
	var l *fakeLimits
	r := newRig(t, func(o *api.Options) {
		l = &fakeLimits{clock: o.Clock, allowed: 1}
		o.Limits = l
		o.Authenticate = func(*http.Request) (core.Principal, error) {
			t.Error("a credential is looked at")
			return core.Principal{}, nil
		}
	})
	r.do("GET", "/api/health/live", "") // the check of all answers reads the OpenAPI document
	l.refuse = true
	for _, path := range []string{"/api/patterns", "/api/health/live", "/api/agents/connect"} {
		if a := r.do("GET", path, ""); a.status != http.StatusForbidden || a.at("error", "code") != "FORBIDDEN" ||
			a.at("error", "details", "action") == nil {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
}

func (f *fakeLimits) Hold(client string, kind core.HoldKind) (release func(), limit int, ok bool) {
	f.held = append(f.held, client)
	return func() { f.released++ }, f.holds, f.holds == 0 || len(f.held)-f.released <= f.holds
}

// A client with as many streams as it may have gets no other, before anything of it is looked at; agents count elsewhere.
func TestHeldStreams(t *testing.T) {
	var l *fakeLimits
	r := newRig(t, func(o *api.Options) {
		l = &fakeLimits{clock: o.Clock, allowed: 100, holds: 1}
		o.Limits = l
	})
	l.held = []string{"another"}
	got := r.do("GET", "/api/executions/"+execID+"/stream", "")
	got.wants(t, 429, core.CodeRateLimited)
	if got.header.Get("Retry-After") != "5" || got.at("error", "details", "limit") != 1.0 {
		t.Errorf("%v %s", got.header, got.text)
	}
	l.held = nil
	r.do("GET", "/api/agents/connect", "")
	if len(l.held) != 0 {
		t.Errorf("a connection of an agent was counted: %v", l.held)
	}
}
