package policy

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
)

// Bounds of what is logged of decisions that fail.
const (
	reportEvery = time.Minute
	maxError    = 500 // bytes of why
)

// reporter logs decisions that a policy fails to make: of many one line in reportEvery. Its methods are safe for concurrent use but for
// LogTo.
type reporter struct {
	log   hclog.Logger // nil: nothing is logged
	clock core.Clock

	mu     sync.Mutex // guards below
	logged time.Time  // when the last line was written; zero: never
	more   int        // that failed since
}

// LogTo has decisions logged that the policy fails to make, or does not make in time: one line a minute at most. It is called before the
// first decision.
func (r *reporter) LogTo(log hclog.Logger, clock core.Clock) { r.log, r.clock = log, clock }

// failed notes a decision about something that was not made. On a nil reporter it does nothing.
func (r *reporter) failed(about, by string, err error) {
	if r == nil || r.log == nil {
		return
	}
	now := r.clock.Now()
	r.mu.Lock()
	more := r.more
	due := r.logged.IsZero() || now.Sub(r.logged) >= reportEvery
	if due {
		r.logged, r.more = now, 0
	} else {
		r.more++
	}
	r.mu.Unlock()
	if due {
		r.log.Error("the policy failed to decide", "about", about, "principal", by, "error", clip.Text(unquoted(err), maxError), "more", more)
	}
}

// unquoted returns the text of an error without what a policy was asked about: that of a built-in function quotes what it was given,
// which may be a secret in the input of a tool.
func unquoted(err error) string {
	var e *topdown.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Code
	if name, _, ok := strings.Cut(e.Message, ":"); ok && builtinName.MatchString(name) {
		text += " in " + name
	}
	if e.Location != nil {
		text += " at " + placeOf(e.Location)
	}
	return text
}

var builtinName = regexp.MustCompile(`^[a-z0-9_.]+$`)
