package server

import (
	"slices"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// spawnRequest is the body of POST /agents: a runtime.Spec, and the fields under which the interface knows some
// of its parts. A part may be given under one name only.
type spawnRequest struct {
	runtime.Spec

	Resources *resources `json:"resources"` // limits in the words of a container
	Memory    string     `json:"memory"`    // as in resources
	CPU       float64    `json:"cpu"`

	// A declared type, without the wrapping.
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Ready   runtime.ReadyRule `json:"ready"`
	Idle    runtime.Duration  `json:"idle"` // milliseconds
	Exit    string            `json:"exit"`
}

type resources struct {
	Memory string  `json:"memory"` // such as 512m or 2g
	CPU    float64 `json:"cpu"`    // cores
}

// spec returns what the request asks for.
func (q *spawnRequest) spec() (runtime.Spec, error) {
	spec := q.Spec
	if spec.Type == "" {
		return spec, runtime.Invalid("type", "is needed: it says which agent to start")
	}
	if err := q.limits(&spec.Limits); err != nil {
		return spec, err
	}
	if q.Command != "" {
		if spec.Declared != nil {
			return spec, runtime.Invalid("command", "is given twice: here and in declared")
		}
		spec.Declared = &runtime.DeclaredType{Command: q.Command, Args: q.Args, Ready: q.Ready, Idle: q.Idle, Exit: q.Exit}
	} else if len(q.Args) > 0 || q.Ready != (runtime.ReadyRule{}) || q.Idle != 0 || q.Exit != "" {
		return spec, runtime.Invalid("command", "is needed with args, ready, idle and exit")
	}
	return spec, nil
}

func (q *spawnRequest) limits(limits *runtime.Limits) error {
	type wish struct {
		field, memory string
		cpu           float64
	}
	wishes := []wish{{"", q.Memory, q.CPU}}
	if q.Resources != nil {
		wishes = append(wishes, wish{"resources.", q.Resources.Memory, q.Resources.CPU})
	}
	for _, w := range wishes {
		if w.memory != "" {
			n, err := runtime.ParseMemory(w.memory)
			if err != nil {
				return runtime.Invalid(w.field+"memory", "%v", err)
			}
			if limits.MemoryBytes != 0 && limits.MemoryBytes != n {
				return runtime.Invalid(w.field+"memory", "is given twice, and differently")
			}
			limits.MemoryBytes = n
		}
		if w.cpu < 0 {
			return runtime.Invalid(w.field+"cpu", "must be a number of cores, such as 0.5")
		}
		if w.cpu > 0 {
			if limits.CPU != 0 && limits.CPU != w.cpu {
				return runtime.Invalid(w.field+"cpu", "is given twice, and differently")
			}
			limits.CPU = w.cpu
		}
	}
	return nil
}

// matches reports whether an agent is one that a list asks for.
func (f *listQuery) matches(a *runtime.Agent, r *Record) bool {
	return (f.kind == "" || f.kind == a.Type) &&
		(len(f.status) == 0 || slices.Contains(f.status, string(a.Status)) || slices.Contains(f.status, string(r.Status)))
}
