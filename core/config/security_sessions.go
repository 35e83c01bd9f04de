package config

import (
	"time"

	"github.com/wardroom/wardroom/core/internal/schema"
)

// Sessions say how long people stay signed in, by single sign-on or by a key.
type Sessions struct {
	// A browser that asks for nothing for so long is signed out.
	Timeout time.Duration `json:"timeout" default:"1h" check:"min=1m,max=30d"`
	// After so long everyone has to sign in anew, command lines too.
	MaxAge time.Duration `json:"maxAge" default:"12h" check:"min=1m,max=90d"`
	// Sessions of one person. With one more, the one that was not used for longest ends.
	MaxConcurrent int `json:"maxConcurrent" default:"10" check:"min=1,max=1000"`
}

// sessions reports what contradicts itself in the section.
func (r *ruling) sessions(s *Sessions) {
	if s.MaxAge < s.Timeout {
		r.refuse("security.sessions", "timeout", "must be at most maxAge (%s), after which everyone is signed out, not %s",
			schema.FormatDuration(s.MaxAge), schema.FormatDuration(s.Timeout))
	}
}
