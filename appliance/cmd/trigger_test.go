package cmd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTriggerScreen: the mapping of a body and the fixed input of the target have names of their own.
func TestTriggerScreen(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"trig_1","name":"on-push","path":"/api/hooks/trig_1","scheme":"github","secret":"trgsec_***","enabled":true,"events":["push"],`+
			`"mapping":{"repo":"$.repository.full_name"},"ratePerMinute":60,"target":{"execution":{"pattern":"review","input":{"days":1}}},`+
			`"runsAs":"ann","counts":{"started":0,"failed":0,"blocked":0},"runs":[],"createdBy":"ann","createdAt":"2026-01-02T05:00:00Z","updatedAt":"2026-01-02T05:00:00Z"}`)
	})
	r := execute(t, url, "trigger", "get", "trig_00000000000000000000000001")
	r.expect(t, 0)
	fields := map[string]string{}
	for line := range strings.Lines(r.stdout.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if former, twice := fields[name]; twice {
			t.Errorf("%q stands for %q and for %q", name, former, value)
		}
		fields[name] = strings.TrimSpace(value)
	}
	if fields["mapping"] != "repo=$.repository.full_name" || fields["input"] != `{"days":1}` {
		t.Errorf("%s", &r.stdout)
	}
}
