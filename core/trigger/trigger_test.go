package trigger_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/storetest"
	"github.com/wardroom/wardroom/core/trigger"
	"github.com/wardroom/wardroom/sdk/wire"
)

var (
	ctx     = context.Background()
	errGone = core.Unavailable("store_failed", "the disk is gone")
	ann     = core.WithPrincipal(ctx, core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", KeyID: "key_1", Scopes: []string{core.ScopeExecute}})
	ben     = core.WithPrincipal(ctx, core.Principal{Kind: core.PrincipalAPIKey, ID: "ben"})
)

// launcher starts executions that are nothing but records, in the store that the triggers are in.
type launcher struct {
	store *storetest.Memory
	ids   core.IDs
	clock core.Clock

	mu      sync.Mutex // guards all below
	refuse  error      // of starts
	revoked bool
	env     map[string]string
	targets []core.Target
}

func (l *launcher) Principal(_ context.Context, r core.PrincipalRecord) (core.Principal, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revoked {
		return core.Principal{}, core.Errorf(core.CodeUnauthorized, "the credential of ann is revoked")
	}
	return r.Principal(), nil
}

func (l *launcher) CheckTarget(ctx context.Context, t core.Target) error {
	if t.Execution != nil && t.Execution.Pattern == "secret" && core.PrincipalFrom(ctx).ID != "ann" {
		return core.Forbidden("executions.create", "", "the pattern is not open to the caller")
	}
	return nil
}

func (l *launcher) Launch(ctx context.Context, t core.Target, env map[string]string, along core.AlongFunc) (core.RunRef, error) {
	l.mu.Lock()
	err := l.refuse
	l.env = env
	l.mu.Unlock()
	if err != nil {
		return core.RunRef{}, err
	}
	now := l.clock.Now().UTC()
	e := &core.Execution{
		ID: l.ids.New(core.PrefixExecution), Pattern: core.PatternRef{Name: "p", Version: "1.0.0"}, Status: core.ExecutionRunning, Input: []byte("{}"),
		CreatedBy: core.PrincipalFrom(ctx).ID, CreatedAt: now, StartedAt: &now, Deadline: now.Add(time.Hour), Hash: "h",
	}
	ref := core.RunRef{ExecutionID: e.ID}
	if err := l.store.Update(ctx, func(tx core.Tx) error {
		if err := along(tx, ref); err != nil {
			return err
		}
		return tx.PutExecution(e)
	}); err != nil {
		return core.RunRef{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.targets = append(l.targets, t)
	return ref, nil
}

func (l *launcher) Over(context.Context, core.RunRef) (bool, error)   { return true, nil }
func (l *launcher) Cancel(context.Context, core.RunRef, string) error { return nil }
func (l *launcher) set(change func())                                 { l.mu.Lock(); defer l.mu.Unlock(); change() }

// rig is a service over a store in memory.
type rig struct {
	tb     testing.TB
	store  *storetest.Memory
	clock  *coretest.Clock
	launch *launcher
	opts   trigger.Options
	alerts []string
	seen   map[string]int // what became of requests, for the metrics
	*trigger.Service
}

func (r *rig) Received(outcome string) { r.seen[outcome]++ }

func newRig(tb testing.TB) *rig {
	tb.Helper()
	r := &rig{tb: tb, store: storetest.NewMemory(tb), clock: coretest.NewStepClock(), seen: map[string]int{}}
	ids := core.NewIDs(r.clock)
	r.launch = &launcher{store: r.store, ids: ids, clock: r.clock}
	r.opts = trigger.Options{
		Store: r.store, Clock: r.clock, IDs: ids, Launcher: r.launch, SealKey: [32]byte{1}, Observer: r,
		Alert: func(_, message string, _ map[string]any) { r.alerts = append(r.alerts, message) },
	}
	r.open()
	return r
}

func (r *rig) open() {
	r.tb.Helper()
	r.Service = trigger.New(r.opts)
	if err := r.Open(ctx); err != nil {
		r.tb.Fatal(err)
	}
}

const hookSecret = "of-the-test-1234"

func (r *rig) create(change func(s *core.TriggerSpec)) *core.Trigger {
	r.tb.Helper()
	spec := core.TriggerSpec{Name: "test", Secret: hookSecret, Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
	if change != nil {
		change(&spec)
	}
	t, err := r.CreateTrigger(ann, spec)
	if err != nil {
		r.tb.Fatal(err)
	}
	return t
}

// request is one with headers as they are given.
func request(body string, headers ...string) core.TriggerRequest {
	set := map[string]string{}
	for i := 0; i < len(headers); i += 2 {
		set[headers[i]] = headers[i+1]
	}
	return core.TriggerRequest{Body: []byte(body), Header: func(name string) string { return set[name] }}
}

func sign(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// signed is a request as a webhook of Wardroom sends it, at a time.
func (r *rig) signed(secret, body string, at time.Time, more ...string) core.TriggerRequest {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return request(body, append([]string{"X-Service-Timestamp", stamp, "X-Service-Signature", sign(secret, stamp+"."+body)}, more...)...)
}

func (r *rig) send(id string, q core.TriggerRequest) (*core.TriggerReceipt, error) {
	return r.Receive(ctx, id, q)
}

func (r *rig) wants(id string, q core.TriggerRequest, outcome wire.TriggerOutcome) core.RunRef {
	r.tb.Helper()
	got, err := r.send(id, q)
	if err != nil || got.Outcome != outcome {
		r.tb.Fatalf("%+v, %v, want %s", got, err, outcome)
	}
	return got.RunRef
}

func (r *rig) fails(id string, q core.TriggerRequest, code core.Code) error {
	r.tb.Helper()
	got, err := r.send(id, q)
	if core.ErrorCode(err) != code {
		r.tb.Fatalf("%+v, %v, want %s", got, err, code)
	}
	return err
}

func (r *rig) executions() int {
	r.tb.Helper()
	_, info, err := r.store.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 1}})
	if err != nil {
		r.tb.Fatal(err)
	}
	return info.Total
}

func TestSchemes(t *testing.T) {
	const body = `{"n":1}`
	r := newRig(t)
	own := r.create(nil)
	if own.Secret != hookSecret || own.RatePerMinute != 60 || own.Scheme != wire.SchemeWardroom {
		t.Errorf("%+v", own)
	}
	hub := r.create(func(s *core.TriggerSpec) { s.Name, s.Scheme = "hub", wire.SchemeGitHub })
	lab := r.create(func(s *core.TriggerSpec) { s.Name, s.Scheme = "lab", wire.SchemeGitLab })
	now := r.clock.Now()
	r.wants(own.ID, r.signed(hookSecret, body, now, "X-Service-Delivery", "dlv_1", "X-Service-Event", "execution.completed"), wire.TriggerStarted)
	r.wants(hub.ID, request(body, "X-Hub-Signature-256", sign(hookSecret, body), "X-Github-Delivery", "u1", "X-Github-Event", "push"), wire.TriggerStarted)
	r.wants(hub.ID, request(`{"zen":"x"}`, "X-Hub-Signature-256", sign(hookSecret, `{"zen":"x"}`), "X-Github-Event", "ping"), wire.TriggerIgnored)
	r.wants(lab.ID, request(body, "X-Gitlab-Token", hookSecret, "X-Gitlab-Event-Uuid", "u1"), wire.TriggerStarted)
	got, err := r.FindTrigger(ctx, own.ID)
	if err != nil || got.Secret != "" || got.Counts.Started != 1 || got.Runs[0].Delivery != "dlv_1" || got.Runs[0].Event != "execution.completed" {
		t.Errorf("%+v, %v", got, err)
	}
	target := r.launch.targets[0].Execution
	if string(target.Input) != body || target.Options.Metadata["triggerId"] != own.ID || target.Options.Metadata["deliveryId"] != "dlv_1" {
		t.Errorf("%+v", target)
	}
	if fmt.Sprint(r.seen) != "map[ignored:1 started:3]" {
		t.Errorf("%v", r.seen)
	}
}

// Who cannot sign learns nothing: the same answer for every id and every mistake, and nothing is written.
func TestStrangers(t *testing.T) {
	const body = `{"n":1}`
	r := newRig(t)
	own := r.create(nil)
	hub := r.create(func(s *core.TriggerSpec) { s.Name, s.Scheme = "hub", wire.SchemeGitHub })
	lab := r.create(func(s *core.TriggerSpec) { s.Name, s.Scheme = "lab", wire.SchemeGitLab })
	off := r.create(func(s *core.TriggerSpec) { s.Name, s.Disabled = "off", true })
	now := r.clock.Now()
	stamp := strconv.FormatInt(now.Unix(), 10)
	good := sign(hookSecret, stamp+"."+body)
	writes := r.store.Stored()
	texts := map[string]bool{}
	for name, q := range map[string]core.TriggerRequest{
		"Nothing":         request(body),
		"OtherSecret":     r.signed("another-secret-12", body, now),
		"NoSecret":        r.signed("", body, now),
		"OtherBody":       request(body+" ", "X-Service-Timestamp", stamp, "X-Service-Signature", good),
		"OtherTime":       request(body, "X-Service-Timestamp", strconv.FormatInt(now.Unix()+1, 10), "X-Service-Signature", good),
		"Old":             r.signed(hookSecret, body, now.Add(-301*time.Second)),
		"FromTheFuture":   r.signed(hookSecret, body, now.Add(301*time.Second)),
		"NoTime":          request(body, "X-Service-Signature", good),
		"OddTime":         request(body, "X-Service-Timestamp", "1e9", "X-Service-Signature", good),
		"HugeTime":        request(body, "X-Service-Timestamp", "99999999999999999999", "X-Service-Signature", good),
		"NegativeTime":    r.signed(hookSecret, body, time.Unix(-5, 0)),
		"Upper":           request(body, "X-Service-Timestamp", stamp, "X-Service-Signature", strings.ToUpper(good)),
		"Cut":             request(body, "X-Service-Timestamp", stamp, "X-Service-Signature", good[:70]),
		"Prefix":          request(body, "X-Service-Timestamp", stamp, "X-Service-Signature", "sha256="),
		"TooMany":         request(body, "X-Service-Timestamp", stamp, "X-Service-Signature", "a,b,c,d,"+good),
		"GitHubOfAnother": request(body, "X-Hub-Signature-256", sign("another-secret-12", body)),
		"GitLabOfAnother": request(body, "X-Gitlab-Token", "another-secret-12"),
		"GitLabNone":      request(body, "X-Gitlab-Token", "none"),
		"GitHubNone":      request(body, "X-Hub-Signature-256", sign("none", body)),
	} {
		for _, id := range []string{own.ID, hub.ID, lab.ID, off.ID, "trig_01JGFJJZ8N4Q1W0000000000AB", "", "../../etc/passwd"} {
			got, err := r.send(id, q)
			if core.ErrorCode(err) != core.CodeUnauthorized {
				t.Errorf("%s to %q: %+v, %v", name, id, got, err)
				continue
			}
			texts[fmt.Sprint(err, core.AsError(err).Details)] = true
		}
	}
	// A scheme is not good for the trigger of another.
	r.fails(hub.ID, r.signed(hookSecret, body, now), core.CodeUnauthorized)
	r.fails(own.ID, request(body, "X-Gitlab-Token", hookSecret), core.CodeUnauthorized)
	r.fails(lab.ID, request(body, "X-Hub-Signature-256", sign(hookSecret, body)), core.CodeUnauthorized)
	if len(texts) != 1 {
		t.Errorf("answers differ: %v", texts)
	}
	if r.store.Stored() != writes || r.executions() != 0 {
		t.Errorf("%d writes, %d executions", r.store.Stored()-writes, r.executions())
	}
}

// What was taken is not taken again: by its signature whatever the sender calls it, and by its name whatever the time.
func TestReplay(t *testing.T) {
	const body = `{"n":1}`
	r := newRig(t)
	own := r.create(nil)
	now := r.clock.Now()
	first := r.wants(own.ID, r.signed(hookSecret, body, now, "X-Service-Delivery", "dlv_1"), wire.TriggerStarted)
	for _, q := range []core.TriggerRequest{
		r.signed(hookSecret, body, now, "X-Service-Delivery", "dlv_1"),
		r.signed(hookSecret, body, now, "X-Service-Delivery", "dlv_2"),
		r.signed(hookSecret, body, now),
		r.signed(hookSecret, body, now.Add(time.Minute), "X-Service-Delivery", "dlv_1"), // a retry, signed anew
	} {
		if ref := r.wants(own.ID, q, wire.TriggerDuplicate); ref != first {
			t.Errorf("%+v, want %+v", ref, first)
		}
	}
	r.open() // it is durable
	r.wants(own.ID, r.signed(hookSecret, body, now, "X-Service-Delivery", "dlv_9"), wire.TriggerDuplicate)
	r.clock.Step(-4 * time.Minute) // and no matter of the clock
	r.wants(own.ID, r.signed(hookSecret, body, now), wire.TriggerDuplicate)
	r.clock.Step(4 * time.Minute)
	r.wants(own.ID, r.signed(hookSecret, body, now.Add(time.Second)), wire.TriggerStarted)
	if r.executions() != 2 {
		t.Errorf("%d executions", r.executions())
	}
	// Another trigger with the same secret takes its own.
	other := r.create(func(s *core.TriggerSpec) { s.Name = "other" })
	r.wants(other.ID, r.signed(hookSecret, body, now), wire.TriggerStarted)
}

func TestRotation(t *testing.T) {
	r := newRig(t)
	own := r.create(nil)
	n := 0
	try := func(secret string) error {
		n++
		_, err := r.send(own.ID, r.signed(secret, fmt.Sprintf(`{"n":%d}`, n), r.clock.Now()))
		return err
	}
	got, err := r.RotateTrigger(ann, own.ID, "", time.Hour)
	if err != nil || !strings.HasPrefix(got.Secret, "trgsec_") || got.RotatesAt == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	r.open()
	if try(got.Secret) != nil || try(hookSecret) != nil {
		t.Error("one of two secrets is refused")
	}
	r.clock.Advance(time.Hour)
	if try(got.Secret) != nil || core.ErrorCode(try(hookSecret)) != core.CodeUnauthorized {
		t.Error("the former secret is taken for longer")
	}
	if seen, err := r.FindTrigger(ctx, own.ID); err != nil || seen.RotatesAt != nil {
		t.Errorf("%+v, %v", seen, err)
	}
	// A request that is sent again, as its answer was lost, takes nothing from the secret before it.
	for range 2 {
		r.clock.Advance(time.Minute)
		if again, err := r.RotateTrigger(ann, own.ID, "one-that-i-chose-myself", time.Hour); err != nil || again.RotatesAt == nil || try("one-that-i-chose-myself") != nil || try(got.Secret) != nil {
			t.Errorf("%+v, %v", again, err)
		}
	}
	r.clock.Advance(time.Hour)
	if core.ErrorCode(try(got.Secret)) != core.CodeUnauthorized || try("one-that-i-chose-myself") != nil {
		t.Error("the former secret is taken for longer")
	}
	if got, err = r.RotateTrigger(ann, own.ID, "", time.Hour); err != nil || try("one-that-i-chose-myself") != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err = r.RotateTrigger(ann, own.ID, got.Secret, 0); err != nil || try(got.Secret) != nil || core.ErrorCode(try("one-that-i-chose-myself")) != core.CodeUnauthorized {
		t.Errorf("the same secret without overlap: %v", err)
	}
	if _, err = r.RotateTrigger(ann, own.ID, "a-third-one-of-mine", 0); err != nil || core.ErrorCode(try(got.Secret)) != core.CodeUnauthorized || try("a-third-one-of-mine") != nil {
		t.Errorf("without overlap: %v", err)
	}
	for _, bad := range []struct {
		secret  string
		overlap time.Duration
	}{{"short", 0}, {strings.Repeat("x", 1025), 0}, {"with spaces in the middle", 0}, {"with-\x00-in-the-middle", 0}, {"", -1}, {"", 8 * 24 * time.Hour}} {
		if _, err := r.RotateTrigger(ann, own.ID, bad.secret, bad.overlap); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	// Nothing of a secret is stored in clear, and what was sealed under another key opens nothing.
	list, err := r.store.AllTriggers(ctx)
	if err != nil || bytes.Contains([]byte(fmt.Sprintf("%+v %s", list[0], list[0].Sealed)), []byte("a-third-one")) {
		t.Errorf("%v", err)
	}
	r.opts.SealKey = [32]byte{2}
	r.open()
	if core.ErrorCode(try("a-third-one-of-mine")) != core.CodeUnauthorized {
		t.Error("a secret that cannot be read is taken")
	}
	if _, err := r.RotateTrigger(ann, own.ID, "one-that-can-be-read", time.Hour); err != nil || try("one-that-can-be-read") != nil {
		t.Errorf("%v", err)
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t)
	own := r.create(func(s *core.TriggerSpec) { s.RatePerMinute = 6 })
	n, limited := 0, 0
	try := func() error {
		n++
		_, err := r.send(own.ID, r.signed(hookSecret, fmt.Sprintf(`{"n":%d}`, n), r.clock.Now()))
		return err
	}
	for range 20 {
		switch err := try(); core.ErrorCode(err) {
		case "":
		case core.CodeRateLimited:
			limited++
			if wait := core.AsError(err).Details["retryAfter"]; wait != 10 {
				t.Fatalf("retry after %v", wait)
			}
		default:
			t.Fatal(err)
		}
	}
	if limited != 14 || r.executions() != 6 {
		t.Errorf("%d limited, %d executions", limited, r.executions())
	}
	r.clock.Advance(10 * time.Second)
	if err := try(); err != nil {
		t.Error(err)
	}
	// Strangers do not use up what is there for others.
	r.clock.Advance(time.Minute)
	for range 100 {
		r.fails(own.ID, r.signed("another-secret-12", "{}", r.clock.Now()), core.CodeUnauthorized)
	}
	if err := try(); err != nil {
		t.Error(err)
	}
	for _, body := range []string{"", "[]", "{", `{"a":1}{"b":2}`, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)} {
		r.clock.Advance(time.Minute)
		r.fails(own.ID, r.signed(hookSecret, body, r.clock.Now()), core.CodeValidation)
	}
	got, err := r.FindTrigger(ctx, own.ID)
	if err != nil || got.Counts.Failed != 5 || got.Runs[0].Code != core.CodeValidation {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDisabledAndEvents(t *testing.T) {
	r := newRig(t)
	own := r.create(func(s *core.TriggerSpec) { s.Events = []string{"push"} })
	r.wants(own.ID, r.signed(hookSecret, `{"n":1}`, r.clock.Now(), "X-Service-Event", "issue"), wire.TriggerIgnored)
	r.wants(own.ID, r.signed(hookSecret, `{"n":2}`, r.clock.Now()), wire.TriggerIgnored)
	r.wants(own.ID, r.signed(hookSecret, `{"n":3}`, r.clock.Now(), "X-Service-Event", "push"), wire.TriggerStarted)
	if _, err := r.UpdateTrigger(ann, own.ID, core.TriggerPatch{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	r.fails(own.ID, r.signed(hookSecret, `{"n":4}`, r.clock.Now(), "X-Service-Event", "push"), core.CodeConflict)
	if err := r.DeleteTrigger(ann, own.ID); err != nil {
		t.Fatal(err)
	}
	r.fails(own.ID, r.signed(hookSecret, `{"n":5}`, r.clock.Now()), core.CodeUnauthorized)
	if err := r.DeleteTrigger(ann, own.ID); core.ErrorCode(err) != core.CodeNotFound {
		t.Error(err)
	}
}

// Rights are asked about at each request, and a sender does not hear whose they are.
func TestBlocked(t *testing.T) {
	r := newRig(t)
	own := r.create(nil)
	r.launch.set(func() { r.launch.revoked = true })
	for n := range 3 {
		err := r.fails(own.ID, r.signed(hookSecret, fmt.Sprintf(`{"n":%d}`, n), r.clock.Now()), core.CodeForbidden)
		if strings.Contains(core.AsError(err).Message, "ann") {
			t.Error(err)
		}
	}
	got, err := r.FindTrigger(ctx, own.ID)
	if err != nil || got.BlockedReason == "" || got.Counts.Blocked != 3 || len(r.alerts) != 1 || r.Stats().Blocked != 1 {
		t.Errorf("%+v, %v, %q", got, err, r.alerts)
	}
	r.launch.set(func() { r.launch.revoked = false })
	r.wants(own.ID, r.signed(hookSecret, `{"n":1}`, r.clock.Now()), wire.TriggerStarted) // what was refused was not taken
	if got, err = r.FindTrigger(ctx, own.ID); err != nil || got.BlockedReason != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Whatever write fails, a request that is repeated until it is answered starts one thing.
func TestCrashes(t *testing.T) {
	for n := range 8 {
		killed := n < 4 // else the service lives on, as on a full disk
		t.Run(fmt.Sprintf("after %d writes, killed %t", n%4, killed), func(t *testing.T) {
			r := newRig(t)
			own := r.create(func(s *core.TriggerSpec) { s.RatePerMinute = 6000 })
			for i := range 8 {
				q := r.signed(hookSecret, fmt.Sprintf(`{"n":%d}`, i), r.clock.Now(), "X-Service-Delivery", fmt.Sprint("dlv_", i))
				r.store.Break(n%4%(i+1), errGone)
				for tries := 0; ; tries++ {
					got, err := r.send(own.ID, q)
					if err == nil && got.ExecutionID != "" {
						break
					}
					var e *core.Error
					if !errors.As(err, &e) || !e.Unavailable || tries > 3 {
						t.Fatalf("%+v, %v", got, err)
					}
					r.store.Heal()
					if killed {
						r.open()
					}
				}
				r.store.Heal()
				r.wants(own.ID, q, wire.TriggerDuplicate)
			}
			if got := r.executions(); got != 8 {
				t.Errorf("%d executions", got)
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	r := newRig(t)
	thread := core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{AgentType: "claude", Objective: "Look at it"}}}
	own := r.create(func(s *core.TriggerSpec) { s.Target, s.Env = thread, map[string]string{"KEY": "canary"} })
	r.wants(own.ID, r.signed(hookSecret, `{"n":1}`, r.clock.Now()), wire.TriggerStarted)
	files := r.launch.targets[0].Thread.Preparation.ContextFiles
	if r.launch.env["KEY"] != "canary" || len(files) != 1 || files[0].Path != trigger.BodyPath || files[0].Content != `{"n":1}` {
		t.Errorf("%v, %v", r.launch.env, files)
	}
	if _, err := r.UpdateTrigger(ben, own.ID, core.TriggerPatch{Enabled: new(true)}); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("somebody else's secrets: %v", err)
	}
	got, err := r.UpdateTrigger(ben, own.ID, core.TriggerPatch{Target: &thread, Mapping: &map[string]string{"objective": "$.n"}})
	if err != nil || got.Principal.ID != "ben" || got.Secret != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	r.wants(own.ID, r.signed(hookSecret, `{"n":2}`, r.clock.Now()), wire.TriggerStarted)
	if r.launch.targets[1].Thread.Objective != "Look at it\n\n2" || len(r.launch.env) != 0 {
		t.Errorf("%+v, %v", r.launch.targets[1].Thread, r.launch.env)
	}
	trial, err := r.TryTrigger(ctx, own.ID, "", []byte(`{"n":3}`))
	if err != nil || trial.Objective != "Look at it\n\n3" || r.executions() != 2 {
		t.Errorf("%+v, %v", trial, err)
	}
	secret := core.Target{Execution: &core.ExecutionTarget{Pattern: "secret"}}
	if _, err := r.UpdateTrigger(ben, own.ID, core.TriggerPatch{Target: &secret, Mapping: &map[string]string{}}); core.ErrorCode(err) != core.CodeForbidden {
		t.Error(err)
	}
}

// Whoever rotates a secret knows it, and gets no rights of somebody else by it.
func TestRotationTakesOver(t *testing.T) {
	r := newRig(t)
	own := r.create(func(s *core.TriggerSpec) { s.Target.Execution = &core.ExecutionTarget{Pattern: "secret"} })
	if _, err := r.RotateTrigger(ben, own.ID, "", 0); core.ErrorCode(err) != core.CodeForbidden {
		t.Errorf("a trigger of a pattern that is not open: %v", err)
	}
	other := r.create(func(s *core.TriggerSpec) { s.Name = "other" })
	got, err := r.RotateTrigger(ben, other.ID, "", 0)
	if err != nil || got.Principal.ID != "ben" || got.CreatedBy != "ann" {
		t.Errorf("%+v, %v", got, err)
	}
	threads := r.create(func(s *core.TriggerSpec) {
		s.Name, s.Env = "threads", map[string]string{"KEY": "canary"}
		s.Target = core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{AgentType: "claude"}}}
	})
	if _, err := r.RotateTrigger(ben, threads.ID, "", 0); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("somebody else's environment: %v", err)
	}
	if _, err := r.RotateTrigger(ann, threads.ID, "", 0); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	r := newRig(t)
	r.create(nil)
	for name, tt := range map[string]struct {
		change func(s *core.TriggerSpec)
		code   core.Code
	}{
		"NoName":       {func(s *core.TriggerSpec) { s.Name = "" }, core.CodeValidation},
		"NameTaken":    {func(s *core.TriggerSpec) { s.Name = "test" }, core.CodeConflict},
		"Scheme":       {func(s *core.TriggerSpec) { s.Scheme = "none" }, core.CodeValidation},
		"Secret":       {func(s *core.TriggerSpec) { s.Secret = "short" }, core.CodeValidation},
		"Rate":         {func(s *core.TriggerSpec) { s.RatePerMinute = 6001 }, core.CodeValidation},
		"Path":         {func(s *core.TriggerSpec) { s.Mapping = map[string]string{"a": "b["} }, core.CodeValidation},
		"SecretHeader": {func(s *core.TriggerSpec) { s.Mapping = map[string]string{"a": "header:Authorization"} }, core.CodeValidation},
		"Both": {func(s *core.TriggerSpec) {
			s.Mapping = map[string]string{"a": "b"}
			s.Target.Execution = &core.ExecutionTarget{Pattern: "p", Input: []byte(`{"a":1}`)}
		}, core.CodeValidation},
		"NoTarget": {func(s *core.TriggerSpec) { s.Target = core.Target{} }, core.CodeValidation},
		"ThreadField": {func(s *core.TriggerSpec) {
			s.Mapping, s.Target = map[string]string{"role": "b"}, core.Target{Thread: &core.ThreadTarget{ThreadBrief: wire.ThreadBrief{AgentType: "claude"}}}
		}, core.CodeValidation},
		"Event": {func(s *core.TriggerSpec) { s.Events = []string{""} }, core.CodeValidation},
	} {
		t.Run(name, func(t *testing.T) {
			spec := core.TriggerSpec{Name: "another", Target: core.Target{Execution: &core.ExecutionTarget{Pattern: "p"}}}
			tt.change(&spec)
			if _, err := r.CreateTrigger(ann, spec); core.ErrorCode(err) != tt.code {
				t.Errorf("%v", err)
			}
		})
	}
	if _, info, err := r.FindTriggers(ctx, core.TriggerFilter{}); err != nil || info.Total != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}
