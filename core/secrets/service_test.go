package secrets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/secrets"
	"github.com/wardroom/wardroom/sdk/secret"
)

const canary = "canary-value-7f31"

type rig struct {
	*secrets.Service
	clock *coretest.Clock
	vault *fake
	log   *safeBuffer
}

// safeBuffer is a log that goroutines write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newRig makes a service with the provider vault, whose clock stands. Its log never holds the canary.
func newRig(t *testing.T, change func(o *secrets.Options)) *rig {
	t.Helper()
	r := &rig{clock: coretest.NewClock(), vault: newFake(), log: &safeBuffer{}}
	o := secrets.Options{
		Clock: r.clock, Logger: hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Trace}),
		Config:  secrets.Config{Refresh: time.Minute, StaleFor: time.Hour, Timeout: time.Minute},
		Plugins: map[string]secrets.Plugin{"secrets-vault": {Provider: r.vault}},
		Environ: func(string) (string, bool) { return "", false },
	}
	if change != nil {
		change(&o)
	}
	r.Service = secrets.New(o)
	t.Cleanup(func() {
		r.Close()
		if strings.Contains(r.log.String(), canary) {
			t.Errorf("the log holds a secret:\n%s", r.log)
		}
	})
	return r
}

func ref(key string) core.SecretRef { return core.SecretRef{Provider: "vault", Path: "db", Key: key} }

// wants resolves a secret and compares.
func (r *rig) wants(t *testing.T, key, want string) {
	t.Helper()
	v, err := r.Resolve(t.Context(), ref(key), secret.Caller{})
	if err != nil || string(v.Reveal()) != want {
		t.Errorf("%s: got a value of %d bytes, %v; want one of %d", key, v.Len(), err, len(want))
	}
}

// fails resolves a secret that there is not.
func (r *rig) fails(t *testing.T, key string, want secret.Code) {
	t.Helper()
	v, err := r.Resolve(t.Context(), ref(key), secret.Caller{})
	if e := secret.AsError(err); e == nil || e.Code != want || !v.IsZero() {
		t.Errorf("%s: got %v, want %s", key, err, want)
	}
}

func TestResolveKeepsWhatIsFresh(t *testing.T) {
	r := newRig(t, nil)
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.wants(t, "p", canary)
	r.vault.put("db", "p", canary+"2", "2", time.Time{})
	r.wants(t, "p", canary)
	if got := r.vault.count(); got != 1 {
		t.Errorf("%d calls", got)
	}
	r.clock.Advance(61 * time.Second)
	r.wants(t, "p", canary+"2")
	if !strings.Contains(r.log.String(), "secret changed") {
		t.Error("nobody is told of the change")
	}
}

// Whatever its provider says of how long it is good, it is never used beyond that, nor while the provider is down.
func TestResolveKeepsNothingThatExpired(t *testing.T) {
	r := newRig(t, nil)
	r.vault.put("db", "p", canary, "", r.clock.Now().Add(30*time.Second))
	r.wants(t, "p", canary)
	r.clock.Advance(25 * time.Second) // two thirds are over: it is asked for anew
	r.vault.fail(secret.Errorf(secret.CodeUnavailable, "down"))
	r.wants(t, "p", canary)
	if got := r.vault.count(); got != 2 {
		t.Errorf("%d calls", got)
	}
	r.clock.Advance(6 * time.Second)
	r.vault.fail(secret.Errorf(secret.CodeInternal, "down"))
	r.fails(t, "p", secret.CodeInternal)
}

func TestResolveKeepsWhileDown(t *testing.T) {
	r := newRig(t, nil)
	r.vault.put("db", "p", canary, "", time.Time{})
	r.wants(t, "p", canary)
	r.vault.fail(errors.New("connection refused to " + canary))
	r.clock.Advance(2 * time.Minute)
	r.wants(t, "p", canary)
	calls := r.vault.count()
	r.wants(t, "p", canary) // and it is not asked each time
	if got := r.vault.count(); got != calls {
		t.Errorf("%d calls, want %d", got, calls)
	}
	list, _ := r.FindSecretProviders(t.Context())
	if p := list[len(list)-1]; p.Name != "vault" || p.Status != "degraded" || p.Secrets != 1 {
		t.Errorf("%+v", p)
	}
	r.clock.Advance(time.Hour)
	r.fails(t, "p", secret.CodeInternal)
	r.vault.fail(nil)
	r.clock.Advance(time.Minute)
	r.wants(t, "p", canary)
	if list, _ := r.FindSecretProviders(t.Context()); list[len(list)-1].Status != "ok" {
		t.Errorf("%+v", list)
	}
}

// What may not be read any more, or is gone, is forgotten at once.
func TestResolveForgetsWhatIsRefused(t *testing.T) {
	for _, code := range []secret.Code{secret.CodeForbidden, secret.CodeNotFound} {
		r := newRig(t, nil)
		r.vault.put("db", "p", canary, "", time.Time{})
		r.wants(t, "p", canary)
		r.vault.fail(secret.Errorf(code, "no"))
		r.clock.Advance(2 * time.Minute)
		r.fails(t, "p", code)
	}
}

func TestResolveFails(t *testing.T) {
	r := newRig(t, nil)
	r.fails(t, "missing", secret.CodeNotFound)
	r.vault.put("db", "large", strings.Repeat("x", secrets.MaxValue+1), "", time.Time{})
	r.fails(t, "large", secret.CodeInvalidRef)
	r.vault.put("db", "fits", strings.Repeat("x", secrets.MaxValue), "", time.Time{})
	r.wants(t, "fits", strings.Repeat("x", secrets.MaxValue))
	r.vault.put("db", "old", canary, "", r.clock.Now())
	r.fails(t, "old", secret.CodeNotFound)
	_, err := r.Resolve(t.Context(), core.SecretRef{Provider: "aws", Path: "a", Key: "b"}, secret.Caller{})
	if e := secret.AsError(err); e == nil || e.Code != secret.CodeNotConfigured {
		t.Errorf("got %v", err)
	}
	r.vault.put("db", "missing", canary, "", time.Time{})
	r.clock.Advance(3 * time.Second) // the answer that it is missing counts for so long
	r.wants(t, "missing", canary)
}

// A provider that is not there at the start is waited for.
func TestResolveWaitsForTheStart(t *testing.T) {
	r := newRig(t, nil)
	r.vault.fail(secret.Errorf(secret.CodeUnavailable, "the plugin was not started yet"))
	r.vault.put("db", "p", canary, "", time.Time{})
	got := make(chan error, 1)
	go func() {
		_, err := r.Resolve(context.Background(), ref("p"), secret.Caller{})
		got <- err
	}()
	coretest.WaitFor(t, "the first call", func() bool { return r.vault.count() > 0 && r.clock.Pending() > 0 })
	r.vault.fail(nil)
	r.clock.Advance(time.Second)
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestResolveTimesOut(t *testing.T) {
	r := newRig(t, func(o *secrets.Options) { o.Config.Timeout = 20 * time.Millisecond })
	r.vault.block = make(chan struct{})
	r.fails(t, "p", secret.CodeTimeout)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Resolve(ended, ref("q"), secret.Caller{}); secret.AsError(err).Code != secret.CodeTimeout {
		t.Errorf("a caller that left: %v", err)
	}
}

func TestResolveIsOneCall(t *testing.T) {
	r := newRig(t, nil)
	r.vault.put("db", "p", canary, "", time.Time{})
	r.vault.block = make(chan struct{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := r.Resolve(context.Background(), ref("p"), secret.Caller{}); err != nil {
				t.Error(err)
			}
		}()
	}
	coretest.WaitFor(t, "the call", func() bool { return r.vault.count() > 0 })
	close(r.vault.block)
	wg.Wait()
	if got := r.vault.count(); got != 1 {
		t.Errorf("%d calls", got)
	}
}

// What is in use is asked for anew before anybody has to wait for it, and what is not used is forgotten.
func TestKeep(t *testing.T) {
	r := newRig(t, nil)
	r.Open()
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.wants(t, "p", canary)
	r.vault.put("db", "p", canary+"2", "2", time.Time{})
	coretest.WaitFor(t, "the second call", func() bool {
		r.clock.Advance(time.Second)
		return r.vault.count() >= 2
	})
	r.wants(t, "p", canary+"2")
	coretest.WaitFor(t, "the secret to be forgotten", func() bool {
		r.clock.Advance(31 * time.Minute)
		list, _ := r.FindSecretProviders(t.Context())
		return list[len(list)-1].Secrets == 0
	})
}

// However large values are, those that are asked for anew together fit into one message of a plugin.
func TestKeepFitsMessages(t *testing.T) {
	const message, count = 64 << 20, 120
	r := newRig(t, nil)
	r.Open()
	for i := range count {
		key := fmt.Sprint("p", i)
		r.vault.put("db", key, canary, "1", time.Time{})
		r.wants(t, key, canary)
	}
	coretest.WaitFor(t, "all to be asked for anew", func() bool {
		r.clock.Advance(time.Second)
		r.vault.mu.Lock()
		defer r.vault.mu.Unlock()
		return len(r.vault.asked) >= 2*count
	})
	r.vault.mu.Lock()
	defer r.vault.mu.Unlock()
	if r.vault.most < 2 || r.vault.most*secrets.MaxValue >= message {
		t.Errorf("%d references in one call", r.vault.most)
	}
}

// A provider that tells of a change is asked at once.
func TestWatch(t *testing.T) {
	r := newRig(t, nil)
	r.vault.watching, r.vault.changes = make(chan []secret.Ref, 8), make(chan []secret.Ref)
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.Open()
	r.wants(t, "p", canary)
	if refs := <-r.vault.watching; !reflect.DeepEqual(refs, []secret.Ref{{Path: "db", Key: "p"}}) {
		t.Errorf("watched %v", refs)
	}
	r.vault.put("db", "p", canary+"2", "2", time.Time{})
	r.vault.changes <- []secret.Ref{{Path: "db", Key: "p"}}
	coretest.WaitFor(t, "the change", func() bool {
		v, err := r.Resolve(t.Context(), ref("p"), secret.Caller{})
		return err == nil && v.Version() == "2"
	})
	list, _ := r.FindSecretProviders(t.Context())
	if p := list[len(list)-1]; !p.Watched {
		t.Errorf("%+v", p)
	}
}

func TestBuiltIn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, object := write("plain", canary+"\n"), write("object", `{"user": "ann", "port": 5432}`)
	write("cred", "of the manager")
	longest := strings.Repeat("x", 1<<20)
	whole, over := write("longest", longest), write("longer", longest+"x")
	r := newRig(t, func(o *secrets.Options) {
		o.Environ = func(name string) (string, bool) { return canary, name == "DB" }
		o.Credentials = dir
	})
	for _, c := range []struct {
		text, want string
		code       string
	}{
		{text: "env:DB", want: canary},
		{text: "env:NONE", code: "NOT_FOUND"},
		{text: "file:" + plain, want: canary},
		{text: "file:" + object + "#user", want: "ann"},
		{text: "file:" + object + "#port", want: "5432"},
		{text: "file:" + object + "#none", code: "NOT_FOUND"},
		{text: "file:" + plain + "#user", code: "INVALID_REF"},
		{text: "file:" + dir, code: "INVALID_REF"},
		{text: "file:" + dir + "/none", code: "NOT_FOUND"},
		{text: "file:" + whole, want: longest},
		{text: "file:" + over, code: "INVALID_REF"},
		{text: "credential:cred", want: "of the manager"},
		{text: "credential:none", code: "NOT_FOUND"},
		{text: "an ordinary text", want: "an ordinary text"},
	} {
		text, err := r.Configured("test").SecretText(t.Context(), c.text)
		if c.code == "" && (err != nil || text != c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
		if c.code != "" && (err == nil || core.AsError(err).Details["reason"] != c.code || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v, want %s", c.text, err, c.code)
		}
		if got, err := r.Requested("test").SecretText(t.Context(), c.text); err != nil || got != c.text {
			t.Errorf("%s is resolved for users: %v", c.text, err)
		}
	}
	// A file that is replaced is in use a few seconds later.
	write("plain", "another")
	r.clock.Advance(6 * time.Second)
	if text, err := r.Configured("test").SecretText(t.Context(), "file:"+plain); err != nil || text != "another" {
		t.Errorf("after the change: %v", err)
	}
}

func TestSource(t *testing.T) {
	r := newRig(t, func(o *secrets.Options) { o.Config.Allow = []string{"vault:db/**", "vault:db#*"} })
	r.vault.put("db", "p", canary, "", time.Time{})
	r.vault.put("db", "binary", "\xff\x00", "", time.Time{})
	r.vault.put("other", "p", canary, "", time.Time{})
	s := r.Requested("engine")
	env, err := s.SecretEnv(t.Context(), map[string]string{"A": "vault:db#p", "B": "plain"})
	if err != nil || !reflect.DeepEqual(env, map[string]string{"A": canary, "B": "plain"}) {
		t.Errorf("env: %v", err)
	}
	raw, err := s.TaskConfig(t.Context(), &core.Task{
		PatternName: "p", ExecutionID: "e", Config: json.RawMessage(`{"n":1.50,"list":["vault:db#p","x"],"deep":{"k":"vault:db#p"}}`),
	})
	if want := `{"deep":{"k":"` + canary + `"},"list":["` + canary + `","x"],"n":1.50}`; err != nil || string(raw) != want {
		t.Errorf("config: %v", err)
	}
	for text, want := range map[string]string{
		"vault:db#binary": "no text", "vault:db#none": "is not there", "vault:other#p": "security.secrets.allow", "aws:a#b": "security.secrets.allow",
	} {
		_, err := s.SecretEnv(t.Context(), map[string]string{"A": text})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "env.A") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := r.CheckSecret(ref("p")); err != nil {
		t.Error(err)
	}
	r.ApplyConfig(secrets.Config{Allow: []string{"vault:db/**", "vault:*/**/p#*", "vault:**#k"}})
	long := strings.Repeat("a", 1900) // trying each part of it took 40 s
	began := coretest.CPU(t)
	for text, want := range map[string]bool{
		"vault:db/#p": true, "vault:db/x/y#p": true, "vault:db#p": false, "vault:dbx/y#p": false, "vault:x/y/p#q": true, "vault:x/p#q": false,
		"vault:x#k": true, "vault:x/y#k": true, "vault:" + long + "#q": false, "vault:x/" + long + "#q": false,
	} {
		asked, _, err := core.ParseSecretRef(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.CheckSecret(asked); (err == nil) != want {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if took := coretest.CPU(t) - began; took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := r.CheckSecret(core.SecretRef{Provider: "aws", Path: "a", Key: "b"}); err == nil {
		t.Error("a provider that is not configured passes")
	}
}

func TestTestSecret(t *testing.T) {
	r := newRig(t, nil)
	end := r.clock.Now().Add(time.Hour).UTC()
	r.vault.put("db", "p", canary, "7", end)
	got, err := r.TestSecret(t.Context(), "vault:db#p")
	want := &core.SecretTest{
		Reference: "vault:db#p", Resolves: true, Provider: "vault", Plugin: "secrets-vault", Version: "7", ExpiresAt: &end, Size: "16 to 63 bytes",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	r.vault.fail(&secret.Error{Code: secret.CodeForbidden, Message: "permission denied", Hint: "give the role a policy"})
	got, err = r.TestSecret(t.Context(), "vault:db#p")
	if err != nil || got.Resolves || got.Code != "FORBIDDEN" || got.Reason != "permission denied" || got.Hint == "" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := r.TestSecret(t.Context(), "aws:a#b"); err != nil || got.Code != "NOT_CONFIGURED" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, text := range []string{"hunter2", "vault:x", ""} {
		if _, err := r.TestSecret(t.Context(), text); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	vault := newFake()
	vault.put("db", "p", canary, "", time.Time{})
	s := secrets.New(secrets.Options{
		Clock: core.SystemClock{}, Config: secrets.Config{Refresh: time.Hour}, Plugins: map[string]secrets.Plugin{"secrets-vault": {Provider: vault}},
	})
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Resolve(b.Context(), ref("p"), secret.Caller{}); err != nil {
			b.Fatal(err)
		}
	}
}
