package secrets_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/secrets"
	"github.com/wardroom/wardroom/sdk/secret"
)

// statusOfVault returns how the provider is reported.
func (r *rig) statusOfVault(t *testing.T) core.SecretProvider {
	t.Helper()
	list, err := r.FindSecretProviders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list[len(list)-1]
}

// A provider that was away is reported as well once it is back, though no secret is used meanwhile, and the next use has the value at once.
func TestProviderIsBack(t *testing.T) {
	r := newRig(t, func(o *secrets.Options) { o.Config.Timeout = time.Second })
	r.Open()
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.vault.fail(secret.Errorf(secret.CodeTimeout, "slow"))
	r.fails(t, "p", secret.CodeTimeout)
	if s := r.statusOfVault(t); s.Status != "failed" {
		t.Fatalf("it is %+v", s)
	}
	r.vault.fail(nil)
	for range 30 {
		coretest.WaitFor(t, "the wait for a look", func() bool { return r.clock.Pending() > 0 })
		r.clock.Advance(time.Second)
	}
	coretest.WaitFor(t, "the provider to be back", func() bool { return r.statusOfVault(t).Status == "ok" })
	calls := r.vault.count()
	r.wants(t, "p", canary)
	if n := r.vault.count(); n != calls {
		t.Error("the value was not there")
	}
}

// A use of a secret waits for its provider, also where that was asked in vain meanwhile: looks in an outage leave uses no failure.
func TestUseInAnOutage(t *testing.T) {
	r := newRig(t, nil)
	r.Open()
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.vault.fail(secret.Errorf(secret.CodeTimeout, "slow"))
	r.fails(t, "p", secret.CodeTimeout)
	r.vault.fail(secret.Errorf(secret.CodeUnavailable, "away"))
	asked := r.vault.count()
	coretest.WaitFor(t, "looks", func() bool {
		r.clock.Advance(time.Second)
		return r.vault.count() > asked+10
	})
	asked = r.vault.count()
	used := make(chan error, 1)
	go func() {
		_, err := r.Resolve(t.Context(), ref("p"), secret.Caller{})
		used <- err
	}()
	coretest.WaitFor(t, "the use to wait", func() bool {
		r.clock.Advance(100 * time.Millisecond)
		return r.vault.count() > asked+3 || len(used) > 0
	})
	r.vault.fail(nil)
	coretest.WaitFor(t, "the value", func() bool {
		r.clock.Advance(100 * time.Millisecond)
		return len(used) > 0
	})
	if err := <-used; err != nil {
		t.Errorf("the use ends with %v", err)
	}
}

// A reference that is tried by hand shows whether its provider is back.
func TestTriedProviderIsBack(t *testing.T) {
	r := newRig(t, nil)
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.vault.fail(secret.Errorf(secret.CodeTimeout, "slow"))
	r.fails(t, "p", secret.CodeTimeout)
	r.vault.fail(nil)
	if got, err := r.TestSecret(t.Context(), "vault:db#p"); err != nil || !got.Resolves {
		t.Fatalf("%+v, %v", got, err)
	}
	if s := r.statusOfVault(t); s.Status == "failed" {
		t.Errorf("it is %+v", s)
	}
}
