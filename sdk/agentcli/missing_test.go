package agentcli_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// finder is a launcher that says which commands there are.
type finder struct {
	*launcher
	look func(name string) error
}

func (f finder) LookPath(_ context.Context, name string) (string, error) {
	return "/bin/" + name, f.look(name)
}

// TestMissingTypes says which types cannot be started, where the launcher can tell.
func TestMissingTypes(t *testing.T) {
	none := runtime.Errorf(runtime.CodeCLINotFound, "there is none")
	l := newLauncher(t, nil)
	for name, test := range map[string]struct {
		launcher agentcli.Launcher
		want     []string
	}{
		"Unsaid":  {l, nil},
		"AllHere": {finder{l, func(string) error { return nil }}, []string{}},
		"Missing": {finder{l, func(name string) error {
			if name == "no-such-tool" {
				return none
			}
			return nil
		}}, []string{"tool"}},
		"Unknown": {finder{l, func(string) error { return errors.New("the host is away") }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := agentcli.NewRuntime(agentcli.Options{
				Name: "test", Launcher: test.launcher, StateDir: t.TempDir(),
				Types: map[string]runtime.DeclaredType{"bash": bashType, "tool": {Command: "no-such-tool"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Capabilities(t.Context())
			if err != nil || !reflect.DeepEqual(got.MissingTypes, test.want) {
				t.Errorf("missing %#v, error %v, want %#v", got.MissingTypes, err, test.want)
			}
		})
	}
}
