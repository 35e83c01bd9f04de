package main_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wardroom/wardroom/plugins/audit-elasticsearch/search"
	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

func TestConformance(t *testing.T) {
	r := search.Start(t)
	config, err := json.Marshal(map[string]any{"hosts": []string{r.URL()}, "username": search.User, "password": search.Password})
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
		Read: func(context.Context) ([][]byte, error) { return r.Records(), nil },
	})
}
