package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// TestRefusedRequestsInTheLog: each has a line with what, why and who, and no text of the caller; one that comes again and
// again is counted.
func TestRefusedRequestsInTheLog(t *testing.T) {
	r := newRig(t, func(o *api.Options) {
		o.Limits = &fakeLimits{clock: o.Clock, allowed: 1 << 20}
		o.Authenticate = func(req *http.Request) (core.Principal, error) {
			return core.Principal{Kind: core.PrincipalAPIKey, ID: req.Header.Get("Authorization")[len("Bearer "):]}, nil
		}
	})
	const evil = "evil\nrequest refused"
	lines := func(word string) (list []string) {
		for line := range strings.Lines(r.log.String()) {
			if strings.Contains(line, word) {
				list = append(list, strings.TrimSpace(line))
			}
		}
		return list
	}
	p := r.do("POST", "/api/patterns", `{"`+strings.ReplaceAll(evil, "\n", `\n`)+`":1}`, "Authorization: Bearer ann", "X-Request-Id: mine-1")
	p.wants(t, 400, "VALIDATION_ERROR")
	list := lines("request refused")
	if len(list) != 1 || strings.Contains(r.log.String(), "evil") {
		t.Fatalf("log\n%s", r.log)
	}
	for _, want := range []string{"[INFO]", "request=mine-1", "operation=createPattern", "status=400", "code=VALIDATION_ERROR", "principal=ann", "address=192.0.2.1"} {
		if !strings.Contains(list[0], want) {
			t.Errorf("%s has no %s", list[0], want)
		}
	}
	r.do("GET", "/api/patterns", "", "Authorization: Bearer ann", "Origin: https://evil.example").wants(t, 403, "FORBIDDEN")
	if list := lines("code=FORBIDDEN"); len(list) != 1 || !strings.Contains(list[0], "principal=anonymous") || !strings.Contains(list[0], "address=127.0.0.1") {
		t.Errorf("a foreign origin: %q", list)
	}
	for i := range 40 {
		r.do("GET", "/api/executions?limit=evil"+strconv.Itoa(i), "", "Authorization: Bearer bob").wants(t, 400, "VALIDATION_ERROR")
	}
	r.do("GET", "/api/executions?limit=no", "", "Authorization: Bearer eve").wants(t, 400, "VALIDATION_ERROR")
	info := 0
	for _, line := range lines("principal=bob") {
		if strings.Contains(line, "[INFO]") {
			info++
		}
	}
	if info != 10 || len(lines("principal=eve")) != 1 || strings.Contains(r.log.String(), "evil") {
		t.Errorf("%d lines of bob, log\n%s", info, r.log)
	}
	r.clock.Advance(time.Minute)
	r.do("GET", "/api/executions?limit=no", "", "Authorization: Bearer eve")
	if list := lines("more requests were refused"); len(list) != 1 || !strings.Contains(list[0], "count=30") || !strings.Contains(list[0], "principal=bob") ||
		!strings.Contains(list[0], "code=VALIDATION_ERROR") {
		t.Errorf("after a minute %q", list)
	}
	for range 13 {
		r.do("GET", "/api/executions?limit=no", "", "Authorization: Bearer bob")
	}
	r.server.Close()
	if list := lines("more requests were refused"); len(list) != 2 || !strings.Contains(list[1], "count=3 ") && !strings.HasSuffix(list[1], "count=3") {
		t.Errorf("at the end %q", list)
	}
}
