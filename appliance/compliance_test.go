package appliance_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/wire"
)

// controls returns which controls of a profile passed.
func controls(t *testing.T, c *client.Client, profile string) map[string]wire.ComplianceControl {
	t.Helper()
	r, err := c.CheckCompliance(t.Context(), profile)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]wire.ComplianceControl{}
	failed := 0
	for _, k := range r.Controls {
		all[k.ID] = k
		if k.Evidence == "" {
			t.Errorf("%s has no evidence", k.ID)
		}
		if !k.Passed {
			failed++
		}
	}
	if r.Failed != failed || r.Passed != (failed == 0) {
		t.Errorf("%d failed, it says %d and %v", failed, r.Failed, r.Passed)
	}
	return all
}

// A server for personal data proves it, refuses executions without consent and callbacks to elsewhere, and fails the controls of a
// profile that asks for more.
func TestGDPR(t *testing.T) {
	s := protect(t, newReceiver(t), `
  compliance:
    gdpr:
      enabled: true
      dataResidency: {region: lab}
      dataRetention: {executionData: 30d, auditLogs: 60d}
      consent: {required: true}
`)
	defer s.Close()
	answering(t, s)
	admin := s.client(s.adminKey)
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: echo}); err != nil {
		t.Fatal(err)
	}
	request := client.ExecuteRequest{Pattern: "echo", Input: json.RawMessage(`{}`)}
	_, err := admin.Execute(t.Context(), request)
	s.wants(err, 400)
	if !strings.Contains(err.Error(), "options.metadata.consent") {
		t.Errorf("the field is not named: %v", err)
	}
	_, err = admin.StartBatch(t.Context(), client.BatchRequest{Pattern: "echo", Inputs: []json.RawMessage{json.RawMessage(`{}`)}})
	s.wants(err, 400)
	request.Options.Metadata = map[string]any{"consent": true}
	if _, err := admin.Execute(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	_, err = admin.CreateWebhook(t.Context(), client.WebhookSpec{URL: "http://127.0.0.2:1/", Events: []string{"*"}})
	s.wants(err, 400)
	for id, k := range controls(t, admin, "gdpr") {
		if !k.Passed {
			t.Errorf("%s: %s", id, k.Evidence)
		}
	}
	soc2 := controls(t, admin, "soc2")
	if soc2["encryption.atRest"].Passed || soc2["profile.enabled"].Passed || !soc2["audit.integrity"].Passed || !soc2["access.authentication"].Passed {
		t.Errorf("%+v", soc2)
	}
	if _, err := admin.CheckCompliance(t.Context(), "pci"); status(err) != 400 || !strings.Contains(err.Error(), "soc2, gdpr, hipaa") {
		t.Errorf("an unknown profile: %v", err)
	}
	reader, _ := s.key("reader", "read")
	_, err = reader.CheckCompliance(t.Context(), "gdpr")
	s.wants(err, 403)
}

// Who reads health data is recorded at any level, and sees it masked without the right.
func TestHIPAA(t *testing.T) {
	s := protect(t, newReceiver(t), `
  compliance:
    hipaa: {enabled: true, phi: {accessLogging: true, minimumNecessary: true}, audit: {level: standard, retention: 30d}}
`)
	defer s.Close()
	answering(t, s)
	admin := s.client(s.adminKey)
	if _, err := admin.CreatePattern(t.Context(), client.PatternInput{Definition: echo}); err != nil {
		t.Fatal(err)
	}
	const canary = "phi-canary-1"
	e, err := admin.Execute(t.Context(), client.ExecuteRequest{Pattern: "echo", Input: json.RawMessage(`{"diagnosis":"` + canary + `"}`)})
	if err != nil {
		t.Fatal(err)
	}
	_, key := s.key("reader", "read")
	if text := s.read(key.Key, "/api/executions/"+e.ExecutionID); strings.Contains(text, canary) {
		t.Errorf("shown to who may not see it: %s", text)
	}
	if text := s.read(s.adminKey, "/api/executions/"+e.ExecutionID); !strings.Contains(text, canary) {
		t.Errorf("not shown to who may: %s", text)
	}
	all := controls(t, admin, "hipaa")
	for id, k := range all {
		if k.Passed == strings.HasPrefix(id, "encryption.") {
			t.Errorf("%s: %v: %s", id, k.Passed, k.Evidence)
		}
	}
	coretest.WaitFor(t, "the record of the read", func() bool { // what changed nothing is recorded behind its answer
		return strings.Contains(s.read(s.adminKey, "/api/audit?action=executions.read&actor=reader"), e.ExecutionID)
	})
}

// A server that a profile refuses does not start, and says what to do.
func TestProfileRefusesTheStart(t *testing.T) {
	path := t.TempDir() + "/wardroom.yaml"
	write(t, path, "server: {listen: '127.0.0.1:0'}\nsecurity: {authentication: {apiKeys: {enabled: true}}, compliance: {soc2: {enabled: true}}}\n")
	_, err := appliance.New(appliance.Options{ConfigPath: path})
	if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "security.rbac.enabled: must be true") {
		t.Errorf("%v", errors.Unwrap(err))
	}
}
