package cmd_test

import (
	"net/http"
	"strings"
	"testing"
)

// The ticks of a schedule that starts nothing are not shown as if they did.
func TestScheduleNextOfPaused(t *testing.T) {
	for status, word := range map[string]string{"active": "", "paused": "the schedule is paused", "blocked": "the schedule is blocked"} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/ticks") {
				say(w, 200, `{"ticks":[{"at":"2026-01-02T03:00:00Z","startAt":"2026-01-02T03:00:00Z"}],"timeZone":"UTC"}`)
				return
			}
			say(w, 200, `{"id":"sched_`+newest+`","name":"nightly","status":"`+status+`"}`)
		})
		r := execute(t, server, "schedule", "next", "sched_"+newest)
		r.expect(t, 0)
		if shown := r.stderr.String(); !strings.Contains(shown, word) || word == "" && shown != "" {
			t.Errorf("%s: %q", status, shown)
		}
		if !strings.Contains(r.stdout.String(), "2026-01-02") {
			t.Errorf("%s: %q", status, r.stdout.String())
		}
	}
}

// Who may see the ticks of a schedule, and not read it, has them.
func TestScheduleNextAlone(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ticks") {
			say(w, 200, `{"ticks":[{"at":"2026-01-02T03:00:00Z","startAt":"2026-01-02T03:00:00Z"}],"timeZone":"UTC"}`)
			return
		}
		say(w, 403, `{"error":{"code":"FORBIDDEN","message":"the policy refuses it"}}`)
	})
	r := execute(t, server, "schedule", "next", "sched_"+newest)
	r.expect(t, 0)
	if !strings.Contains(r.stdout.String(), "2026-01-02") {
		t.Errorf("%q", r.stdout.String())
	}
}
