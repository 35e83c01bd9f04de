package client_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeclient "github.com/wardroom/wardroom/sdk/runtime/client"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a runtime and returns a client of it.
func serve(t *testing.T, rt runtime.Runtime, o runtimeserver.Options) (*runtimeclient.Client, *httptest.Server) {
	t.Helper()
	o.Runtime = rt
	server, err := runtimeserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	client, err := runtimeclient.New(runtimeclient.Options{URL: web.URL + "/api", Token: o.Token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdle)
	return client, web
}

// A runtime behind HTTP keeps every promise that it keeps directly.
func TestConformance(t *testing.T) {
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	rt := world.Runtime()
	client, _ := serve(t, rt, runtimeserver.Options{Token: "a-token-for-tests"})
	conformance.Runtime(t.Context(), t, conformance.RuntimeOptions{
		Runtime: client, Timeout: 20 * time.Second,
		Spec: func(id string) runtime.Spec { return runtime.Spec{ID: id, Type: runtimetest.Type} },
		Kill: func(context.Context) (runtime.Runtime, error) {
			rt.Kill()
			rt = world.Runtime()
			fresh, _ := serve(t, rt, runtimeserver.Options{Token: "another-token-for-tests"})
			return fresh, nil
		},
	})
}
