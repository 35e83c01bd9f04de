package api

import (
	"math"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of a spec.
const (
	maxCPU       = 1024
	maxLabels    = 64
	maxLabelText = 256
	ownLabels    = "wardroom." // by these the service finds the agents of an execution
)

// managedAgentSpec checks what the decoder could not, and makes the service's spec. Values of env stay out of every error.
func managedAgentSpec(r *wire.ManagedAgentSpec) (core.ManagedAgentSpec, error) {
	var problems []core.Problem
	bad := func(path, reason string) { problems = append(problems, core.Problem{Path: path, Reason: reason}) }
	memory, reason := parseMemory(r.Memory)
	if reason != "" {
		bad("memory", reason)
	}
	if r.CPU < 0 || r.CPU > maxCPU {
		bad("cpu", "must be from 0 to "+strconv.Itoa(maxCPU)+" cores")
	}
	problems = append(problems, core.CheckEnv("env", r.Env)...)
	for name, value := range r.Labels {
		if name == "" || len(name) > maxLabelText || len(value) > maxLabelText {
			bad("labels."+schema.Clip(name), "name and value must be at most "+strconv.Itoa(maxLabelText)+" bytes, the name not empty")
		} else if strings.HasPrefix(name, ownLabels) {
			bad("labels."+schema.Clip(name), "names that begin with "+ownLabels+" are the service's own; choose another")
		}
	}
	if len(r.Labels) > maxLabels {
		bad("labels", "must be at most "+strconv.Itoa(maxLabels))
	}
	for i, capability := range r.Capabilities {
		if capability == "" || len(capability) > maxLabelText {
			bad("capabilities["+strconv.Itoa(i)+"]", "must be 1 to "+strconv.Itoa(maxLabelText)+" bytes")
		}
	}
	if err := core.InvalidAll("invalid request body", problems); err != nil {
		return core.ManagedAgentSpec{}, err
	}
	return core.ManagedAgentSpec{
		Name: r.Name, Type: r.Type, Capabilities: r.Capabilities, Workdir: r.Workdir, Env: r.Env,
		Runtime: r.Runtime, Approval: r.ApprovalPreset, Resume: r.Resume, Image: r.Image, Network: r.Network, Volumes: r.Volumes,
		MemoryBytes: memory, CPU: r.CPU, Labels: r.Labels,
	}, nil
}

// parseMemory reads "512m" as bytes; the empty text is no limit. reason tells what is wrong.
func parseMemory(text string) (size int64, reason string) {
	if text == "" {
		return 0, ""
	}
	digits := strings.TrimRight(text, "bBkKmMgGiI")
	unit := int64(1)
	switch strings.ToLower(text[len(digits):]) {
	case "", "b":
	case "k", "kb", "ki", "kib":
		unit = 1 << 10
	case "m", "mb", "mi", "mib":
		unit = 1 << 20
	case "g", "gb", "gi", "gib":
		unit = 1 << 30
	default:
		digits = ""
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, "must be a number of bytes above 0, with k, m or g behind it or not, such as 512m; not " +
			strconv.Quote(schema.Clip(text))
	}
	return n * unit, ""
}

func (s *Server) spawnManagedAgent(c *call, req wire.ManagedAgentSpec) (answer, error) {
	spec, err := managedAgentSpec(&req)
	if err != nil {
		return answer{}, err
	}
	if err := s.mayResume(c, spec.Type, spec.Resume); err != nil {
		return answer{}, err
	}
	a, err := s.opts.ManagedAgents.SpawnManagedAgent(c.detached(), spec)
	if err != nil {
		return answer{}, err
	}
	return created(managedAgentPath(a.ID), a), nil
}

// mayResume refuses a session to callers from whom some agents are hidden, unless it is of one that they may see: it holds what was
// said. A session that there is not, or that Wardroom did not begin, gets the same answer.
func (s *Server) mayResume(c *call, agentType, session string) error {
	if session == "" || c.readsAll(c.need()) {
		return nil
	}
	agents := s.managedAgents(c, core.ManagedAgentFilter{Type: agentType, SessionID: session})
	switch seen, _, err := agents.count(); {
	case err != nil:
		return err
	case seen == 0 && c.slow():
		return errSlow
	case seen == 0:
		return core.NotFound("session", schema.Clip(session))
	}
	return nil
}

// recoverSpawn answers a repeated spawn whose first answer was never given.
func (s *Server) recoverSpawn(c *call, id string) (answer, error) {
	a, err := s.opts.ManagedAgents.FindManagedAgent(c.ctx, id)
	if core.ErrorCode(err) == core.CodeNotFound {
		return answer{}, core.Conflict("managed agent", id, "",
			"the agent that this Idempotency-Key was for did not start, or is gone; use a new key to try again")
	}
	if err != nil {
		return answer{}, err
	}
	return created(managedAgentPath(a.ID), a), nil
}
