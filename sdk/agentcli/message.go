package agentcli

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	maxQueue       = 64      // messages of one agent that wait
	maxMessage     = 1 << 20 // bytes
	minCode        = 8       // bytes of a message that is taken for what a login shows
	maxCode        = 4 << 10 // bytes of what a login shows
	defaultTimeout = 120 * time.Second
	maxTimeout     = 24 * time.Hour
)

// stage is how far a message came.
type stage int

const (
	stageQueued stage = iota
	stageTyping       // handed to the typist
	stageTyped        // its last key was typed
	stageTook         // the agent took it
	stageDone         // its caller has an answer
)

// message is one message on its way. The session's goroutine owns it, until done is closed; then result and
// err are for everybody.
type message struct {
	id     string // of the caller, for a repeat; may be empty
	text   string
	expect bool // the caller waits for the turn
	code   bool // it answers a login: typed as it is
	stage  stage
	job    *typing

	begun     time.Time
	line      uint64     // of the cursor when its typing began
	strokes   uint64     // typist.typedBy when its typing began
	first     *message   // the one that this is a repeat of
	repeats   []*message // of this one
	tried     bool       // Confirm was typed already
	misses    int        // how often it was typed and provably not taken
	until     time.Time  // when its caller has no more time
	uncertain bool       // whether it was taken cannot be told from what happened since
	held      bool       // another turn ran, or a dialog stood, when it was looked at last
	dialog    bool       // a dialog stood after it was typed
	behind    bool       // the log says that it waits for input to be read
	unread    bool       // the command had not read all of it when it was looked at last
	stop      func()     // cancels the wait for the confirmation
	end       func()     // handles the end of the process, which waits for its typing; or nil
	answered  bool       // done is closed

	done   chan struct{}
	result runtime.SendResult
	err    error
}

func newMessage(in runtime.Input, timeout time.Duration) *message {
	return &message{id: in.ID, text: in.Message, expect: in.ExpectResponse, until: time.Now().Add(timeout), done: make(chan struct{})}
}

// mayBeCode reports whether the message may be what a login shows: one long word that is no word of a language, for which
// no turn is expected. Work that was sent while nobody knew of the login must not be typed where the code belongs, and
// would be lost there. An answer to the login is its code whatever it looks like.
func (m *message) mayBeCode() bool {
	return !m.expect && len(m.text) >= minCode && len(m.text) <= maxCode && len(strings.Fields(m.text)) == 1 &&
		strings.ContainsFunc(m.text, unicode.IsDigit)
}

// finish answers the caller, once.
func (m *message) finish(result runtime.SendResult, err error) {
	if m.answered {
		return
	}
	m.answered = true
	m.result, m.err = result, err
	close(m.done)
	for _, r := range m.repeats {
		r.finish(result, err)
	}
}

// fail answers the caller with an error.
func (m *message) fail(err error) { m.finish(runtime.SendResult{}, err) }

// checkInput reports what is wrong with an input, and returns its timeout.
func checkInput(in *runtime.Input) (time.Duration, error) {
	given := 0
	for _, has := range []bool{in.Message != "", in.Raw != "", len(in.Keys) > 0, in.Interrupt} {
		if has {
			given++
		}
	}
	bad := func(field, format string, args ...any) (time.Duration, error) {
		e := runtime.Errorf(runtime.CodeInvalidArgument, format, args...)
		e.Field = field
		return 0, e
	}
	switch {
	case given == 0:
		return bad("message", "an input has one of message, raw, keys and interrupt; this one has none, or an empty one")
	case given > 1:
		return bad("message", "an input has exactly one of message, raw, keys and interrupt; this one has %d", given)
	case len(in.Message) > maxMessage || len(in.Raw) > maxMessage:
		return bad("message", "an input has at most %d bytes", maxMessage)
	case len(in.Keys) > 1000:
		return bad("keys", "an input has at most 1000 keys")
	case in.Message != "" && strings.TrimFunc(in.Message, isBlank) == "":
		return bad("message", "a message is not only white space and control characters; keys go into keys or raw")
	case !utf8.ValidString(in.Message):
		return bad("message", "a message is valid UTF-8")
	case in.ExpectResponse && in.Message == "":
		return bad("expectResponse", "only a message has a response; raw, keys and interrupt have none")
	case in.Timeout < 0 || in.Timeout > maxTimeout:
		return bad("timeout", "a timeout is between 0 and %s", maxTimeout)
	case len(in.ID) > 256:
		return bad("id", "an id has at most 256 bytes")
	}
	if in.Timeout == 0 {
		return defaultTimeout, nil
	}
	return in.Timeout, nil
}

// isBlank reports whether nothing of a character is left of a message that is typed.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// sameText reports whether a CLI's report of a message is about this one. CLIs trim and join white space.
func sameText(a, b string) bool { return squeeze(a) == squeeze(b) }

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Errors of messages.

func errNotRunning(id string) error {
	return runtime.Errorf(runtime.CodeNotRunning, "agent %q is not running", id)
}

func errUnknown(why string) error {
	e := runtime.Errorf(runtime.CodeDeliveryUnknown, "the message was typed, and %s before the agent confirmed it", why)
	e.Hint = "look at the terminal or the log before sending it again"
	return e
}

func errTooLong(kind string, most int) error {
	e := runtime.Errorf(runtime.CodeInvalidArgument, "%s takes messages of at most %d bytes in its terminal", kind, most)
	e.Field, e.Hint = "message", "put the text into a file, and have the agent read that"
	return e
}

func errNotDelivered() error {
	return &runtime.Error{
		Code: runtime.CodeNotDelivered, Message: "the agent did not take the message", Retry: true,
		Hint: "sending it again is safe; the terminal shows what the agent waits for",
	}
}

func errWaited() error {
	return &runtime.Error{
		Code: runtime.CodeTimeout, Message: "the agent did not become idle in time; nothing was typed", Retry: true,
		Hint: "sending it again is safe",
	}
}

func errTurnLong() error {
	return runtime.Errorf(runtime.CodeTimeout, "the agent took the message, and its turn did not end in time")
}

func errAuth(url string) error {
	e := runtime.Errorf(runtime.CodeAuthRequired, "the agent needs a login")
	e.Hint = "log in at its terminal"
	if url != "" {
		e.Hint = "log in at " + url + ", and answer with what it shows as text"
	}
	return e
}

func errBlocked(p *runtime.Prompt) error {
	e := runtime.Errorf(runtime.CodeBlocked, "the agent waits for an answer first")
	if p != nil {
		e.Hint = "answer its prompt " + p.ID
	}
	return e
}
