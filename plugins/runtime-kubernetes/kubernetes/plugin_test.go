package kubernetes_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/conformance"
)

// TestPlugin checks the binary as the appliance runs it, agents in real pods, kill -9 included.
func TestPlugin(t *testing.T) {
	t.Parallel()
	p := need(t).plugin(t, nil)
	o := p.RuntimeOptions(shell)
	o.Timeout = 3 * time.Minute // of a check: other tests have pods start beside it
	conformance.Runtime(t.Context(), t, o)
}

// TestVerify makes the checks of a plugin that are the same for every kind.
func TestVerify(t *testing.T) {
	t.Parallel()
	c := need(t)
	p := c.plugin(t, nil)
	for _, result := range conformance.Quick(t.Context(), p.Conn(), c.settings(t, map[string]any{"maxAgents": 5})) {
		if !result.Passed() {
			t.Errorf("%s: %s: %v", result.Name, result.About, result.Err)
		}
	}
}

func TestLauncherContract(t *testing.T) {
	t.Parallel()
	c := need(t)
	launchertest.Run(t, launchertest.Options{
		Survives: true,
		New:      func(t *testing.T, dir string) agentcli.Launcher { return c.open(t, dir, nil) },
		Sever: func(t *testing.T, p agentcli.Process) {
			if err := p.(interface{ Cut() error }).Cut(); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func resourceList(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}
