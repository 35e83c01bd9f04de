package conformance_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/conformance"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(id string) runtime.Spec { return runtime.Spec{ID: id, Type: runtimetest.Type} }

// The reference passes its own suite.
func TestMemoryRuntime(t *testing.T) {
	world := runtimetest.NewWorld()
	defer func() { world.Close() }()
	rt := world.Runtime()
	conformance.Runtime(t.Context(), t, conformance.RuntimeOptions{
		Runtime: rt, Spec: shell, Timeout: 20 * time.Second,
		Kill: func(context.Context) (runtime.Runtime, error) {
			rt.Kill()
			rt = world.Runtime()
			return rt, nil
		},
		Lose: func(context.Context) (runtime.Runtime, error) {
			rt.Kill()
			world.Close()
			world = runtimetest.NewWorld()
			rt = world.Runtime()
			return rt, nil
		},
	})
}
