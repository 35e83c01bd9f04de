package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

// The plugin keeps the contract, killed and all.
func TestConformance(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log", "audit.log")
	config, err := json.Marshal(map[string]any{"path": path})
	if err != nil {
		t.Fatal(err)
	}
	p := plugintest.Start(t, plugintest.Options{Path: plugintest.Build(t, "."), Config: config})
	conformance.Audit(t.Context(), t, conformance.AuditOptions{
		Sink: p.Conn().Audit(),
		Crash: func(ctx context.Context) (audit.Sink, error) {
			conn, err := p.Restart(ctx)
			if err != nil {
				return nil, err
			}
			return conn.Audit(), nil
		},
		Read: func(context.Context) ([][]byte, error) {
			data, err := os.ReadFile(path)
			if len(data) == 0 {
				return nil, err
			}
			return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")), err
		},
	})
}
