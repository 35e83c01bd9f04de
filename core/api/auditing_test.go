package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// fakeAudit keeps what is recorded.
type fakeAudit struct {
	blocking bool
	verbose  bool
	fail     error

	mu      sync.Mutex
	entries []core.AuditEntry
}

func (f *fakeAudit) Wants(_ string, text bool) bool { return !text || f.verbose }
func (f *fakeAudit) Blocking() bool                 { return f.blocking }
func (f *fakeAudit) Record(_ context.Context, e core.AuditEntry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	f.entries = append(f.entries, e)
	return nil
}
func (f *fakeAudit) SignedIn(context.Context, core.AuditEntry, string) error { return f.fail }
func (f *fakeAudit) Text(text []byte) string {
	if !f.verbose {
		return ""
	}
	return string(text)
}
func (f *fakeAudit) FindAudit(context.Context, core.AuditFilter) (*core.AuditPage, error) {
	return &core.AuditPage{Records: []*core.AuditRecord{{
		Sequence: 1, EventID: "aud_1", Timestamp: time.Unix(1_700_000_000, 0).UTC(), Category: wire.AuditAdmin, Action: "keys.create", Outcome: wire.AuditSuccess,
		Actor: wire.AuditActor{Type: "user", ID: "ann"}, Resource: wire.AuditResource{Type: "keys"}, Details: []byte("{}"),
	}}, HasMore: true, NextCursor: "YTE"}, nil
}
func (f *fakeAudit) ExportAudit(_ context.Context, _, _ time.Time, _ string, w io.Writer) error {
	_, err := io.WriteString(w, "{\"sequence\":1}\n")
	return err
}
func (f *fakeAudit) AuditStatus(context.Context) (*core.AuditStatus, error) {
	return &core.AuditStatus{Enabled: true, Mode: "buffered", Level: "standard", Events: wire.AuditCategories, Sinks: []core.AuditSink{}}, nil
}

func (f *fakeAudit) take() []core.AuditEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.entries
	f.entries = nil
	return list
}

func audited(t *testing.T) (*rig, *fakeAudit) {
	f := &fakeAudit{}
	return newRig(t, guard, func(o *api.Options) { o.Audit = f }), f
}

// Every operation that changes something leaves a record with its action, allowed or refused, without a line of code of its
// own; and so does each one that is refused.
func TestEveryOperationIsAudited(t *testing.T) {
	r, f := audited(t)
	for path, item := range document(t, r)["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			op := op.(map[string]any)
			action := op["x-action"].(string)
			public := len(op["security"].([]any)) == 0
			target := filled(path)
			do := func(token, query string) {
				req, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), r.http.URL+target+query, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				if token != "" {
					req.Header.Set("Authorization", "Bearer "+token)
				}
				resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			}
			if !public {
				f.take()
				do("", "")
				if e := f.take(); len(e) != 1 || e[0].Outcome != wire.AuditDenied || e[0].Category != wire.AuditAuthentication || e[0].Details["action"] != action {
					t.Errorf("%s %s without a credential: %+v", method, path, e)
				}
				if op["x-scope"] != core.ScopeAny {
					do("none", "")
					if e := f.take(); len(e) != 1 || e[0].Outcome != wire.AuditDenied || e[0].Category != wire.AuditAuthorization || e[0].Action != action {
						t.Errorf("%s %s without the scope: %+v", method, path, e)
					}
				}
			}
			if method == "get" || strings.HasSuffix(action, ".read") {
				continue
			}
			do(core.ScopeAdmin, "?thereIsNoSuchParameter=1")
			e := f.take()
			who := "ann"
			if public {
				who = core.Anonymous.ID
			}
			if !slices.ContainsFunc(e, func(e core.AuditEntry) bool {
				return e.Action == action && e.Outcome == wire.AuditFailure && e.Actor.ID == who && e.Category != ""
			}) {
				t.Errorf("%s %s with a mistake: %+v", method, path, e)
			}
			do(core.ScopeAdmin, "")
			var all []core.AuditEntry // a stream's comes behind its end
			coretest.WaitFor(t, fmt.Sprintf("the record of %s %s", method, path), func() bool {
				all = append(all, f.take()...)
				return slices.ContainsFunc(all, func(e core.AuditEntry) bool { return e.Action == action })
			})
		}
	}
}

// The record of an operation that creates something names it. Names of patterns stand in their definitions.
func TestAuditNamesWhatIsCreated(t *testing.T) {
	server := newRig(t).server
	for _, route := range server.Table() {
		if route.Creates && !strings.Contains(route.Path, "{") && route.Resource != "patterns" && server.CreatedIDs(route) == "" {
			t.Errorf("%s makes something, but its records have no prefix of ids to find it by", route.OperationID)
		}
	}
}

// In the mode blocking, what cannot be recorded is not done.
func TestAuditBlocks(t *testing.T) {
	r, f := audited(t)
	restarts := 0
	r.plugins.change = func(_, name string) (*core.Plugin, error) {
		restarts++
		return somePlugin(name, core.PluginReady), nil
	}
	f.blocking, f.fail = true, core.Unavailable("audit_full", "full")
	reply := r.do(http.MethodPost, "/api/admin/plugins/runtime-local/restart", "", "Authorization: Bearer admin")
	reply.wants(t, http.StatusServiceUnavailable, core.CodeInternal)
	if restarts != 0 {
		t.Error("it was restarted all the same")
	}
	f.fail = nil
	f.take()
	r.do(http.MethodPost, "/api/admin/plugins/runtime-local/restart", "", "Authorization: Bearer admin").wants(t, http.StatusOK, "")
	if e := f.take(); len(e) != 2 || e[0].Outcome != wire.AuditAttempt || e[1].Outcome != wire.AuditSuccess || e[1].Resource.ID != "runtime-local" {
		t.Errorf("%+v", e)
	}
	// What was done before its record was refused is said to be: a client that takes the answer for a refusal does it again.
	r.plugins.change = func(_, name string) (*core.Plugin, error) {
		f.fail = core.Unavailable("audit_full", "full")
		return somePlugin(name, core.PluginReady), nil
	}
	late := r.do(http.MethodPost, "/api/admin/plugins/runtime-local/restart", "", "Authorization: Bearer admin")
	if late.wants(t, http.StatusServiceUnavailable, core.CodeInternal); late.at("error", "details", "done") != true {
		t.Error(late.text)
	}
	if details := reply.at("error", "details").(map[string]any); details["done"] != nil {
		t.Errorf("what was refused is said to be done: %v", details)
	}
}

// How the trail is can be read while it takes no records, which is when that matters. Nothing else is read unrecorded, and a
// caller without the right is refused.
func TestStatusOfFullTrail(t *testing.T) {
	r, f := audited(t)
	f.blocking, f.verbose, f.fail = true, true, core.Unavailable("audit_full", "full")
	r.do(http.MethodGet, "/api/audit/status", "", "Authorization: Bearer audit:read").wants(t, http.StatusOK, "")
	for path, scope := range map[string]string{"/api/audit": "audit:read", "/api/patterns": "read", "/api/audit/status": "read"} {
		r.do(http.MethodGet, path, "", "Authorization: Bearer "+scope).wants(t, http.StatusServiceUnavailable, core.CodeInternal)
	}
	f.fail = core.Errorf(core.CodeInternal, "broken")
	r.do(http.MethodGet, "/api/audit/status", "", "Authorization: Bearer audit:read").wants(t, http.StatusInternalServerError, core.CodeInternal)
}

func TestAuditReads(t *testing.T) {
	r, f := audited(t)
	admin := "Authorization: Bearer audit:read"
	list := r.do(http.MethodGet, "/api/audit?action=keys.*&limit=1", "", admin)
	if list.wants(t, 200, ""); list.at("hasMore") != true || list.at("nextCursor") != "YTE" {
		t.Errorf("%s", list.text)
	}
	if e := f.take(); len(e) != 1 || e[0].Action != "audit.read" || e[0].Category != wire.AuditAdmin {
		t.Errorf("reading the trail leaves %+v", e)
	}
	r.do(http.MethodGet, "/api/audit/status", "", admin).wants(t, 200, "")
	if got := r.do(http.MethodGet, "/api/audit/export", "", admin); got.status != 200 || got.text != "{\"sequence\":1}\n" {
		t.Errorf("%d %q", got.status, got.text)
	}
	r.do(http.MethodGet, "/api/audit?outcome=good", "", admin).wants(t, 400, core.CodeValidation)
	r.do(http.MethodGet, "/api/audit", "", "Authorization: Bearer read").wants(t, 403, core.CodeForbidden)
	f.take()
	r.do(http.MethodGet, "/api/patterns", "", "Authorization: Bearer read").wants(t, 200, "")
	if e := f.take(); len(e) != 0 {
		t.Errorf("reading patterns leaves %+v", e)
	}
	f.verbose = true
	r.do(http.MethodGet, "/api/patterns", "", "Authorization: Bearer read").wants(t, 200, "")
	if e := f.take(); len(e) != 1 || e[0].Action != "patterns.read" {
		t.Errorf("at the level verbose it leaves %+v", e)
	}
}
