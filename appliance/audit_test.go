package appliance_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What is done and refused over REST is in the trail of a server, also after it stopped, and no secret is.
func TestAudit(t *testing.T) {
	s := openSecured(t, "  audit: {enabled: true, level: verbose, mode: blocking}\n")
	admin := s.client(s.adminKey)
	key, err := admin.CreateKey(t.Context(), client.APIKeySpec{Name: "ci", Scopes: []string{"patterns:read"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	const canary = "canary-of-the-webhook-9f3a"
	if _, err := admin.CreateWebhook(t.Context(), client.WebhookSpec{URL: "https://hooks.example.com/x", Events: []string{"*"}, Secret: canary}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client(key.Key).ListKeys(t.Context(), client.APIKeyFilter{}); err == nil {
		t.Error("a key without the scope lists keys")
	}
	if _, err := s.client("wr_wrong").GetSession(t.Context()); err == nil {
		t.Error("a wrong key is taken")
	}
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	find := func(f client.AuditFilter) []wire.AuditRecord {
		t.Helper()
		list, err := admin.ListAudit(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return list.Records
	}
	if list := find(client.AuditFilter{Action: "keys.create"}); len(list) != 2 || list[0].Actor.ID != "admin" || list[0].Resource.ID != key.ID ||
		list[1].Actor.ID != "system" || !strings.Contains(string(list[0].Details), `\"name\":\"ci\"`) {
		t.Errorf("%+v", list)
	}
	if list := find(client.AuditFilter{Category: "authorization"}); len(list) != 1 || list[0].Actor.ID != "ci" || list[0].Outcome != wire.AuditDenied || list[0].Action != "keys.read" {
		t.Errorf("%+v", list)
	}
	if list := find(client.AuditFilter{Action: "session.authenticate", Outcome: "denied"}); len(list) != 1 || list[0].Actor.IP == "" {
		t.Errorf("%+v", list)
	}
	for _, action := range []string{"webhooks.create", "config.reload", "system.start", "audit.read"} {
		if len(find(client.AuditFilter{Action: action})) == 0 {
			t.Errorf("no record of %s", action)
		}
	}
	coretest.WaitFor(t, "the sign-in of ci", func() bool {
		return len(find(client.AuditFilter{Action: "session.authenticate", Actor: "ci", Outcome: "success"})) == 1
	})
	status, err := admin.GetAuditStatus(t.Context())
	if err != nil || status.Last == 0 || status.Mode != "blocking" {
		t.Fatalf("%+v, %v", status, err)
	}
	body, err := admin.ExportAudit(t.Context(), time.Time{}, time.Time{}, "json")
	if err != nil {
		t.Fatal(err)
	}
	online, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	_ = body.Close()
	// Whoever turns the trail off leaves a record.
	s.write("  audit: {enabled: false}\n")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	s.write("  audit: {enabled: true}\n")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "both changes", func() bool {
		list := find(client.AuditFilter{Action: "audit.change"})
		return len(list) == 2 && strings.Contains(string(list[1].Details), `"enabled":false`) && strings.Contains(string(list[0].Details), `"enabled":true`)
	})
	s.Close()

	public, err := os.ReadFile(filepath.Join(s.dir, "store", "audit.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(s.dir, "store", "audit.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	trusted, err := trail.ParsePublicKey(string(public))
	if err != nil {
		t.Fatal(err)
	}
	var offline bytes.Buffer
	if err := appliance.OfflineAudit(t.Context(), store.Location{Path: filepath.Join(s.dir, "store")}, func(ctx context.Context, a core.AuditService) error {
		return a.ExportAudit(ctx, time.Time{}, time.Time{}, "json", &offline)
	}); err != nil {
		t.Fatal(err)
	}
	v := &trail.Verifier{Keys: []ed25519.PublicKey{trusted}, Whole: true}
	if err := trail.VerifyFile(bytes.NewReader(offline.Bytes()), v); err != nil {
		t.Fatal(err)
	}
	if r := v.Report(); !r.OK || r.Checkpoints == 0 || r.Signed != r.Last-1 {
		t.Errorf("%+v", r)
	}
	if !bytes.HasPrefix(offline.Bytes(), online) || !bytes.Contains(offline.Bytes(), []byte(`"action":"system.stop"`)) {
		t.Error("the trail of the stopped server is not that of the running one with its end")
	}
	for name, secret := range map[string]string{"the first key": s.adminKey, "a new key": key.Key, "the secret of a webhook": canary} {
		if bytes.Contains(offline.Bytes(), []byte(secret)) {
			t.Errorf("the trail has %s", name)
		}
	}
}
