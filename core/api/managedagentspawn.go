package api

import (
	"math"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// spawnRequest asks for a managed agent. Names of fields are the interface's; approvalPreset and what follows
// are ours.
type spawnRequest struct {
	Name           string            `json:"name" check:"max=128" doc:"Default: the type." example:"reviewer"`
	Type           string            `json:"type" check:"required,min=1,max=128" doc:"claude, codex, gemini, or one of agentTypes in the configuration." example:"claude"`
	Capabilities   []string          `json:"capabilities" check:"max=100" example:"[\"review\"]"`
	Workdir        string            `json:"workdir" check:"max=4096" doc:"Absolute path at the runtime. Default: a fresh folder of its own."`
	Env            map[string]string `json:"env" doc:"Environment of the agent. Secret: never stored, logged or answered."`
	Runtime        string            `json:"runtime" check:"max=128" doc:"Default: the first ready one by priority." example:"local"`
	ApprovalPreset string            `json:"approvalPreset" enum:"readonly,standard,permissive,autonomous" doc:"What it may do without asking. Default: standard."`
	Resume         string            `json:"resume" check:"max=256" doc:"sessionId of an earlier agent of this type."`
	Image          string            `json:"image" check:"max=512" doc:"Of a runtime with images."`
	Network        string            `json:"network" check:"max=256" doc:"Of a runtime with networks."`
	Memory         string            `json:"memory" check:"max=32" doc:"Bytes, or with a unit k, m or g (powers of 1024)." example:"512m"`
	CPU            float64           `json:"cpu" doc:"Cores." example:"0.5"`
	Labels         map[string]string `json:"labels" doc:"Free keys, kept with the agent; names that begin with wardroom. are reserved."`
}

// Bounds of a spec.
const (
	maxCPU       = 1024
	maxEnv       = 512
	maxEnvBytes  = 1 << 20
	maxLabels    = 64
	maxLabelText = 256
	ownLabels    = "wardroom." // by these the service finds the agents of an execution
)

// spec checks what the decoder could not, and makes the service's spec. Values of env stay out of every error.
func (r *spawnRequest) spec() (core.ManagedAgentSpec, error) {
	var problems []core.Problem
	bad := func(path, reason string) { problems = append(problems, core.Problem{Path: path, Reason: reason}) }
	memory, reason := parseMemory(r.Memory)
	if reason != "" {
		bad("memory", reason)
	}
	if r.CPU < 0 || r.CPU > maxCPU {
		bad("cpu", "must be from 0 to "+strconv.Itoa(maxCPU)+" cores")
	}
	checkEnv("env", r.Env, bad)
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
		Runtime: r.Runtime, Approval: r.ApprovalPreset, Resume: r.Resume, Image: r.Image, Network: r.Network,
		MemoryBytes: memory, CPU: r.CPU, Labels: r.Labels,
	}, nil
}

// checkEnv reports what cannot be an environment. Its values stay out of the reasons.
func checkEnv(path string, env map[string]string, bad func(path, reason string)) {
	size := 0
	for name, value := range env {
		size += len(name) + len(value)
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			bad(path, "the name "+strconv.Quote(schema.Clip(name))+" must not be empty or hold = or NUL")
		case strings.ContainsRune(value, 0):
			bad(schema.Join(path, schema.Clip(name)), "must not hold NUL")
		}
	}
	if len(env) > maxEnv || size > maxEnvBytes {
		bad(path, "must be at most "+strconv.Itoa(maxEnv)+" variables and 1 MiB")
	}
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

func (s *Server) spawnManagedAgent(c *call) (answer, error) {
	var req spawnRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	spec, err := req.spec()
	if err != nil {
		return answer{}, err
	}
	a, err := s.opts.ManagedAgents.SpawnManagedAgent(c.detached(), spec)
	if err != nil {
		return answer{}, err
	}
	return created(managedAgentPath(a.ID), a), nil
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
