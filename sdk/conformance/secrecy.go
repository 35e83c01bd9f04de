package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var secretsChecks = []check[*suite]{
	{"secrets/env", "values of the environment reach the agent, and no record, event, log or error", false, secretsEnv},
}

func secretsEnv(ctx context.Context, s *suite) error {
	secret := rand.Text()
	spec := s.newSpec()
	spec.Env = map[string]string{"CONFORMANCE_SECRET": secret}
	agent, err := s.agentOf(ctx, spec)
	if err != nil {
		return err
	}
	defer s.drop(ctx, spec.ID)
	// The length tells that the value is there without saying it.
	text, err := s.ask(ctx, spec.ID, `echo length-${#CONFORMANCE_SECRET}`)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("length-%d", len(secret)); strings.TrimSpace(text) != want {
		return fmt.Errorf("the agent's environment does not have the variable: it said %q instead of %q", text, want)
	}
	other := spec
	other.Name = "another"
	_, conflict := s.rt().Spawn(ctx, other)
	other = spec
	other.ID, other.Type, other.Declared = "c-"+rand.Text(), "no-such-type", nil
	_, unknown := s.rt().Spawn(ctx, other)
	agents, err := s.rt().List(ctx, runtime.ListFilter{Installation: s.installation})
	if err != nil {
		return fmt.Errorf("List: %w", err)
	}
	if file := s.fileWith(secret); file != "" {
		return fmt.Errorf("the file %s holds the value of a variable of the environment, in clear", file)
	}
	if err := s.rt().Stop(ctx, spec.ID, runtime.StopOptions{}); err != nil {
		return fmt.Errorf("Stop: %w", err)
	}
	events, err := s.eventsUntil(ctx, runtime.EventOptions{AgentID: spec.ID}, runtime.EventStopped)
	if err != nil {
		return err
	}
	log, err := s.entries(ctx, spec.ID, runtime.LogOptions{})
	if err != nil {
		return err
	}
	for where, value := range map[string]any{
		"the record": agent, "the list": agents, "an event": events, "the log": log,
		"an error": []string{fmt.Sprint(conflict), fmt.Sprint(unknown)}, "the handle": string(agent.Handle.Data),
	} {
		if contains(value, secret) {
			return fmt.Errorf("%s holds the value of a variable of the environment", where)
		}
	}
	return nil
}

// fileWith returns the name of a file of the runtime's state that holds a text; empty if none does.
func (s *suite) fileWith(text string) (found string) {
	if s.state == "" {
		return ""
	}
	_ = filepath.WalkDir(s.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // files come and go while the runtime works
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found
}
