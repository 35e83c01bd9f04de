package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Of two editors that read the same state one stores its change, and the other learns that there is another one now.
func TestIfMatch(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex // guards all below
	stored, description := 0, "first"
	r.patterns.find = func(name, version string) (*core.Pattern, error) {
		mu.Lock()
		defer mu.Unlock()
		if version != "1.0.0" {
			return nil, core.NotFound("pattern", name)
		}
		return &core.Pattern{Name: name, Version: version, Description: description}, nil
	}
	r.patterns.update = func(name string, in core.PatternInput) (core.PatternUpdate, error) {
		mu.Lock()
		defer mu.Unlock()
		stored++
		description = in.Description
		return core.PatternUpdate{Pattern: &core.Pattern{Name: name, Version: in.Version}}, nil
	}
	put := func(version, description, match string) reply {
		body := fmt.Sprintf(`{"definition": "name: a\nversion: %[1]s\n", "version": %[1]q, "description": %q}`, version, description)
		return r.do("PUT", "/api/patterns/a", body, "If-Match: "+match)
	}
	read := r.do("GET", "/api/patterns/a?version=1.0.0", "").header.Get("ETag")
	answers := make([]reply, 8)
	var both sync.WaitGroup
	for i := range answers {
		both.Go(func() { answers[i] = put("1.0.0", fmt.Sprint("of ", i), read) })
	}
	both.Wait()
	won := 0
	now := r.do("GET", "/api/patterns/a?version=1.0.0", "").header.Get("ETag")
	for _, p := range answers {
		if p.status == http.StatusOK {
			won++
			continue
		}
		p.wants(t, http.StatusPreconditionFailed, core.CodeConflict)
		if p.header.Get("ETag") != now || p.at("error", "details", "field") != "If-Match" {
			t.Errorf("ETag %s, want %s: %s", p.header.Get("ETag"), now, p.text)
		}
	}
	if won != 1 || stored != 1 {
		t.Errorf("%d editors were told that they stored, and %d did", won, stored)
	}
	put("2.0.0", "of nothing", read).wants(t, http.StatusPreconditionFailed, core.CodeConflict)
	put("2.0.0", "of nothing", "*").wants(t, http.StatusPreconditionFailed, core.CodeConflict)
	if stored != 1 {
		t.Errorf("stored %d times", stored)
	}
	inText := func(version string) reply { // the version of the text counts where the request names none
		return r.do("PUT", "/api/patterns/a", fmt.Sprintf(`{"definition": "name: a\nversion: %s\n"}`, version), "If-Match: "+now)
	}
	inText("2.0.0").wants(t, http.StatusPreconditionFailed, core.CodeConflict)
	inText("1.0.0").wants(t, 200, "")
	now = r.do("GET", "/api/patterns/a?version=1.0.0", "").header.Get("ETag")
	put("1.0.0", "again", `"x", `+now).wants(t, 200, "")
	put("1.0.0", "whatever it is", "*").wants(t, 200, "")
	r.do("DELETE", "/api/patterns/a?version=1.0.0", "", "If-Match: "+now).wants(t, http.StatusPreconditionFailed, core.CodeConflict)
}

// Who sends no If-Match does not change what another editor just compared either, before that one's change is stored.
func TestIfMatchBesideOthers(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex // guards all below
	var stored []string
	other := make(chan reply, 1)
	put := func(description string, header ...string) reply {
		return r.do("PUT", "/api/patterns/a", fmt.Sprintf(`{"definition": "name: a\nversion: 1.0.0\n", "version": "1.0.0", "description": %q}`, description), header...)
	}
	r.patterns.update = func(name string, in core.PatternInput) (core.PatternUpdate, error) {
		mu.Lock()
		defer mu.Unlock()
		stored = append(stored, in.Description)
		return core.PatternUpdate{Pattern: &core.Pattern{Name: name, Version: in.Version}}, nil
	}
	compared := false
	r.patterns.find = func(name, version string) (*core.Pattern, error) {
		mu.Lock()
		first := compared
		compared = false
		mu.Unlock()
		if first {
			go func() { other <- put("of the other") }()
			coretest.WaitFor(t, "the other to wait, or to store", func() bool {
				mu.Lock()
				defer mu.Unlock()
				return len(stored) > 0 || r.server.Editors("/api/patterns/a") == 2
			})
		}
		return &core.Pattern{Name: name, Version: version}, nil
	}
	read := r.do("GET", "/api/patterns/a?version=1.0.0", "").header.Get("ETag")
	mu.Lock()
	compared = true
	mu.Unlock()
	put("of the one", "If-Match: "+read).wants(t, 200, "")
	if p := <-other; p.status != 200 {
		t.Error(p.text)
	}
	if len(stored) != 2 || stored[0] != "of the one" {
		t.Errorf("stored %q", stored)
	}
}

// An editor that leaves waits no longer for another one that takes long, and its change is not stored.
func TestEditorLeaves(t *testing.T) {
	r := newRig(t)
	const path = "/api/patterns/a"
	begun, ended := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	defer end()
	stored := 0
	r.patterns.update = func(name string, in core.PatternInput) (core.PatternUpdate, error) {
		if stored++; stored == 1 {
			close(begun)
			<-ended
		}
		return core.PatternUpdate{Pattern: &core.Pattern{Name: name, Version: in.Version}}, nil
	}
	put := func() *http.Request {
		return r.request("PUT", path, `{"definition": "name: a\nversion: 1.0.0\n", "version": "1.0.0"}`)
	}
	slow, gone := make(chan reply, 1), make(chan error, 1)
	go func() { out, _ := r.try(put()); slow <- out }()
	<-begun
	ctx, leave := context.WithCancel(t.Context())
	go func() { _, err := r.try(put().WithContext(ctx)); gone <- err }()
	coretest.WaitFor(t, "the other to wait", func() bool { return r.server.Editors(path) == 2 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who left got %v", err)
	}
	coretest.WaitFor(t, "the other to be gone", func() bool { return r.server.Editors(path) == 1 })
	end()
	(<-slow).wants(t, 200, "")
	if r.send(put()).wants(t, 200, ""); stored != 2 || r.server.Editors(path) != 0 {
		t.Errorf("stored %d times, %d hold the lock", stored, r.server.Editors(path))
	}
}

// An editor whose comparison broke down keeps no other from what it was about.
func TestIfMatchBreaksDown(t *testing.T) {
	r := newRig(t)
	r.patterns.find = func(string, string) (*core.Pattern, error) { panic("broken") }
	put := func(header ...string) reply {
		return r.do("PUT", "/api/patterns/a", `{"definition": "name: a\nversion: 1.0.0\n", "version": "1.0.0"}`, header...)
	}
	put(`If-Match: "x"`).wants(t, 500, core.CodeInternal)
	if n := r.server.Editors("/api/patterns/a"); n != 0 {
		t.Fatalf("%d hold the lock", n)
	}
	put().wants(t, 200, "")
}

// If-Match is compared with what the caller sees, and a refusal has no tag of what is masked for them.
func TestIfMatchOfMasked(t *testing.T) {
	r := newRig(t, func(o *api.Options) {
		o.Mask = redactor("first")
		o.Decide = func(_ context.Context, _ core.Principal, a core.Access) core.Ruling {
			return core.Ruling{Allowed: a.Action != "data.unmasked"}
		}
	})
	r.patterns.find = func(name, version string) (*core.Pattern, error) {
		return &core.Pattern{Name: name, Version: version, Description: "first"}, nil
	}
	r.patterns.update = func(name string, in core.PatternInput) (core.PatternUpdate, error) {
		return core.PatternUpdate{Pattern: &core.Pattern{Name: name, Version: in.Version}}, nil
	}
	read := r.do("GET", "/api/patterns/a?version=1.0.0", "")
	if strings.Contains(read.text, "first") {
		t.Fatalf("not masked: %s", read.text)
	}
	tag := read.header.Get("ETag")
	r.do("PUT", "/api/patterns/a", `{"definition": "name: a\nversion: 1.0.0\n", "version": "1.0.0"}`, "If-Match: "+tag).wants(t, 200, "")
	if got := r.do("DELETE", "/api/patterns/a?version=1.0.0", "", `If-Match: "x"`).header.Get("ETag"); got != tag {
		t.Errorf("a refusal has the tag %s, what was read %s", got, tag)
	}
}

// redactor masks a word.
type redactor string

func (m redactor) Active() bool                   { return true }
func (m redactor) Mask(raw []byte) []byte         { return bytes.ReplaceAll(raw, []byte(m), []byte("***")) }
func (m redactor) Masks(...string) bool           { return false }
func (m redactor) MaskText(_, text string) string { return text }

// The list of patterns counts what became of their executions, where it is asked for.
func TestPatternUse(t *testing.T) {
	r := newRig(t)
	r.patterns.findAll = func(core.PatternFilter) ([]*core.Pattern, core.PageInfo, error) {
		return []*core.Pattern{{Name: "a", Version: "1.0.0"}, {Name: "b", Version: "1.0.0"}}, core.PageInfo{Total: 2}, nil
	}
	of := map[core.ExecutionStatus]int{core.ExecutionPending: 1, core.ExecutionRunning: 2, core.ExecutionCompleted: 30, core.ExecutionFailed: 4, core.ExecutionCancelled: 5}
	r.executions.findAll = func(f core.ExecutionFilter) ([]*core.Execution, core.PageInfo, error) {
		if f.Pattern != "a" || len(f.Statuses) != 1 {
			return nil, core.PageInfo{}, nil
		}
		if got := r.clock.Now().Sub(f.Since).Hours(); got != 24 {
			t.Errorf("counted since %v hours", got)
		}
		return nil, core.PageInfo{Total: of[f.Statuses[0]], AtLeast: f.Statuses[0] == core.ExecutionFailed}, nil
	}
	p := r.do("GET", "/api/patterns?use=true", "")
	p.wants(t, 200, "")
	got := fmt.Sprint(p.at("patterns"))
	for _, want := range []string{"active:3", "completed:30", "failed:4", "cancelled:5", "atLeast:true", "active:0 cancelled:0 completed:0 failed:0"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if p := r.do("GET", "/api/patterns", ""); strings.Contains(p.text, "use") {
		t.Errorf("not asked for: %s", p.text)
	}
}

// What deliveries count of an endpoint is no change that its editor did not see, and shows to who polls.
func TestIfMatchPassesOverCounts(t *testing.T) {
	for path, one := range map[string]func(r *rig) (counted, changed func()){
		"/api/webhooks/whk_one": func(r *rig) (counted, changed func()) {
			w := someWebhook("whk_one")
			r.webhooks.find = func(string) (*core.Webhook, error) { found := *w; return &found, nil }
			r.webhooks.update = func(context.Context, string, core.WebhookPatch) (*core.Webhook, error) { return w, nil }
			return func() { w.Statistics.Total++ }, func() { w.URL += "/moved" }
		},
		"/api/triggers/" + triggerID: func(r *rig) (counted, changed func()) {
			return func() {
					r.triggers.now = func(t *core.Trigger) {
						t.Counts.Started++
						t.Runs, t.BlockedReason = append(t.Runs, core.TriggerRun{At: t.CreatedAt, Outcome: wire.TriggerStarted}), "a right is missing"
					}
				}, func() {
					r.triggers.now = func(t *core.Trigger) { t.RatePerMinute++ }
				}
		},
		"/api/schedules/" + scheduleID: func(r *rig) (counted, changed func()) {
			return func() {
					r.schedules.now = func(s *core.Schedule) {
						s.Counts.Started++
						s.Queued, s.NextAt, s.Running, s.LastRun, s.Status = 1, &s.CreatedAt, []core.RunRef{{ExecutionID: execID}}, &wire.ScheduleRun{Outcome: wire.TickBlocked}, wire.ScheduleBlocked
					}
				}, func() {
					r.schedules.now = func(s *core.Schedule) { s.Cron = "1 2 3 4 5" }
				}
		},
	} {
		r := newRig(t)
		counted, changed := one(r)
		read := r.do("GET", path, "").header.Get("ETag")
		counted()
		if again := r.do("GET", path, "", "If-None-Match: "+read); again.status != http.StatusOK {
			t.Errorf("%s: a poll after it was counted: %d", path, again.status)
		}
		patch := func() reply { return r.do("PATCH", path, `{}`, "If-Match: "+read) }
		if done := patch(); done.status != http.StatusOK {
			t.Errorf("%s: an edit after it was counted: %d %s", path, done.status, done.text)
		}
		changed()
		patch().wants(t, http.StatusPreconditionFailed, core.CodeConflict)
	}
}
