package docker_test

import (
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
)

func TestLauncherContract(t *testing.T) {
	e := need(t)
	launchertest.Run(t, launchertest.Options{
		Survives: true,
		New:      func(t *testing.T, dir string) agentcli.Launcher { return e.open(t, dir, nil) },
	})
}
