package agentcli

import (
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Adapter knows one agent type. Methods may be called concurrently.
type Adapter interface {
	// Type is its name: claude, codex, gemini, or a declared one.
	Type() string
	// Plan says how to start the CLI, and what files it wants. INVALID_SPEC, CLI_NOT_FOUND, AUTH_REQUIRED when
	// it is certain before the start that there is no credential.
	Plan(spec *runtime.Spec, room Room, life Life) (Plan, error)
	// NewDriver makes the driver of one agent, after Launch and after each recovery.
	NewDriver(plan Plan, room Room, host Host) Driver
}

// Life says which start of an agent this is.
type Life struct {
	// Resume is the session id of an earlier life, or empty.
	Resume string
	// SessionID is a fresh UUID for CLIs that let the caller choose.
	SessionID string
	// Moved says that the session to resume is put into the room before the start: see Mover.
	Moved bool
}

// Mover is an Adapter whose CLI keeps a session in files. An agent that is to resume the session of another one gets them:
// each has a home of its own.
type Mover interface {
	// TakeSession returns the files of a session as the CLI has to find them in the room to, read in the room of the agent
	// that had it. State is what that agent's driver saved last. An error satisfies errors.Is(err, os.ErrNotExist) where the
	// session is not there.
	TakeSession(session string, state []byte, from, to Room) ([]File, error)
}

// Commander is an Adapter that knows the name of the command that Plan looks for, so that the runtime says beforehand
// whether it is there, as far as its Launcher is a Finder.
type Commander interface {
	Command() string
}

// Plan is how to start a CLI. It is stored with the agent, so it holds no secret: secret environment variables
// come from the spec and are added at the start.
type Plan struct {
	Path      string            `json:"path"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	Files     []File            `json:"-"`
	SessionID string            `json:"sessionId,omitempty"` // if it is known before the start
	// Mounts says that the CLI runs its commands in a sandbox of its own that is made of mounts: a launcher must not
	// confine it in a way that forbids those.
	Mounts bool `json:"mounts,omitempty"`
	// ReadOnly says, in a room that is Contained, that nothing may be written in the work directory, nor in what git keeps
	// of it: the CLI does not see to it there.
	ReadOnly bool `json:"readOnly,omitempty"`
	// LoginUnknown says that no credential was found for the CLI: whether it has a login shows on its screen.
	LoginUnknown bool `json:"loginUnknown,omitempty"`
	// ReadyTimeout is how long the CLI may take to get ready; 0: 60 s.
	ReadyTimeout time.Duration `json:"readyTimeout,omitempty"`
}

// Driver turns what a CLI tells into signals, and what callers want into what the CLI understands. It is a
// state machine without goroutines: the session calls all its methods, and the functions that it gave to
// Host.After, from one goroutine. It has many methods because all of them are needed of every CLI; what only some CLIs
// can do is in small interfaces beside it, such as Interrupter and Resumer.
type Driver interface {
	// OSC gets each operating system command of the output: the number, and what follows the first semicolon.
	OSC(code int, data []byte)
	// Hook gets each call of a hook. The driver answers every call, at once or later.
	Hook(call *HookCall)
	// Screen gets the visible rows when the output paused, as long as it returns true: for start-up screens, and for
	// dialogs that nothing else tells of.
	Screen(rows []string, cursorRow, cursorCol int) bool
	// Submit says how to type a message into an idle CLI.
	Submit(text string) []Step
	// Confirm says what to type when a message was not taken within a second, or nil to give up at once.
	Confirm() []Step
	// Answer answers the open prompt, by keys or through the hook that waits. INVALID_ARGUMENT, NO_PROMPT.
	Answer(prompt *runtime.Prompt, answer runtime.Answer) ([]Step, error)
	// Exit says how to end the CLI politely.
	Exit() []Step
	// Save returns the driver's state for a later process, as JSON; Load takes it back.
	Save() []byte
	Load(state []byte)
}

// Interrupter is a Driver that knows how a person at the terminal stops the turn that runs. A driver without it is stopped
// by ESC. The end of the turn is a SignalTurnEnd like any other, with Interrupted.
type Interrupter interface {
	Interrupt() []Step
}

// Bounded is a Driver whose CLI takes only messages of so many bytes. A longer one is refused before it is typed.
type Bounded interface {
	MaxMessage() int
}

// Lined is a Driver that can read the input line of its CLI and empty it. Only the session's goroutine calls it.
type Lined interface {
	// InputLine returns the text in the input line by the rows of the screen, its lines joined by spaces; false where the
	// screen shows no input line.
	InputLine(rows []string) (text string, ok bool)
	// ClearLine returns the keys that empty it. In a line that is empty they do nothing.
	ClearLine() []Step
}

// Announcer is a Driver whose CLI shows that a turn begins before it is known whose message began it. A message that is on its way
// is not typed again meanwhile. Only the session's goroutine calls it.
type Announcer interface {
	Announced() bool
}

// Forgetter is a Driver that keeps from the model a message which comes after its caller was answered that it was not delivered, and may
// have sent it again. Only the session's goroutine calls it.
type Forgetter interface {
	Forget(text string)
}

// Resumer is a Driver that can tell why its CLI ended before it was ready: because the session that it was to resume is
// not there. The runtime then starts it once more with a new session, and says so.
type Resumer interface {
	Unresumable(rows []string) bool
}

// Step is one piece of typing.
type Step struct {
	Write []byte
	Wait  time.Duration // before the next step
	// If leaves the step out, pause and all, unless it holds for the rows of the screen when its turn has come; nil: it is taken. It runs
	// beside the session's goroutine, and uses nothing but the rows.
	If func(rows []string) bool
	// Until ends Wait as soon as it holds for the rows of the screen; nil: the whole of it passes. It is called as If is.
	Until func(rows []string) bool
}

// Host is what a driver may ask of its session. Only the session's goroutine calls it.
type Host interface {
	// Signal reports what happened.
	Signal(s Signal)
	// After calls fn later, on the session's goroutine, unless it is cancelled before.
	After(d time.Duration, fn func()) (cancel func())
	// Rows returns the visible screen as text.
	Rows() []string
	// BracketedPaste reports whether the CLI asked for it.
	BracketedPaste() bool
	Now() time.Time
	// Do runs fn on a goroutine of the session's, and then done on the session's own: for reading files.
	Do(fn func(), done func())
}

// Typist is a Host that also types on the driver's own account: an answer whose dialog was not on the screen yet,
// or a step of a login. A driver asserts for it and does without it where it is missing. Only the session's
// goroutine calls it; the steps follow what is being typed at the moment, and are not a message.
type Typist interface {
	Type(steps []Step)
}

// Drafts is a Host that knows whether there may be text in the CLI's input line that is not part of the message
// to be submitted: somebody typed since the last one, or that was not taken. Clearing a line that is empty costs
// time, and a CLI that is slow to read may take the keys for text. A driver asserts for it, and clears always where
// it is missing. Only the session's goroutine calls it.
type Drafts interface {
	Drafted() bool
}

// SignalKind names a signal.
type SignalKind string

// Signals. The session fuses them: a less trusted source may end a turn and never starts one.
const (
	SignalIdle      SignalKind = "idle"      // it waits for input; ends start-up, a turn, and a login
	SignalBusy      SignalKind = "busy"      // a turn runs
	SignalTook      SignalKind = "took"      // it took the message: Text, if it is known
	SignalBlocked   SignalKind = "blocked"   // Prompt
	SignalUnblocked SignalKind = "unblocked" // the prompt is answered: Choice, if it is known
	SignalTool      SignalKind = "tool"      // a tool runs: Tool
	SignalToolDone  SignalKind = "tool_done"
	SignalText      SignalKind = "text"     // the agent said something within a turn
	SignalTurnEnd   SignalKind = "turn_end" // Text is the turn's answer; TurnOutcome
	SignalAnswer    SignalKind = "answer"   // the text of the turn that ended just now, where it comes later than its end
	SignalLogin     SignalKind = "login"    // a login is needed: URL, if it is known
	SignalError     SignalKind = "error"    // it cannot go on: Reason, Text
	SignalSession   SignalKind = "session"  // its session id: Text
)

// Signal is one thing that a driver saw.
type Signal struct {
	Kind   SignalKind
	Source string // runtime.SourceHook, SourceOSC, SourceScreen
	Text   string
	Prompt *runtime.Prompt
	Choice string
	Tool   *runtime.ToolCall
	URL    string
	Reason string
	Failed bool // with SignalToolDone: the tool failed
	// Unanswered is, with SignalUnblocked, that another dialog took the place of the prompt's before its CLI took the answer that was given.
	Unanswered bool
	// TurnOutcome is how the turn ended, with SignalTurnEnd, or what was learned of that later, with SignalAnswer. The
	// text of a turn with an error is for nobody: Error.Message says what happened.
	runtime.TurnOutcome
	// TextFollows says, with SignalTurnEnd, that SignalAnswer will bring the text within two seconds; the
	// session holds the turn's event for it.
	TextFollows bool
}
