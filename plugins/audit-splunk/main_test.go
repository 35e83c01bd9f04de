package main_test

import (
	"context"
	"encoding/json"
	"net"
	"strconv"
	"testing"

	"github.com/wardroom/wardroom/plugins/audit-splunk/hec"
	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/plugintest"
)

func TestConformance(t *testing.T) {
	r := hec.Start(t)
	host, port, err := net.SplitHostPort(r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"host": host, "port": n, "token": hec.Token, "tls": false})
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
		Read: func(context.Context) ([][]byte, error) { return r.Events(), nil },
	})
}
