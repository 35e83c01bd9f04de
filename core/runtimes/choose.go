package runtimes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of a spec.
const (
	maxName         = 200
	maxCapabilities = 100
	maxVolumes      = 64
	maxVolumeText   = 8 << 10
)

// presets are the values of approvalPreset.
var presets = wire.ApprovalPresets()

// checkSpec finds everything that is wrong with a spec before any runtime is asked.
func checkSpec(spec core.ManagedAgentSpec) error {
	var problems []core.Problem
	bad := func(path, format string, args ...any) {
		problems = append(problems, core.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	if spec.Type == "" {
		bad("type", "is missing: name the kind of agent, for example claude")
	}
	if len(spec.Name) > maxName {
		bad("name", "is longer than %d bytes", maxName)
	}
	if len(spec.Capabilities) > maxCapabilities {
		bad("capabilities", "are more than %d", maxCapabilities)
	}
	if spec.Approval != "" && !slices.Contains(presets, spec.Approval) {
		bad("approvalPreset", "must be one of %s, not %q", strings.Join(presets, ", "), spec.Approval)
	}
	problems = append(problems, core.CheckEnv("env", spec.Env)...)
	if spec.MemoryBytes < 0 {
		bad("memory", "must not be negative")
	}
	if spec.CPU < 0 {
		bad("cpu", "must not be negative")
	}
	for i, volume := range spec.Volumes {
		if i >= maxVolumes || len(volume) > maxVolumeText {
			bad(fmt.Sprintf("volumes[%d]", i), "must be at most %d volumes of %d bytes", maxVolumes, maxVolumeText)
			break
		}
	}
	return core.InvalidAll("managed agent", problems)
}

// awaitFirst waits, right after the start of the service, until it is known of the runtimes that the spec may go to
// whether they are there: a spawn that comes a moment too early is no reason to refuse it, or to give it to a runtime
// of a lower priority. A runtime that was tried once is not waited for.
func (s *Service) awaitFirst(ctx context.Context, spec core.ManagedAgentSpec) {
	for _, src := range s.configured() {
		if spec.Runtime != "" && spec.Runtime != src.Name {
			continue
		}
		select {
		case <-src.tried:
		case <-ctx.Done():
			return
		case <-s.draining.Done():
			return
		}
		if ready, _ := src.takes(); ready && s.knows(src, spec.Type) && (needsImages(&spec) == "" || src.capabilities().Images) {
			return
		}
	}
}

// candidates returns the runtimes to try, in order: the one that the spec names, else the ready ones by
// priority that know the type.
func (s *Service) candidates(spec core.ManagedAgentSpec) ([]*source, error) {
	if len(s.configured()) == 0 {
		if _, declared := s.opts.Types[spec.Type]; !declared && len(s.opts.KnownTypes) > 0 && !slices.Contains(s.opts.KnownTypes, spec.Type) {
			return nil, s.unknownType(spec.Type, nil)
		}
		return nil, core.NoRuntime("no runtime is configured: see runtimes in the configuration")
	}
	if spec.Runtime != "" {
		src := s.source(spec.Runtime)
		if src == nil {
			return nil, core.Invalid("runtime", "%q is not configured; there is %s", spec.Runtime, strings.Join(s.names(), ", "))
		}
		if ready, reason := src.takes(); !ready {
			return nil, core.RuntimeAway("the runtime %s is not ready: %s", src.Name, reason)
		}
		if !s.knows(src, spec.Type) {
			return nil, s.notOffered(spec.Type, []*source{src})
		}
		return []*source{src}, nil
	}
	var ready, able []*source
	var reasons []string
	missing := ""
	for _, src := range s.configured() {
		ok, reason := src.takes()
		if !ok {
			reasons = append(reasons, src.Name+": "+reason)
			continue
		}
		ready = append(ready, src)
		switch {
		case !s.knows(src, spec.Type):
		case !src.capabilities().Images && needsImages(&spec) != "":
			missing = needsImages(&spec)
		default:
			able = append(able, src)
		}
	}
	if spec.MemoryBytes > 0 || spec.CPU > 0 {
		// Those that hold agents to limits come first; one of the others may hold this agent to what it asks for.
		slices.SortStableFunc(able, func(a, b *source) int {
			return holds(b) - holds(a)
		})
	}
	switch {
	case len(ready) == 0:
		return nil, core.RuntimeAway("no runtime is ready: %s", strings.Join(reasons, "; "))
	case len(able) == 0 && len(reasons) > 0:
		return nil, core.RuntimeAway("no runtime that is ready knows the type %q; not ready: %s", spec.Type, strings.Join(reasons, "; "))
	case len(able) == 0 && missing != "":
		return nil, core.Invalid(missing, "no runtime that is ready has images, networks and volumes; there is %s",
			strings.Join(s.names(), ", "))
	case len(able) == 0:
		return nil, s.notOffered(spec.Type, ready)
	}
	return able, nil
}

// needsImages returns the first field of a spec that only a runtime with images has, or "".
func needsImages(spec *core.ManagedAgentSpec) string {
	switch {
	case spec.Image != "":
		return "image"
	case spec.Network != "":
		return "network"
	case len(spec.Volumes) > 0:
		return "volumes"
	}
	return ""
}

// holds is 1 for a runtime that holds agents to their limits, for sorting.
func holds(src *source) int {
	if src.capabilities().Limits {
		return 1
	}
	return 0
}

// knows reports whether a runtime can start agents of a type: declared types go with the spec.
func (s *Service) knows(src *source, kind string) bool {
	if _, declared := s.opts.Types[kind]; declared {
		return true
	}
	return slices.Contains(src.capabilities().Types, kind)
}

// notOffered is the error for a type that none of the runtimes starts.
func (s *Service) notOffered(kind string, among []*source) error {
	if !slices.Contains(s.opts.KnownTypes, kind) {
		return s.unknownType(kind, among)
	}
	var names []string
	for _, src := range among {
		names = append(names, src.Name)
	}
	return core.NoRuntime("nothing runs agents of the type %q: %s does not offer it", kind, strings.Join(names, ", "))
}

func (s *Service) unknownType(kind string, among []*source) error {
	known := slices.AppendSeq(slices.Clone(s.opts.KnownTypes), maps.Keys(s.opts.Types))
	for _, src := range among {
		known = append(known, src.capabilities().Types...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	err := core.Invalid("type", "%q is not an agent type; there is %s, and agentTypes in the configuration declares more",
		kind, strings.Join(known, ", "))
	err.Details["runtimeCode"] = string(runtime.CodeUnknownType)
	return err
}

func (s *Service) names() []string {
	var names []string
	for _, src := range s.configured() {
		names = append(names, src.Name)
	}
	return names
}
