package config

import "time"

// AgentType is a command-line program that runtimes may run as an agent, beside those they know.
type AgentType struct {
	Command string // absolute path, or a name on the PATH of the runtime
	Args    []string
	Env     Env
	Ready   Ready
	Idle    time.Duration // silence that ends a turn, beside a pattern too; 0: the pattern alone, or without one 2 s
	Exit    string        // the line that ends the program; empty: it gets the end-of-input key
}

// Ready tells when a program waits for input.
type Ready struct {
	Pattern string // regular expression for the last line with text; empty: the first silence
	Timeout time.Duration
}

func newAgentType(string) *AgentType {
	return &AgentType{Ready: Ready{Timeout: time.Minute}}
}
