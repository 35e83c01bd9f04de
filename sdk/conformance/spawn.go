package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var spawnChecks = []check[*suite]{
	{"capabilities/stable", "a runtime says the same about itself each time", true, capabilitiesStable},
	{"unknown/not-found", "every call about an unknown agent is NOT_FOUND", true, unknownNotFound},
	{"spawn/invalid", "a bad spec is refused, names its field, and starts nothing", true, spawnInvalid},
	{"spawn/ready", "an agent starts, gets ready, and is listed under its id with a handle", false, spawnReady},
	{"spawn/idempotent", "the same spec again returns the running agent; another spec is ALREADY_EXISTS", false, spawnIdempotent},
	{"list/filter", "List selects by installation and labels", false, listFilter},
}

func capabilitiesStable(ctx context.Context, s *suite) error {
	first, err := s.rt().Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("Capabilities: %w", err)
	}
	if first.Name == "" {
		return fmt.Errorf("the runtime has no name")
	}
	second, err := s.rt().Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("Capabilities: %w", err)
	}
	for _, kind := range first.MissingTypes {
		if !slices.Contains(first.Types, kind) {
			return fmt.Errorf("MissingTypes names %q, which is not one of Types %q", kind, first.Types)
		}
	}
	first.MissingTypes, second.MissingTypes = nil, nil // they are of the moment
	if !reflect.DeepEqual(first, second) {
		return fmt.Errorf("Capabilities changed from %+v to %+v", first, second)
	}
	return nil
}

func unknownNotFound(ctx context.Context, s *suite) error {
	const id = "no-such-agent"
	rt := s.rt()
	calls := map[string]func() error{
		"Stop":    func() error { return rt.Stop(ctx, id, runtime.StopOptions{}) },
		"Restart": func() error { _, err := rt.Restart(ctx, id, runtime.RestartOptions{}); return err },
		"Inspect": func() error { _, err := rt.Inspect(ctx, id); return err },
		"Send":    func() error { _, err := rt.Send(ctx, id, runtime.Input{Message: "x"}); return err },
		"Answer":  func() error { return rt.Answer(ctx, id, runtime.Answer{Choice: runtime.ChoiceAllow}) },
		"Metrics": func() error { _, err := rt.Metrics(ctx, id); return err },
		"Attach": func() error {
			t, err := rt.Attach(ctx, id, runtime.AttachOptions{})
			if err == nil {
				_ = t.Close()
			}
			return err
		},
		"Logs": func() error {
			l, err := rt.Logs(ctx, id, runtime.LogOptions{})
			if err == nil {
				_, err = l.Next() // a connection may learn of it late
				_ = l.Close()
			}
			return err
		},
	}
	for name, call := range calls {
		if err := wantCode(name, call(), runtime.CodeNotFound); err != nil {
			return err
		}
	}
	return nil
}

func spawnInvalid(ctx context.Context, s *suite) error {
	for name, bad := range map[string]struct {
		change func(*runtime.Spec)
		codes  []runtime.Code
	}{
		"an id with a slash":  {func(s *runtime.Spec) { s.ID = "a/b" }, []runtime.Code{runtime.CodeInvalidSpec}},
		"no id":               {func(s *runtime.Spec) { s.ID = "" }, []runtime.Code{runtime.CodeInvalidSpec}},
		"an unknown type":     {func(s *runtime.Spec) { s.Type, s.Declared = "no-such-type", nil }, []runtime.Code{runtime.CodeUnknownType}},
		"an unknown approval": {func(s *runtime.Spec) { s.Approval = "whatever" }, []runtime.Code{runtime.CodeInvalidSpec}},
		"a relative workdir":  {func(s *runtime.Spec) { s.Workdir = "some/where" }, []runtime.Code{runtime.CodeInvalidSpec, runtime.CodeWorkdirNotAllowed}},
		"a missing workdir": {func(s *runtime.Spec) { s.Workdir = "/no/such/directory" },
			[]runtime.Code{runtime.CodeInvalidSpec, runtime.CodeWorkdirNotAllowed}},
		"a terminal without end": {func(s *runtime.Spec) { s.Cols, s.Rows = 100_000, 24 }, []runtime.Code{runtime.CodeInvalidSpec}},
	} {
		spec := s.newSpec()
		bad.change(&spec)
		_, err := s.rt().Spawn(ctx, spec)
		if err := wantCode("Spawn with "+name, err, bad.codes...); err != nil {
			return err
		}
		if e := runtime.AsError(err); e.Message == "" || e.Code == runtime.CodeInvalidSpec && e.Field == "" {
			return fmt.Errorf("Spawn with %s: the error %w does not tell which field is wrong, and why", name, e)
		}
		agents, err := s.rt().List(ctx, runtime.ListFilter{Installation: s.installation})
		if err != nil {
			return fmt.Errorf("List: %w", err)
		}
		if slices.ContainsFunc(agents, func(a runtime.Agent) bool { return a.ID == spec.ID }) {
			return fmt.Errorf("Spawn with %s failed, and left an agent behind", name)
		}
	}
	return nil
}

func spawnReady(ctx context.Context, s *suite) error {
	spec := s.newSpec()
	spec.Name, spec.Capabilities, spec.Labels = "a name", []string{"shell"}, map[string]string{"kind": "check"}
	started, err := s.rt().Spawn(ctx, spec)
	if err != nil {
		return fmt.Errorf("Spawn: %w", err)
	}
	defer s.drop(ctx, spec.ID)
	if started.ID != spec.ID || started.Handle.ID != spec.ID {
		return fmt.Errorf("Spawn returned agent %q with a handle of %q; both should be %q", started.ID, started.Handle.ID, spec.ID)
	}
	agent, err := s.await(ctx, spec.ID, runtime.StatusReady)
	if err != nil {
		return err
	}
	if agent.Name != spec.Name || agent.Type != spec.Type || !slices.Equal(agent.Capabilities, spec.Capabilities) || agent.Labels["kind"] != "check" {
		return fmt.Errorf("the agent lost what the spec said of it: %+v", agent)
	}
	if agent.CreatedAt.IsZero() {
		return fmt.Errorf("the agent has no time of creation")
	}
	agents, err := s.rt().List(ctx, runtime.ListFilter{})
	if err != nil {
		return fmt.Errorf("List: %w", err)
	}
	if !slices.ContainsFunc(agents, func(a runtime.Agent) bool { return a.ID == spec.ID }) {
		return fmt.Errorf("List does not have the agent")
	}
	return nil
}

func spawnIdempotent(ctx context.Context, s *suite) error {
	spec := s.newSpec()
	first, err := s.agentOf(ctx, spec)
	if err != nil {
		return err
	}
	defer s.drop(ctx, spec.ID)
	second, err := s.rt().Spawn(ctx, spec)
	if err != nil {
		return fmt.Errorf("the same spec again: %w", err)
	}
	if first.PID != second.PID || !first.CreatedAt.Equal(second.CreatedAt) {
		return fmt.Errorf("the same spec again started another agent: process %d, then %d", first.PID, second.PID)
	}
	spec.Name = "another"
	_, err = s.rt().Spawn(ctx, spec)
	return wantCode("another spec for an id that runs", err, runtime.CodeAlreadyExists)
}

func listFilter(ctx context.Context, s *suite) error {
	spec := s.newSpec()
	spec.Labels = map[string]string{"filter": spec.ID}
	if _, err := s.agentOf(ctx, spec); err != nil {
		return err
	}
	defer s.drop(ctx, spec.ID)
	for _, want := range []struct {
		filter runtime.ListFilter
		found  bool
	}{
		{runtime.ListFilter{Installation: s.installation}, true},
		{runtime.ListFilter{Installation: "another"}, false},
		{runtime.ListFilter{Labels: spec.Labels}, true},
		{runtime.ListFilter{Labels: map[string]string{"filter": "another"}}, false},
	} {
		agents, err := s.rt().List(ctx, want.filter)
		if err != nil {
			return fmt.Errorf("List: %w", err)
		}
		if found := slices.ContainsFunc(agents, func(a runtime.Agent) bool { return a.ID == spec.ID }); found != want.found {
			return fmt.Errorf("List(%+v) has the agent: %v, and should be %v", want.filter, found, want.found)
		}
	}
	return nil
}

// contains reports whether the JSON of a value holds a text.
func contains(value any, text string) bool {
	data, err := json.Marshal(value)
	return err == nil && strings.Contains(string(data), text)
}
