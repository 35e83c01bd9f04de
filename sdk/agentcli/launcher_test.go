package agentcli_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// launcher keeps its processes in memory, so that they outlive the runtimes of a test. Without a script it
// starts real commands in a pty.
type launcher struct {
	t      testing.TB
	dir    string
	script func(p *process) // runs the command instead of a real one

	mu       sync.Mutex
	procs    map[string]*process
	launched int
	prepare  func(*runtime.Spec) error
	command  agentcli.Command // launched last
	removed  []string
	headless bool // its processes do not know how much output there is
}

func newLauncher(t testing.TB, script func(*process)) *launcher {
	l := &launcher{t: t, dir: t.TempDir(), script: script, procs: map[string]*process{}}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, p := range l.procs {
			p.kill()
			<-p.gone
		}
	})
	return l
}

func (l *launcher) Prepare(_ context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	l.mu.Lock()
	prepare := l.prepare
	l.mu.Unlock()
	if prepare != nil {
		if err := prepare(spec); err != nil {
			return agentcli.Room{}, err
		}
	}
	room := agentcli.Room{
		Home: filepath.Join(l.dir, spec.ID, "home"), Workdir: spec.Workdir, Temp: filepath.Join(l.dir, spec.ID, "tmp"),
		Env: []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "HOME=" + filepath.Join(l.dir, spec.ID, "home")},
		LookPath: func(name string) (string, error) {
			path, err := exec.LookPath(name)
			if err != nil {
				return "", runtime.Errorf(runtime.CodeCLINotFound, "%s is not installed", name)
			}
			return path, nil
		},
		ReadFile: os.ReadFile,
	}
	if room.Workdir == "" {
		room.Workdir = filepath.Join(l.dir, spec.ID, "work")
	}
	for _, dir := range []string{room.Home, room.Workdir, room.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return agentcli.Room{}, err
		}
	}
	return room, nil
}

func (l *launcher) Launch(_ context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.launched++
	l.command = cmd
	p := &process{
		l: l, id: strconv.Itoa(l.launched), cols: cmd.Cols, rows: cmd.Rows, more: make(chan struct{}), gone: make(chan struct{}), waited: make(chan struct{}),
		typed: make(chan []byte, 4096), killed: make(chan struct{}), reads: make(chan struct{}, 1), hooks: make(chan *agentcli.HookCall, 64), env: cmd.Env,
	}
	p.started = time.Now()
	if l.script != nil {
		go func() {
			defer close(p.gone)
			l.script(p)
			p.finish()
		}()
	} else if err := p.exec(cmd); err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	l.procs[p.id] = p
	return &handle{process: p, closed: make(chan struct{})}, nil
}

func (l *launcher) Find(_ context.Context, data []byte) (agentcli.Process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.procs[string(data)]
	if p == nil {
		return nil, agentcli.ErrGone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return &handle{process: p, head: p.dropped + uint64(len(p.out)), unread: len(p.typed), closed: make(chan struct{})}, nil
}

func (l *launcher) Remove(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed = append(l.removed, id)
	return os.RemoveAll(filepath.Join(l.dir, id))
}

// process returns the process that was launched last.
func (l *launcher) process() *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.procs[strconv.Itoa(l.launched)]
}

// process is a command with all of its output in memory.
type process struct {
	l       *launcher
	id      string
	env     []string
	started time.Time
	typed   chan []byte // what was written, for scripts
	killed  chan struct{}
	gone    chan struct{} // closed when nothing of it runs
	waited  chan struct{} // closed when somebody was told that
	tell    sync.Once
	hooks   chan *agentcli.HookCall
	kills   sync.Once

	mu         sync.Mutex
	out        []byte
	dropped    uint64 // bytes before out
	more       chan struct{}
	ended      bool
	exit       runtime.Exit
	noExit     bool
	outOfMem   bool
	cols, rows int
	resizes    int
	note       []byte
	noteAt     uint64
	deaf       bool // writes block
	noEnter    bool // Enter is never written: its write blocks
	lateEnter  bool // the write of Enter returns only once the process has ended, and that is known
	written    []byte
	dropBefore uint64        // what a crash finds dropped
	slowFrom   uint64        // output from here on is read only once slow is closed
	slow       chan struct{} // or nil
	taken      uint64        // how far the output was read
	reads      chan struct{} // has an element when it was; capacity 1
	asked      int           // calls of Foreground
	mute       bool          // does not tell what was read since it was found

	file *os.File
	cmd  *exec.Cmd
}

// exec starts a real command.
func (p *process) exec(c agentcli.Command) error {
	p.cmd = &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Room.Workdir}
	file, err := pty.StartWithSize(p.cmd, &pty.Winsize{Rows: uint16(c.Rows), Cols: uint16(c.Cols)})
	if err != nil {
		return err
	}
	p.file = file
	go func() {
		defer close(p.gone)
		buf := make([]byte, 64<<10)
		for {
			n, err := file.Read(buf)
			p.print(string(buf[:n]))
			if err != nil {
				break
			}
		}
		_ = p.cmd.Wait()
		_ = file.Close()
		code := p.cmd.ProcessState.ExitCode()
		if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal())
		}
		p.mu.Lock()
		p.exit.Code = code
		p.mu.Unlock()
		p.finish()
	}()
	return nil
}

// print adds output.
func (p *process) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, text...)
	close(p.more)
	p.more = make(chan struct{})
}

// flood adds output as fast as it is read, and keeps none of it.
func (p *process) flood(chunk string, n int) {
	for range n {
		p.print(chunk)
		for {
			p.mu.Lock()
			behind := p.dropped + uint64(len(p.out)) - p.taken
			if behind == 0 {
				p.dropped += uint64(len(p.out))
				p.out = p.out[:0]
			}
			p.mu.Unlock()
			if behind == 0 {
				break
			}
			<-p.reads
		}
	}
}

func (p *process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	close(p.more)
	p.more = make(chan struct{})
}

func (p *process) kill() {
	p.kills.Do(func() {
		close(p.killed)
		if p.cmd != nil {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		}
	})
}

// read returns what was typed next, or false when the process is killed.
func (p *process) read() (string, bool) {
	select {
	case b := <-p.typed:
		return string(b), true
	case <-p.killed:
		return "", false
	}
}

// handle is one client of a process.
type handle struct {
	*process
	head   uint64 // of the output when it was found
	unread int    // writes that the command had not read then
	once   sync.Once
	closed chan struct{}
}

func (h *handle) Handle() []byte { return []byte(h.id) }

func (h *handle) Info() agentcli.ProcessInfo {
	info := agentcli.ProcessInfo{PID: 1000, StartedAt: h.started}
	if h.cmd != nil {
		info.PID = h.cmd.Process.Pid
	}
	return info
}

func (h *handle) Output(_ context.Context, from uint64) (agentcli.Output, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &output{h: h, at: max(from, h.dropped), closed: make(chan struct{})}, nil
}

func (h *handle) Write(ctx context.Context, b []byte) error {
	h.mu.Lock()
	deaf, late, ended := h.deaf || h.noEnter && string(b) == "\r", h.lateEnter, h.ended
	h.written = append(h.written, b...)
	h.mu.Unlock()
	if ended {
		return agentcli.ErrGone
	}
	if deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	if h.file != nil {
		_, err := h.file.Write(b)
		if late && string(b) == "\r" {
			<-h.waited
			select { // nothing shows from outside that the end waits for this
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		return err
	}
	select {
	case h.typed <- append([]byte(nil), b...):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.gone:
		return agentcli.ErrGone
	}
}

func (h *handle) Resize(_ context.Context, cols, rows int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cols, h.rows = cols, rows
	h.resizes++
	if h.file != nil && !h.ended {
		return pty.Setsize(h.file, &pty.Winsize{Rows: uint16(rows), Cols: uint16(cols)})
	}
	return nil
}

func (h *handle) Interrupt(context.Context) error {
	if h.cmd != nil {
		return h.cmd.Process.Signal(syscall.SIGTERM)
	}
	return nil
}

func (h *handle) Kill(ctx context.Context) error {
	h.kill()
	select {
	case <-h.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *handle) Wait(ctx context.Context) (runtime.Exit, error) {
	select {
	case <-h.gone:
		h.tell.Do(func() { close(h.waited) })
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.noExit {
			return runtime.Exit{}, agentcli.ErrGone
		}
		return h.exit, nil
	case <-h.closed:
		return runtime.Exit{}, os.ErrClosed
	case <-ctx.Done():
		return runtime.Exit{}, ctx.Err()
	}
}

func (h *handle) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handle) SaveCheckpoint(_ context.Context, offset uint64, note []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note, h.noteAt = append([]byte(nil), note...), offset
	return nil
}

func (h *handle) LoadCheckpoint(context.Context) (uint64, []byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.noteAt, h.note, nil
}

func (h *handle) OutputHead() (uint64, bool) {
	h.l.mu.Lock()
	defer h.l.mu.Unlock()
	return h.head, !h.l.headless
}

func (h *handle) Backlog() int { return h.unread }

func (h *handle) Unread(context.Context) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mute {
		return 0, errors.ErrUnsupported
	}
	return len(h.typed), nil
}

func (h *handle) Hooks() <-chan *agentcli.HookCall { return h.hooks }

func (h *handle) Usage(context.Context) (agentcli.Usage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return agentcli.Usage{
		CPU: time.Since(h.started) / 2, MemoryBytes: 1 << 20, OutOfMemory: h.outOfMem, Running: h.running(),
	}, nil
}

func (h *handle) Foreground(context.Context) (int, error) {
	h.mu.Lock()
	h.asked++
	h.mu.Unlock()
	if h.cmd == nil {
		return 0, nil
	}
	info, err := proc.Stat(h.cmd.Process.Pid)
	return max(0, info.Foreground), err
}

// running counts what runs in the foreground of a real command.
func (h *handle) running() int {
	if h.cmd == nil {
		return 0
	}
	tree, err := proc.Descendants(h.cmd.Process.Pid)
	if err != nil {
		return 0
	}
	if info, err := proc.Stat(h.cmd.Process.Pid); err == nil {
		tree = append(tree, info)
	}
	n := 0
	for _, p := range tree {
		if p.Runs() && p.Group == p.Foreground {
			n++
		}
	}
	return n
}

// output reads a process from an offset on.
type output struct {
	h      *handle
	at     uint64
	once   sync.Once
	closed chan struct{}
}

func (o *output) Read(b []byte) (int, error) {
	for {
		o.h.mu.Lock()
		rest := o.h.out[o.at-o.h.dropped:]
		more, ended := o.h.more, o.h.ended
		if o.h.slow != nil {
			select {
			case <-o.h.slow:
			default:
				rest, more, ended = rest[:min(uint64(len(rest)), o.h.slowFrom-min(o.h.slowFrom, o.at))], o.h.slow, false
			}
		}
		n := copy(b, rest)
		o.h.mu.Unlock()
		if n > 0 {
			o.at += uint64(n)
			o.h.mu.Lock()
			o.h.taken = o.at
			o.h.mu.Unlock()
			select {
			case o.h.reads <- struct{}{}:
			default:
			}
			return n, nil
		}
		if ended {
			return 0, io.EOF
		}
		select {
		case <-more:
		case <-o.closed:
			return 0, os.ErrClosed
		}
	}
}

func (o *output) Offset() uint64 { return o.at }

func (o *output) Close() error {
	o.once.Do(func() { close(o.closed) })
	return nil
}

// awayLauncher finds nothing until it is back.
type awayLauncher struct {
	*launcher
	back atomic.Bool
}

func (l *awayLauncher) Find(ctx context.Context, handle []byte) (agentcli.Process, error) {
	if !l.back.Load() {
		return nil, errors.New("the connection is refused")
	}
	return l.launcher.Find(ctx, handle)
}
