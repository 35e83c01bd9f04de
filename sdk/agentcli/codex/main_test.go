package codex_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

func TestMain(m *testing.M) {
	code := drivertest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
