package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	"github.com/wardroom/wardroom/sdk/webhook"
)

func deliver(t *testing.T, url, secret, body string) {
	t.Helper()
	now := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(webhook.HeaderSignature, webhook.Sign(secret, now, []byte(body)))
	req.Header.Set(webhook.HeaderDelivery, "dlv_1")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

func TestHooks(t *testing.T) {
	dir := t.TempDir()
	h, err := newHooks(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.receiver.Close()
	if h.some() == nil {
		t.Error("a receiver that heard nothing is content")
	}
	main := filepath.Join(dir, "wardroom.yaml")
	if err := os.WriteFile(main, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(main, config.Options{})
	if err != nil || len(c.Webhooks.Endpoints) != 1 {
		t.Fatalf("the configuration: %v", err)
	}
	url := c.Webhooks.Endpoints[0].URL
	body := func(id, kind string) string {
		return `{"id":"` + id + `","type":"execution.` + kind + `","timestamp":"2026-01-02T03:04:05.000Z","data":{"executionId":"exec_1"}}`
	}
	done := map[string]*proof.Execution{"exec_1": {ID: "exec_1", Status: "completed"}, "exec_2": {ID: "exec_2", Status: "running"}}
	deliver(t, url, hookSecret, body("evt_1", "started"))
	if got := h.missing(done); len(got) != 1 || got[0].kind != "execution.completed" {
		t.Errorf("missing %v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if problems := h.prove(ended, done); len(problems) != 1 {
		t.Errorf("problems %v", problems)
	}
	deliver(t, url, hookSecret, body("evt_2", "completed"))
	deliver(t, url, hookSecret, body("evt_2", "completed"))
	if problems := h.prove(t.Context(), done); len(problems) != 0 {
		t.Errorf("problems %v", problems)
	}
	if events, again := h.counts(); events != 2 || again != 1 || h.some() != nil {
		t.Errorf("%d events, %d again", events, again)
	}
	deliver(t, url, hookSecret, body("evt_3", "completed"))
	deliver(t, url, "another", body("evt_4", "completed"))
	if problems := h.prove(t.Context(), done); len(problems) != 2 {
		t.Errorf("problems %v, want a second event for one thing, and a signature", problems)
	}
}
