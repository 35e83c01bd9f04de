package webhook_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/webhook"
)

// vault is a core.SecretSource of what texts refer to.
type vault struct {
	mu   sync.Mutex
	text map[string]string
	err  error
}

func (v *vault) set(ref, text string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text[ref], v.err = text, err
}

func (v *vault) SecretText(_ context.Context, text string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	secret, ok := v.text[text]
	if !ok {
		return text, nil
	}
	return secret, v.err
}

func (v *vault) SecretEnv(context.Context, map[string]string) (map[string]string, error) {
	return nil, core.Errorf(core.CodeInternal, "no environment is asked for")
}

// Each attempt is signed with the secret of its moment; nothing shows it.
func TestSecretReference(t *testing.T) {
	const ref, header = "vault:hooks#key", "vault:hooks#bearer"
	v := &vault{text: map[string]string{ref: "first secret", header: "canary-bearer"}}
	r := newRig(t, func(o *webhook.Options) { o.Secrets = v })
	in := r.receive(nil)
	w := r.create(core.WebhookSpec{URL: in.URL, Secret: ref, Headers: map[string]string{"Authorization": header}})
	if w.Secret != ref || w.Headers["Authorization"] != header {
		t.Errorf("it is shown with %q and %q", w.Secret, w.Headers)
	}
	r.emit(core.EventPatternCreated, "p", data{"name": "p"})
	r.wait(1, core.DeliverySucceeded)
	got := in.all()[0]
	verify(t, got, "first secret")
	if got.header.Get("Authorization") != "canary-bearer" {
		t.Error("the header is not resolved")
	}
	v.set(ref, "second secret", nil)
	r.emit(core.EventPatternCreated, "p", data{"name": "p"})
	r.wait(2, core.DeliverySucceeded)
	verify(t, in.all()[1], "second secret")
	read, err := r.FindWebhook(ctx, w.ID)
	if err != nil || read.Headers["Authorization"] != header {
		t.Errorf("it is read with %v, %v", read.Headers, err)
	}
}

// Without its secret an attempt fails, says which it lacks, and is made again.
func TestSecretReferenceFails(t *testing.T) {
	const ref = "vault:hooks#key"
	v := &vault{text: map[string]string{}}
	v.set(ref, "", core.Errorf(core.CodeValidation, "the secret %s is not there", ref))
	r := newRig(t, func(o *webhook.Options) { o.Secrets = v })
	in := r.receive(nil)
	r.create(core.WebhookSpec{URL: in.URL, Secret: ref})
	r.emit(core.EventPatternCreated, "p", data{"name": "p"})
	if d := r.attempts(1); !strings.Contains(d.LastError, ref) || len(in.all()) != 0 {
		t.Errorf("the delivery says %q, and the receiver got %d", d.LastError, len(in.all()))
	}
	v.set(ref, "now there", nil)
	r.step(70e9)
	r.wait(1, core.DeliverySucceeded)
	verify(t, in.all()[0], "now there")
}
