package main

import (
	"context"
	"fmt"

	"github.com/wardroom/wardroom/scripts/clis"
	"github.com/wardroom/wardroom/scripts/fakemodel"
	api "github.com/wardroom/wardroom/sdk/client"
)

// cliAgent is a real command line agent of the core, with a model endpoint of its own.
type cliAgent struct {
	*managed
	*api.ManagedAgent
	model *fakemodel.Server
}

// notInstalled reports a row for a command line that is not there.
func (b *bench) notInstalled(part, name string) {
	b.rows = append(b.rows, row{Part: part, Measure: name, Value: "skipped", Ratio: "it is not installed: make clis"})
}

// cli starts a command line agent; the caller stops its model.
func (m *managed) cli(ctx context.Context, name string) (*cliAgent, error) {
	model := fakemodel.New(fakemodel.Options{})
	if err := model.Start(); err != nil {
		return nil, err
	}
	a, err := m.spawn(ctx, api.ManagedAgentSpec{Type: name, Env: fakemodel.Env(name, model.URL())})
	if err != nil {
		_ = model.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &cliAgent{managed: m, ManagedAgent: a, model: model}, nil
}

func (a *cliAgent) end(ctx context.Context) {
	_ = a.Client.StopManagedAgent(ctx, a.ID, true, 0) // who cannot be stopped now is stopped with the core
	_ = a.model.Close()
}

// eachCLI runs a measurement with every command line that is installed.
func (b *bench) eachCLI(ctx context.Context, part string, measure func(*cliAgent) error) error {
	m, err := b.serveManaged(ctx)
	if err != nil {
		return err
	}
	defer m.close()
	for _, name := range clis.Names() {
		if _, ok := clis.Find(name); !ok {
			b.notInstalled(part, name)
			continue
		}
		a, err := m.cli(ctx, name)
		if err != nil {
			return err
		}
		err = measure(a)
		a.end(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
