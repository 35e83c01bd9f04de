package agentcli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// ErrGone is what a Launcher and a Process return for a process that is not there any more, and about whose
// end nothing is known.
var ErrGone = errors.New("the process is gone")

// Launcher starts commands with a terminal somewhere: on this machine, in a container, in a pod. It is all
// that a runtime author writes. Methods may be called concurrently; errors are *runtime.Error or ErrGone.
type Launcher interface {
	// Prepare makes the room of an agent: its directories, and what the agent will find there. It is called
	// before each Launch, and keeps what an earlier life of the same id left in Home. It is also called for an
	// agent that runs and was found again, and then changes nothing that the agent uses.
	Prepare(ctx context.Context, spec *runtime.Spec) (Room, error)
	// Launch starts the command. It returns once the process runs.
	Launch(ctx context.Context, cmd Command) (Process, error)
	// Find returns the process of a handle that an earlier runtime process got from Process.Handle. ErrGone if
	// it is not there; a process that ended meanwhile, and whose exit is known, is found.
	Find(ctx context.Context, handle []byte) (Process, error)
	// Remove removes the room of an agent whose process has ended. Removing what is not there is no error.
	Remove(ctx context.Context, id string) error
}

// Rediscoverer is a Launcher that knows by itself what it started last for an agent. A runtime process that ends
// between the start of a command and the record of its handle would leave a command running that nobody knows.
type Rediscoverer interface {
	// Latest returns the handle of what was started for the agent at or after since. ErrGone if nothing was. It returns the same
	// bytes as before where nothing was started since then.
	Latest(ctx context.Context, id string, since time.Time) (handle []byte, err error)
}

// Archive is a Launcher that can read in the rooms of agents that have ended, and were not removed.
type Archive interface {
	// Room returns the room of an agent, without a change of it. ErrGone if it is not there.
	Room(ctx context.Context, spec *runtime.Spec) (Room, error)
}

// RoomEnder is an Archive whose rooms may be gone soon after the agents in them have ended. The runtime then takes a copy of
// the session of each agent that ends, for its next life and for other agents that resume it.
type RoomEnder interface {
	Archive
	// RoomsEnd reports whether they go with the configuration that the launcher has.
	RoomsEnd() bool
}

// Finder is a Launcher that finds commands before there is a room to run them in, as Room.LookPath will. One whose rooms
// differ, by their images for instance, is none: the runtime does not say what is there then.
type Finder interface {
	// LookPath is called often, and is quick. CLI_NOT_FOUND.
	LookPath(ctx context.Context, name string) (string, error)
}

// Room is where an agent lives, in the paths that the agent itself sees. They are real paths, without symlinks.
type Room struct {
	Home    string   // its own, private: configuration, sessions, caches
	Workdir string   // where it works
	Temp    string   // its own temporary files
	Git     Git      // where git keeps what belongs to Workdir; zero if that is no work tree, or unknown
	Env     []string // NAME=value: what every command gets, before what the adapter and the spec add
	// Hook is a command, as arguments, that hands its standard input to the runtime and prints the answer, with
	// the hook's name as its last argument. Empty where hooks cannot reach the runtime.
	Hook []string
	// Contained says that the room is a sandbox by itself, such as a container without privileges: a CLI need not make one of
	// its own in it, and could not. The launcher heeds Command.ReadOnly then.
	Contained bool
	// LookPath finds a command where the agent will run. CLI_NOT_FOUND.
	LookPath func(name string) (string, error)
	// ReadFile reads a file of the agent. It returns an error that satisfies errors.Is(err, os.ErrNotExist) for
	// a missing one. Nil where the files cannot be reached.
	ReadFile func(path string) ([]byte, error)
	// ReadFrom reads at most limit bytes of such a file from an offset on, or its last -offset bytes (all of a shorter
	// file) where offset is negative: at is the offset of what it returns, which is empty at the end of the file. For
	// files that grow, such as a transcript. Errors are those of ReadFile; nil where it is not known how.
	ReadFrom func(path string, offset int64, limit int) (data []byte, at int64, err error)
}

// Git is where git keeps what belongs to a work directory, as real paths.
type Git struct {
	// Dir is what git keeps of this work tree alone, its HEAD and index; Common is what the work trees of its repository
	// share, its objects, refs, configuration and hooks. They are the same, .git in the work directory, unless that is a
	// linked work tree.
	Dir, Common string
}

// Linked reports whether the work directory is a linked work tree.
func (g Git) Linked() bool { return g.Dir != g.Common }

// Command is what Launch starts.
type Command struct {
	Spec  *runtime.Spec // as the caller gave it
	Room  Room          // as Prepare made it
	Path  string        // absolute
	Args  []string      // without the command itself
	Env   []string      // complete: nothing is inherited
	Files []File        // to be written before the start
	// Mounts and ReadOnly are those of the plan.
	Mounts   bool
	ReadOnly bool
	Cols     int // size of the terminal
	Rows     int
}

// File is a file that an adapter wants in the agent's home or work directory.
type File struct {
	Path string // absolute, inside Room.Home or Room.Workdir
	Data []byte
	Mode os.FileMode // permissions; secrets are 0600
	Keep bool        // an existing file stays as it is
}

// Process is a running command with its terminal. Methods may be called concurrently. Closing it lets go of the
// process and leaves it running. It has many methods because all of them are needed of every process;
// what only some launchers can do is in Checkpointer, OutputHeader, Backlogger, HookSource, Meter and
// Foregrounder.
type Process interface {
	// Handle is what Find needs; at most 4 KiB, versioned, without secrets.
	Handle() []byte
	Info() ProcessInfo
	// Output reads what the command writes, from a byte offset of its whole output on. It begins later than
	// from if the bytes are not kept any more. One reader at a time: a new one ends the earlier.
	Output(ctx context.Context, from uint64) (Output, error)
	// Write types bytes. It may block while the command does not read; ctx bounds that.
	Write(ctx context.Context, p []byte) error
	Resize(ctx context.Context, cols, rows int) error
	// Interrupt sends SIGTERM to the command.
	Interrupt(ctx context.Context) error
	// Kill ends the command and everything it started, and returns when nothing of it is left.
	Kill(ctx context.Context) error
	// Wait returns how the command ended, after its last output was readable. ErrGone if nobody knows. Any other
	// error means that it runs, as far as is known, and cannot be reached: it is looked for again.
	Wait(ctx context.Context) (runtime.Exit, error)
	Close() error
}

// ProcessInfo identifies a process for people.
type ProcessInfo struct {
	PID         int
	ContainerID string
	PodName     string
	StartedAt   time.Time
}

// Output is a command's output. Read blocks; io.EOF comes after the last byte of an ended command.
type Output interface {
	io.ReadCloser
	// Offset is that of the next byte that Read returns.
	Offset() uint64
}

// Checkpointer is a Process that keeps a note for a later runtime process: what the screen was at an offset.
type Checkpointer interface {
	// SaveCheckpoint replaces the note; at most 4 MiB. It survives the runtime's process, not the agent.
	SaveCheckpoint(ctx context.Context, offset uint64, note []byte) error
	// LoadCheckpoint returns the last note, or none.
	LoadCheckpoint(ctx context.Context) (offset uint64, note []byte, err error)
}

// OutputHeader is a Process that knows how much output there was when it was launched or found. Nothing is judged by the
// terminal of an agent that was found again before all of that was read. Without it, a session goes by the pause after the
// first of it, which is slower and less sure.
type OutputHeader interface {
	// OutputHead is the number of bytes of the whole output at that moment; false if it is not known.
	OutputHead() (head uint64, ok bool)
}

// Backlogger is a Process that knows how much input its command had not read when it was found. A command that was found
// with some may be stopped, or starved: it may still take what an earlier process typed, so that no message is typed before
// it goes on. Without it, a message whose delivery is unknown may then be typed twice.
type Backlogger interface {
	// Backlog is the number of bytes at that moment.
	Backlog() int
	// Unread is the number of bytes now. errors.ErrUnsupported if only Backlog is known: the command then counts as one that
	// goes on once there is output, or after two minutes.
	Unread(ctx context.Context) (int, error)
}

// HookSource is a Process whose room has a Hook command. Calls that come while no runtime process is there wait.
type HookSource interface {
	// Hooks yields the calls until the process is closed. One consumer.
	Hooks() <-chan *HookCall
}

// Meter is a Process that can be measured, with everything it started.
type Meter interface {
	Usage(ctx context.Context) (Usage, error)
}

// Foregrounder is a Process that knows who has its terminal. While another program has it than when a declared type showed
// its prompt last, a line that looks like the prompt is output of that program.
type Foregrounder interface {
	// Foreground returns the group of processes in the foreground of the terminal; 0 where that is not known.
	Foreground(ctx context.Context) (group int, err error)
}

// Usage is what a process has used.
type Usage struct {
	CPU              time.Duration // user and system, since its start
	MemoryBytes      int64         // resident now
	MemoryLimitBytes int64         // 0: none
	PIDs             int
	// Running is how many processes in the foreground of the terminal run now, or wait for a processor or a disk. A
	// declared type that is silent meanwhile is not waiting for a message.
	Running     int
	OutOfMemory bool // its limit was met at least once
}

// HookCall is one call of a hook by a CLI, which waits for the answer.
type HookCall struct {
	Name    string // last argument of the hook command
	Payload []byte // its standard input
	// Done is closed when the CLI does not wait any more.
	Done <-chan struct{}

	once   sync.Once
	answer func(body []byte)
}

// NewHookCall makes a call; answer is called at most once.
func NewHookCall(name string, payload []byte, done <-chan struct{}, answer func(body []byte)) *HookCall {
	return &HookCall{Name: name, Payload: payload, Done: done, answer: answer}
}

// Answer ends the call with what the hook prints; nil prints nothing. Only the first answer counts.
func (c *HookCall) Answer(body []byte) { c.once.Do(func() { c.answer(body) }) }
