package config

import "time"

// AgentType is a command-line program that runtimes may run as an agent, beside those they know.
type AgentType struct {
	// The program: an absolute path, or a name on the PATH of the runtime.
	Command string `json:"command" missing:"name the program that this agent type runs"`
	// Its arguments.
	Args []string `json:"args"`
	// Variables for its environment. They are never shown.
	Env Env `json:"env"`
	// How long it must print nothing for its turn to be over. 0: its turns end with ready.pattern alone, or without a
	// pattern after 2s.
	Idle time.Duration `json:"idle" check:"min=0s,max=10m"`
	// The line that ends it politely, such as exit. Empty: it gets the end-of-input key.
	Exit string `json:"exit"`
	// How to tell that it waits for input.
	Ready Ready `json:"ready"`
}

// Ready says when a program waits for input.
type Ready struct {
	// Regular expression that the last line on its screen matches when it waits for input. Empty: the first silence.
	Pattern string `json:"pattern" check:"is=regexp"`
	// How long it may take to get there.
	Timeout time.Duration `json:"timeout" default:"1m" check:"min=1s,max=1h"`
}
