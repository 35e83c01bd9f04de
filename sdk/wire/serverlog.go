package wire

import "time"

// ServerLogLine is one line that the server wrote to its log.
type ServerLogLine struct {
	Timestamp time.Time `json:"timestamp"`
	Level     string    `json:"level" enum:"trace,debug,info,warn,error"`
	Part      string    `json:"part,omitempty" doc:"The part of the server that wrote it."`
	Message   string    `json:"message" doc:"The text with its values, at most 16 KiB."`
	Lost      int       `json:"lost,omitempty" doc:"Lines before this one that a slow follower missed."`
}
