package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

const attachPatience = 20 * time.Second

// desk is a server with one agent's terminal, which tests play.
type desk struct {
	*httptest.Server
	t     *testing.T
	opens chan *seat // a seat for each viewer that attaches
	mu    sync.Mutex // guards all below
	down  bool       // viewers are refused
	wants []runtime.AttachOptions

	viewers []terminal.Viewer // who else is there
	changed chan struct{}     // closed when that changes
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, opens: make(chan *seat, 16)}
	d.Server = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(d.Close)
	return d
}

func (d *desk) serve(w http.ResponseWriter, r *http.Request) {
	id, ofTerminal := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/api/managed-agents/"), "/terminal")
	if !ofTerminal {
		w.Header().Set("Content-Type", "application/json")
		if id == "magent_none" {
			missing(w, "managed agent", id)
			return
		}
		say(w, 200, managedAgent(id))
		return
	}
	d.mu.Lock()
	down := d.down
	d.mu.Unlock()
	if down {
		refuse(w, 503, "INTERNAL_ERROR", "away", `{}`)
		return
	}
	// The rest is as in the service; the error ends the test's own connection only.
	_ = terminal.Handler{
		Open: func(ctx context.Context, opts runtime.AttachOptions) (runtime.Terminal, error) {
			d.mu.Lock()
			d.wants = append(d.wants, opts)
			d.mu.Unlock()
			s := &seat{ctx: ctx, frames: make(chan runtime.Frame), typed: make(chan string, 64), sizes: make(chan string, 64)}
			s.ctx, s.cut = context.WithCancel(ctx)
			d.opens <- s
			return s, nil
		},
		Others: d.others,
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, err *runtime.Error) {
			refuse(w, status, "VALIDATION_ERROR", err.Message, `{}`)
		},
	}.Handle(w, r)
}

// others is who else is at the desk; see isShared.
func (d *desk) others() ([]terminal.Viewer, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return d.viewers, d.changed
}

func (d *desk) isShared(with ...terminal.Viewer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.viewers = with
	if d.changed != nil {
		close(d.changed)
	}
	d.changed = make(chan struct{})
}

func (d *desk) isDown(down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
}

// seat is a runtime.Terminal in a test's hand.
type seat struct {
	ctx    context.Context
	cut    context.CancelFunc // ends it as a crash would
	frames chan runtime.Frame
	typed  chan string
	sizes  chan string
	refuse error
}

func (s *seat) Recv() (runtime.Frame, error) {
	select {
	case f := <-s.frames:
		return f, nil
	case <-s.ctx.Done():
		return runtime.Frame{}, &runtime.Error{Code: runtime.CodeUnavailable, Message: "cut", Retry: true}
	}
}

func (s *seat) Input(p []byte) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.typed <- string(p)
	return nil
}

func (s *seat) Resize(cols, rows int) error {
	s.sizes <- fmt.Sprintf("%dx%d", cols, rows)
	return nil
}

func (s *seat) Close() error {
	s.cut()
	return nil
}

func (s *seat) say(t *testing.T, f runtime.Frame) {
	t.Helper()
	select {
	case s.frames <- f:
	case <-time.After(attachPatience):
		t.Fatal("nobody reads the terminal")
	}
}

// person sits at a pty in which a command line runs.
type person struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	kept *os.File // the program's side, held open so that its settings can be looked at afterwards
	mu   sync.Mutex
	seen bytes.Buffer
	news chan struct{} // buffered; something was shown
	done chan struct{} // the reader is gone
	exit chan error

	before string // settings of the terminal, before the program was there
}

func sitDown(t *testing.T, server string, args ...string) *person {
	t.Helper()
	return sitDownTo(t, []string{"WARDROOM_SERVER=" + server, "WARDROOM_TOKEN=secret-token"}, append([]string{"agent", "attach"}, args...)...)
}

// sitDownTo runs a command line at a pty.
func sitDownTo(t *testing.T, environment []string, args ...string) *person {
	t.Helper()
	return sitDownWith(t, exec.Command("wardroom", args...), environment)
}

// sitDownWith runs a program at a pty.
func sitDownWith(t *testing.T, cmd *exec.Cmd, environment []string) *person {
	t.Helper()
	tty, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.Env = append(append(os.Environ(), "TERM=xterm"), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p := &person{
		t: t, cmd: cmd, tty: tty, kept: program, news: make(chan struct{}, 1), done: make(chan struct{}), exit: make(chan error, 1),
	}
	p.before = p.settings()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { p.exit <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = program.Close()
		_ = tty.Close()
		<-p.done
	})
	return p
}

func (p *person) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// sees waits until the terminal has shown the texts, one after the other.
func (p *person) sees(texts ...string) {
	p.t.Helper()
	deadline := time.After(attachPatience)
	for {
		rest, shown := p.text(), true
		for _, text := range texts {
			_, after, found := strings.Cut(rest, text)
			rest, shown = after, shown && found
		}
		if shown {
			return
		}
		select {
		case <-p.news:
		case <-deadline:
			p.t.Fatalf("%q was not shown; shown was %q", texts, p.text())
		}
	}
}

func (p *person) types(text string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// leaves waits for the program's end with the given code, and checks that the terminal is as it was.
func (p *person) leaves(code int) {
	p.t.Helper()
	select {
	case <-p.exit:
	case <-time.After(attachPatience):
		p.t.Fatalf("the command does not end; shown was %q", p.text())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d; shown was %q", got, code, p.text())
	}
	if after := p.settings(); after != p.before {
		p.t.Errorf("settings of the terminal\n%s\nwere before\n%s", after, p.before)
	}
}

// settings are those of the terminal's line discipline.
func (p *person) settings() string {
	p.t.Helper()
	out := exec.Command("stty", "-a")
	out.Stdin = p.kept
	text, err := out.Output()
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n") // the first line is the size
	return rest
}

func wait[T any](t *testing.T, from chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(attachPatience):
		t.Fatalf("%s did not come", what)
	}
	panic("unreachable")
}

// reads joins what arrives until it is the wanted text.
func (s *seat) reads(t *testing.T, want string) {
	t.Helper()
	got := ""
	for got != want {
		got += wait(t, s.typed, fmt.Sprintf("input %q after %q", want, got))
		if !strings.HasPrefix(want, got) {
			t.Fatalf("typed is %q, want %q", got, want)
		}
	}
}

func paint(text string, offset uint64) runtime.Frame {
	return runtime.Frame{Data: []byte("\x1bc" + text), Offset: offset, Repaint: true, Cols: 100, Rows: 30}
}

// TestAttach types, resizes, loses the connection, comes back where it was, and detaches.
func TestAttach(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1")
	first := wait(t, d.opens, "the viewer")
	first.say(t, paint("welcome", 100))
	p.sees("welcome")
	if strings.Contains(p.text(), "\x1bc") {
		t.Error("the person's terminal was reset")
	}
	if !strings.Contains(p.text(), "\x1b[?1049h") {
		t.Error("there is no screen of its own")
	}
	p.types("ls\r\x03")
	first.reads(t, "ls\r\x03")

	if err := pty.Setsize(p.tty, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, first.sizes, "the new size"); got != "120x40" {
		t.Errorf("size %s", got)
	}

	first.say(t, runtime.Frame{Data: []byte("more"), Offset: 104})
	p.sees("more")
	first.cut()
	second := wait(t, d.opens, "the viewer again")
	second.say(t, runtime.Frame{Data: []byte("went on"), Offset: 111})
	p.sees("went on")
	d.mu.Lock()
	wants := d.wants
	d.mu.Unlock()
	if wants[0].From != nil || wants[0].Cols != 100 || wants[0].Rows != 30 {
		t.Errorf("the first connection asked for %+v", wants[0])
	}
	if wants[1].From == nil || *wants[1].From != 104 || wants[1].Cols != 120 {
		t.Errorf("the second connection asked for %+v", wants[1])
	}

	p.types("x\x1d")
	second.reads(t, "x")
	p.sees("detached from agent magent_1, which goes on")
	p.leaves(0)
	text := p.text()
	if at := strings.LastIndex(text, "\x1b[?1049l"); at < 0 || at > strings.Index(text, "detached from") {
		t.Error("the last words are on the screen that was left")
	}
	if strings.Contains(text, "secret-token") {
		t.Error("the token was shown")
	}
}

// TestAttachEnhancedKeyboard detaches although the agent made the keyboard send long forms.
// Who else looks or types is said when it changes; the line that says so is covered by the agent's screen again.
func TestAttachOthers(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1")
	s := wait(t, d.opens, "the attachment")
	first := paint("the first line\r\nand the next", 10)
	first.Cols, first.Rows = 80, 24
	s.say(t, first)
	p.sees("the first line")
	d.isShared(terminal.Viewer{Who: "tom"}, terminal.Viewer{Who: "ada\x1b[2J", Typing: true})
	p.sees("also here: ada")
	p.sees("(may type), tom (looks)")
	if strings.Contains(p.text(), "ada\x1b[2J") {
		t.Error("the name of a viewer reaches the terminal as it is")
	}
	p.sees("the first line", "also here: ada", "the first line")
	d.isShared()
	p.sees("you are alone here")
	p.types("\x1d")
	p.leaves(0)
}

func TestAttachEnhancedKeyboard(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1", "--detach-keys", "ctrl-p,ctrl-q")
	s := wait(t, d.opens, "the viewer")
	s.say(t, paint("welcome", 1))
	p.sees("welcome")
	p.types("\x1b[112;5ua")
	s.reads(t, "\x1b[112;5ua")
	p.types("\x1b[112;5:1u\x1b[112;5:3u\x1b[113;5:1u")
	p.sees("detached from")
	p.leaves(0)
}

// TestAttachExit tells how the agent ended.
func TestAttachExit(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1", "--read-only")
	s := wait(t, d.opens, "the viewer")
	s.say(t, paint("welcome", 7))
	p.sees("welcome")
	s.say(t, runtime.Frame{Offset: 7, Exit: &runtime.Exit{Code: 3, Reason: "crashed"}})
	p.sees("agent magent_1 has stopped: exit code 3 (crashed)")
	p.leaves(0)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wants[0].ReadOnly {
		t.Error("the terminal was not asked for read-only")
	}
}

// TestAttachOutage speaks of a longer outage, still detaches in it, and paints anew after it.
func TestAttachOutage(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1")
	s := wait(t, d.opens, "the viewer")
	s.say(t, paint("welcome", 7))
	p.sees("welcome")
	d.isDown(true)
	s.cut()
	p.sees("connection lost")
	d.isDown(false)
	s = wait(t, d.opens, "the viewer again")
	s.say(t, paint("anew", 9))
	p.sees("anew")
	d.mu.Lock()
	if last := d.wants[len(d.wants)-1]; last.From != nil {
		t.Errorf("after a notice the screen is to be painted anew, not from %d", *last.From)
	}
	d.mu.Unlock()
	d.isDown(true)
	s.cut()
	p.types("\x1d")
	p.sees("detached from")
	p.leaves(0)
}

// TestAttachSignal gives the terminal back when the program has to end.
func TestAttachSignal(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1")
	s := wait(t, d.opens, "the viewer")
	s.say(t, paint("welcome", 7))
	p.sees("welcome")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.sees("interrupted")
	p.leaves(130)
}

// TestAttachDumb writes no sequence to a terminal that shows them as text.
func TestAttachDumb(t *testing.T) {
	d := newDesk(t)
	p := sitDownTo(t, []string{"WARDROOM_SERVER=" + d.URL, "TERM=dumb"}, "agent", "attach", "magent_1")
	p.sees("TERM is dumb", "wardroom agent screen")
	p.leaves(2)
	if strings.Contains(p.text(), "\x1b") {
		t.Errorf("shown was %q", p.text())
	}
}

// TestAttachRefused says once that keys are not passed on.
func TestAttachRefused(t *testing.T) {
	d := newDesk(t)
	p := sitDown(t, d.URL, "magent_1")
	s := wait(t, d.opens, "the viewer")
	s.refuse = runtime.Errorf(runtime.CodeForbidden, "the terminal was opened read-only")
	s.say(t, paint("welcome", 7))
	p.sees("welcome")
	// A refusal comes back with a later key.
	for i := 0; !strings.Contains(p.text(), "keys are not passed on"); i++ {
		if i == 200 {
			t.Fatalf("no word of the refusal: %q", p.text())
		}
		p.types("a")
		tick := fmt.Sprintf("tick %d.", i)
		s.say(t, runtime.Frame{Data: []byte(tick), Offset: 11})
		p.sees(tick)
	}
	p.types("\x1d")
	p.sees("detached from")
	p.leaves(0)
}

// TestAttachErrors end before the terminal is touched.
func TestAttachErrors(t *testing.T) {
	for _, tt := range []struct {
		name, id string
		code     int
		want     string
		down     bool
	}{
		{"Unknown", "magent_none", 3, "NOT_FOUND", false},
		{"Stopped", "magent_stopped", 4, "has stopped", false},
		{"Away", "magent_1", 7, "UNAVAILABLE", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.isDown(tt.down)
			p := sitDown(t, d.URL, tt.id)
			p.sees(tt.want)
			p.leaves(tt.code)
			if strings.Contains(p.text(), "\x1b[?1049h") {
				t.Error("the terminal was touched")
			}
		})
	}
}
