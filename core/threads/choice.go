package threads

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// place is where the agent of a thread is to run.
type place struct {
	runtime string // that was asked for, or RuntimeConnected
	host    string // id of the connected agent that hosts the thread, or ""
}

// place finds who can run an agent of a type now: a runtime before a connected agent, unless one was asked for.
func (s *Service) place(ctx context.Context, spec *core.ThreadSpec) (place, error) {
	infos := s.opts.ManagedAgents.Runtimes(ctx)
	if err := checkRuntime(infos, spec); err != nil {
		return place{}, err
	}
	if spec.AgentID == "" && spec.Runtime != core.RuntimeConnected {
		for i := range infos {
			if (spec.Runtime == "" || infos[i].Name == spec.Runtime) && infos[i].Ready && slices.Contains(infos[i].Types, spec.AgentType) {
				return place{runtime: spec.Runtime}, nil
			}
		}
	}
	hosts, host := s.hostFor(spec)
	if host != "" {
		return place{runtime: core.RuntimeConnected, host: host}, nil
	}
	for _, info := range infos {
		if !info.Ready && spec.AgentID == "" && (spec.Runtime == "" || spec.Runtime == info.Name) { // it may get ready
			return place{}, core.RuntimeAway("nothing runs agents of the type %q now: %s",
				spec.AgentType, missing(infos, hosts, spec))
		}
	}
	if spec.AgentID == "" && (spec.Runtime == "" || spec.Runtime == core.RuntimeConnected) && s.hostAway(spec.AgentType) {
		return place{}, core.RuntimeAway("nothing runs agents of the type %q now: a connected agent that hosts threads lost its connection, or drains",
			spec.AgentType)
	}
	if hosts, host = s.hostFor(spec); host != "" { // it came back in between, and was neither there nor away
		return place{runtime: core.RuntimeConnected, host: host}, nil
	}
	return place{}, core.NoRuntime("nothing runs agents of the type %q: %s", spec.AgentType, missing(infos, hosts, spec))
}

// checkRuntime refuses a runtime that is not configured, and one beside a connected agent. Whether it is ready does not count.
func checkRuntime(infos []core.RuntimeInfo, spec *core.ThreadSpec) error {
	if spec.Runtime == "" || spec.Runtime == core.RuntimeConnected {
		return nil
	}
	if spec.AgentID != "" {
		return core.Invalid("agentId", "a connected agent is no part of the runtime %q; give one of the two", spec.Runtime)
	}
	names := make([]string, 0, len(infos)+1)
	for i := range infos {
		names = append(names, infos[i].Name)
	}
	if slices.Contains(names, spec.Runtime) {
		return nil
	}
	return core.Invalid("runtime", "%q is not configured; there is %s", spec.Runtime, listed(append(names, core.RuntimeConnected)))
}

// hostFor returns the connected agents that host threads now, where one may be asked, and the id of the one to ask, or "".
func (s *Service) hostFor(spec *core.ThreadSpec) (hosts []core.RemoteHost, id string) {
	if s.opts.Hosts == nil || spec.Runtime != "" && spec.Runtime != core.RuntimeConnected {
		return nil, ""
	}
	hosts = s.opts.Hosts.Hosts()
	for _, h := range hosts {
		if (spec.AgentID == "" || h.AgentID == spec.AgentID) && slices.Contains(h.Types, spec.AgentType) &&
			(h.MaxThreads <= 0 || h.Threads < h.MaxThreads) {
			return hosts, h.AgentID
		}
	}
	return hosts, ""
}

func (s *Service) hostAway(agentType string) bool {
	return s.opts.Hosts != nil && s.opts.Hosts.HostAway(agentType)
}

// checkType refuses a type that nobody knows, in the words that a managed agent gets. A runtime that is away may know it, and so
// may a connected agent.
func (s *Service) checkType(ctx context.Context, spec *core.ThreadSpec) error {
	kind := spec.AgentType
	if s.opts.AgentTypes == nil || kind == "" {
		return nil
	}
	known := s.knownTypes(ctx)
	if slices.Contains(known, kind) {
		return s.checkCommand(ctx, spec)
	}
	for _, info := range s.opts.ManagedAgents.Runtimes(ctx) {
		if !info.Ready {
			return nil
		}
	}
	if s.hostAway(kind) {
		return nil
	}
	// An agent that came back in between was neither there nor away.
	if known = s.knownTypes(ctx); slices.Contains(known, kind) {
		return s.checkCommand(ctx, spec)
	}
	slices.Sort(known)
	return core.Invalid("agentType", "%q is not an agent type; there is %s, and agentTypes in the configuration declares more",
		kind, listed(slices.Compact(known)))
}

// knownTypes returns the types of the configuration, of the runtimes and of the connected agents that host threads now.
func (s *Service) knownTypes(ctx context.Context) []string {
	known := s.opts.AgentTypes(ctx)
	if s.opts.Hosts != nil {
		for _, h := range s.opts.Hosts.Hosts() {
			known = append(known, h.Types...)
		}
	}
	return known
}

// checkCommand refuses a type whose command no runtime finds that could run it, so that a spawn does not make a thread that
// can only fail. A thread with a PATH of its own may find it.
func (s *Service) checkCommand(ctx context.Context, spec *core.ThreadSpec) error {
	if _, own := spec.Preparation.Env["PATH"]; own || spec.AgentID != "" || spec.Runtime == core.RuntimeConnected ||
		len(lacking(s.opts.ManagedAgents.Runtimes(ctx), spec)) == 0 {
		return nil
	}
	runtimes := lacking(s.opts.ManagedAgents.LookAtRuntimes(ctx), spec) // it may have been installed since
	if len(runtimes) == 0 {
		return nil
	}
	if spec.Runtime == "" && s.opts.Hosts != nil {
		for _, h := range s.opts.Hosts.Hosts() {
			if slices.Contains(h.Types, spec.AgentType) {
				return nil
			}
		}
	}
	err := core.Invalid("agentType", "the command of %q was not found where the runtime %s starts agents; install it there, "+
		"or put its directory on the PATH of the service", spec.AgentType, listed(runtimes))
	err.Details["runtimeCode"] = runtimecode.CLINotFound
	return err
}

// lacking returns the runtimes that would run a thread's agent if they found its command; none where one finds it, or may.
func lacking(infos []core.RuntimeInfo, spec *core.ThreadSpec) []string {
	var names []string
	for i := range infos {
		info := &infos[i]
		if spec.Runtime != "" && spec.Runtime != info.Name {
			continue
		}
		switch {
		case !info.Ready:
			return nil
		case slices.Contains(info.MissingTypes, spec.AgentType):
			names = append(names, info.Name)
		case slices.Contains(info.Types, spec.AgentType):
			return nil
		}
	}
	return names
}

func listed(names []string) string { return strings.Join(names, ", ") }

// missing returns what there is instead.
func missing(infos []core.RuntimeInfo, hosts []core.RemoteHost, spec *core.ThreadSpec) string {
	var there []string
	for _, info := range infos {
		switch {
		case spec.AgentID != "" || spec.Runtime != "" && spec.Runtime != info.Name:
		case !info.Ready:
			there = append(there, fmt.Sprintf("the runtime %s is not ready (%s)", info.Name, info.Reason))
		default:
			there = append(there, fmt.Sprintf("the runtime %s offers %s", info.Name, listed(info.Types)))
		}
	}
	for _, h := range hosts {
		switch {
		case spec.AgentID != "" && spec.AgentID != h.AgentID:
		case !slices.Contains(h.Types, spec.AgentType):
			there = append(there, fmt.Sprintf("the connected agent %s (%s) offers %s", h.Name, h.AgentID, listed(h.Types)))
		default:
			there = append(there, fmt.Sprintf("the connected agent %s (%s) hosts %d threads already", h.Name, h.AgentID, h.Threads))
		}
	}
	switch {
	case len(there) == 0 && spec.AgentID != "":
		return fmt.Sprintf("the agent %s is not connected, or hosts no threads", spec.AgentID)
	case len(there) == 0:
		return "no runtime is configured, and no connected agent hosts threads"
	}
	return strings.Join(there, "; ")
}
