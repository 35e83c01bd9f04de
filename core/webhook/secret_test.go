package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
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

// Credentials in headers are sent, and are neither in the store nor in what anybody reads, nor in what a receiver sends back.
func TestPlainCredentialsInHeaders(t *testing.T) {
	const bearer, key, opaque = "Bearer canary-bearer-1", "canary-key-2", "canary3ABCDEFGHIJKLMNOP"
	r := newRig(t, nil)
	in := r.receive(func(w http.ResponseWriter, got *http.Request) {
		fmt.Fprintf(w, "thank you for %s and %s", got.Header.Get("Authorization"), got.Header.Get("X-Api-Key"))
	})
	given := map[string]string{"Authorization": bearer, "X-Api-Key": key, "X-Route": opaque, "X-Team": "ops", "X-Ref": "vault:hooks#key"}
	shown := map[string]string{"Authorization": "***", "X-Api-Key": "***", "X-Route": "***", "X-Team": "ops", "X-Ref": "vault:hooks#key"}
	w := r.create(core.WebhookSpec{URL: in.URL, Secret: "canary-of-the-secret", Headers: given})
	clean := func(when string, value any) {
		t.Helper()
		raw, err := json.Marshal(value)
		if err != nil || strings.Contains(string(raw), "canary") {
			t.Errorf("%s: %s, %v", when, raw, err)
		}
	}
	if !maps.Equal(w.Headers, shown) {
		t.Errorf("the answer shows %v", w.Headers)
	}
	send := func(n int) *core.DeliveryRequest {
		t.Helper()
		r.emit(core.EventPatternCreated, "p", data{"name": "p"})
		r.wait(n, core.DeliverySucceeded)
		last := in.all()[n-1]
		for name, value := range given {
			if got := last.header.Get(name); got != value {
				t.Errorf("the receiver got %s: %q", name, got)
			}
		}
		d := r.store.rows()[n-1]
		clean("the delivery", d)
		if !strings.Contains(d.ResponseBody, "thank you for *** and ***") && !strings.Contains(d.ResponseBody, "thank you for Bearer *** and ***") {
			t.Errorf("of the answer %q is kept", d.ResponseBody)
		}
		_, req, err := r.FindDelivery(ctx, w.ID, d.ID)
		if err != nil {
			t.Fatal(err)
		}
		clean("what is shown of the request", req)
		return req
	}
	send(1)
	stored := func() *core.WebhookRecord {
		t.Helper()
		list, err := r.store.AllWebhooks(ctx)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		clean("the store", list[0])
		return list[0]
	}
	if rec := stored(); len(rec.SealedHeaders) == 0 || len(rec.Headers) != 0 {
		t.Errorf("stored: %+v", rec)
	}
	r.restart()
	read, err := r.FindWebhook(ctx, w.ID)
	if err != nil || !maps.Equal(read.Headers, shown) {
		t.Errorf("it is read with %v, %v", read.Headers, err)
	}
	send(2)

	// Whoever sends back what is shown changes nothing; a new one cannot be called ***.
	back := maps.Clone(shown)
	back["X-Team"], given["X-Team"], shown["X-Team"] = "dev", "dev", "dev"
	if read, err = r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Headers: &back}); err != nil || !maps.Equal(read.Headers, shown) {
		t.Errorf("after the change it shows %v, %v", read, err)
	}
	send(3)
	_, err = r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Headers: &map[string]string{"X-Other": "***"}})
	wantCode(t, err, core.CodeValidation)
	_, err = r.CreateWebhook(ctx, core.WebhookSpec{URL: in.URL, Events: []core.EventType{core.AllEvents}, Headers: map[string]string{"X-Other": "***"}})
	wantCode(t, err, core.CodeValidation)
	send(4)

	// What a release before stored in clear is sealed at the next start.
	r.Close()
	old := stored()
	old.SealedHeaders, old.PlainHeaders = nil, maps.Clone(given)
	if err := r.store.Update(ctx, func(tx core.Tx) error { return tx.PutWebhook(old) }); err != nil {
		t.Fatal(err)
	}
	r.open()
	stored()
	send(5)

	// With another key they cannot be read: no attempt goes out without them, until they are given anew.
	r.opts.SealKey = [32]byte{2}
	r.restart()
	r.emit(core.EventPatternCreated, "p", data{"name": "p"})
	coretest.WaitFor(t, "an attempt that fails", func() bool {
		rows := r.store.rows()
		return len(rows) == 6 && rows[5].Attempts == 1
	})
	if len(in.all()) != 5 {
		t.Errorf("the receiver got %d", len(in.all()))
	}
	secret := "canary-of-another"
	if _, err := r.UpdateWebhook(ctx, w.ID, core.WebhookPatch{Headers: &given, Secret: &secret}); err != nil {
		t.Fatal(err)
	}
	r.step(70e9)
	r.wait(6, core.DeliverySucceeded)
	stored()
}

// A value that is not shown does not go to another server than it was given for, whoever changes the address.
func TestHiddenHeadersStayWithTheirServer(t *testing.T) {
	r := newRig(t, nil)
	own, other := r.receive(nil), r.receive(nil)
	w := r.create(core.WebhookSpec{URL: own.URL + "/hidden-in-path", Headers: map[string]string{"Authorization": "Bearer canary", "X-Team": "ops"}})
	for name, p := range map[string]core.WebhookPatch{
		"AddressAlone": {URL: ptr(other.URL)},
		"Masked":       {URL: ptr(other.URL), Headers: &map[string]string{"Authorization": core.MaskedHeader}},
		"PlainHTTP":    {URL: ptr(strings.Replace(own.URL, "http:", "HTTPS:", 1))},
	} {
		_, err := r.UpdateWebhook(ctx, w.ID, p)
		wantCode(t, err, core.CodeValidation)
		if !strings.Contains(err.Error(), "headers.Authorization") || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "hidden-in-path") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, p := range map[string]core.WebhookPatch{
		"AnotherPath": {URL: ptr(own.URL + "/b")},
		"GivenAgain":  {URL: ptr(other.URL), Headers: &map[string]string{"Authorization": "Bearer canary"}},
		"LeftOut":     {URL: ptr(own.URL), Headers: &map[string]string{"X-Team": "ops"}},
	} {
		w := r.create(core.WebhookSpec{URL: own.URL + "/a", Headers: map[string]string{"Authorization": "Bearer canary", "X-Team": "ops"}})
		if _, err := r.UpdateWebhook(ctx, w.ID, p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := r.FindWebhook(ctx, w.ID); err != nil || got.URL != own.URL+"/hidden-in-path" {
		t.Errorf("what was refused changed it: %+v, %v", got, err)
	}
}

// Of the configuration no value of a header is shown, but references.
func TestHeadersOfTheConfiguration(t *testing.T) {
	r := newRig(t, func(o *webhook.Options) {
		o.Config.Declared = []core.WebhookSpec{{
			URL: "https://127.0.0.1:1/hook", Events: []core.EventType{core.AllEvents}, Secret: "s",
			Headers: map[string]string{"X-Plain": "value", "X-Ref": "env:NAME", "X-Like": "env:"},
		}}
	})
	list, _, err := r.FindWebhooks(ctx, core.WebhookFilter{})
	if want := map[string]string{"X-Plain": "***", "X-Ref": "env:NAME", "X-Like": "***"}; err != nil || len(list) != 1 || !maps.Equal(list[0].Headers, want) {
		t.Errorf("%+v, %v", list, err)
	}
	before := list[0].UpdatedAt
	r.step(1e9)
	r.restart() // which finds nothing to change
	if list, _, err = r.FindWebhooks(ctx, core.WebhookFilter{}); err != nil || !list[0].UpdatedAt.Equal(before) {
		t.Errorf("%+v, %v", list, err)
	}
}
