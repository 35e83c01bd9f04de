package api_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// countedKeys has one key, and counts what is done to it.
type countedKeys struct {
	fakeAPIKeys
	key   core.APIKey
	ended int
}

func (k *countedKeys) FindKey(context.Context, string) (*core.APIKey, error) {
	found := k.key
	return &found, nil
}

func (k *countedKeys) RotateKey(context.Context, string, time.Duration) (*core.NewAPIKey, error) {
	k.ended++
	return &core.NewAPIKey{APIKey: k.key, Key: "wr_x"}, nil
}

func (k *countedKeys) RevokeKey(context.Context, string) error {
	k.ended++
	return nil
}

// Whatever changes or ends a thing compares If-Match with what a GET of the thing answers: what others changed meanwhile is not lost.
func TestIfMatchOfEachChange(t *testing.T) {
	const keyPath = "/api/auth/keys/key_1"
	schedulePath, triggerPath := "/api/schedules/"+scheduleID, "/api/triggers/"+triggerID
	for _, tt := range []struct{ thing, method, verb string }{
		{schedulePath, "POST", "/pause"},
		{schedulePath, "POST", "/resume"},
		{schedulePath, "DELETE", ""},
		{triggerPath, "POST", "/rotate"},
		{triggerPath, "DELETE", ""},
		{webhookPath, "DELETE", ""},
		{keyPath, "POST", "/rotate"},
		{keyPath, "DELETE", ""},
	} {
		t.Run(tt.method+" "+strings.TrimPrefix(tt.thing, "/api/")+tt.verb, func(t *testing.T) {
			keys := &countedKeys{key: core.APIKey{ID: "key_1", Name: "ci", Owner: "ci", Scopes: []string{"read"}, Status: wire.APIKeyActive, CreatedAt: epoch}}
			r := newRig(t)
			r.apiKeys.KeyService = keys
			hook := someWebhook(webhookID)
			r.webhooks.find = func(string) (*core.Webhook, error) { found := *hook; return &found, nil }
			removed := 0
			r.webhooks.remove = func(context.Context, string) error { removed++; return nil }
			name, counted, found := "as it was read", int64(1), 0
			r.schedules.now = func(s *core.Schedule) { found++; s.Name, s.Counts.Started = name, counted }
			r.triggers.now = func(s *core.Trigger) { found++; s.Name, s.Counts.Started = name, counted }
			change := func(match string) reply { return r.do(tt.method, tt.thing+tt.verb, "", "If-Match: "+match) }

			read := r.do("GET", tt.thing, "").header.Get("ETag")
			used := epoch.Add(time.Minute)
			counted, hook.Statistics.Total, keys.key.LastUsedAt = 2, hook.Statistics.Total+1, &used
			if p := change(read); p.status >= 300 {
				t.Fatalf("after it was counted: %d %s", p.status, p.text)
			}
			name, hook.URL, keys.key.Name = "as another made it", hook.URL+"/moved", "moved"
			before := [...]int{found, removed, keys.ended}
			change(read).wants(t, http.StatusPreconditionFailed, core.CodeConflict)
			if found > before[0]+1 || removed != before[1] || keys.ended != before[2] { // found once, to be compared
				t.Error("it was done")
			}
			if p := change("*"); p.status >= 300 {
				t.Errorf("whatever it is: %d %s", p.status, p.text)
			}
		})
	}
}

// What another request does to a thing under a path below it waits for an editor of the thing as well.
func TestIfMatchBesideVerbs(t *testing.T) {
	const path = "/api/schedules/" + scheduleID
	r := newRig(t)
	read := r.do("GET", path, "").header.Get("ETag")
	var mu sync.Mutex // guards all below
	first, paused := true, false
	other := make(chan reply, 1)
	r.schedules.now = func(s *core.Schedule) {
		mu.Lock()
		compares := first
		first = false
		mu.Unlock()
		if !compares {
			return
		}
		go func() {
			p := r.do("POST", path+"/pause", `{}`)
			mu.Lock()
			paused = true
			mu.Unlock()
			other <- p
		}()
		coretest.WaitFor(t, "the other to wait, or to pause", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return paused || r.server.Editors(path) == 2
		})
		mu.Lock()
		defer mu.Unlock()
		if paused {
			t.Error("paused between the comparison and the change")
		}
	}
	r.do("PATCH", path, `{"name": "renamed"}`, "If-Match: "+read).wants(t, 200, "")
	(<-other).wants(t, 200, "")
}
