package cmd_test

import (
	"bytes"
	"encoding/json"
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

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/vt"
)

// stage is a server with one execution, which tests play.
type stage struct {
	*httptest.Server
	mu       sync.Mutex       // guards all below
	timeline *client.Timeline // nil: the server is going away
	after    []string         // Last-Event-ID of each stream
	events   chan string
	hang     chan struct{} // closed at the end of the test
}

func newStage(t *testing.T, timeline *client.Timeline) *stage {
	t.Helper()
	s := &stage{timeline: timeline, events: make(chan string), hang: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.hang)
		s.Close()
	})
	return s
}

func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/timeline"):
		s.mu.Lock()
		timeline := s.timeline
		s.mu.Unlock()
		if timeline == nil {
			panic(http.ErrAbortHandler)
		}
		body, err := json.Marshal(timeline)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	case strings.HasSuffix(r.URL.Path, "/questions"):
		w.Header().Set("Content-Type", "application/json")
		say(w, 200, `{"questions":[`+question("q_1")+`],"total":1}`)
	case strings.HasSuffix(r.URL.Path, "/stream"):
		s.mu.Lock()
		s.after = append(s.after, r.Header.Get("Last-Event-ID"))
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w)
		for {
			select {
			case frame := <-s.events:
				if frame == "" { // the connection is lost
					return
				}
				_, _ = fmt.Fprint(w, frame)
				flush(w)
			case <-r.Context().Done():
				return
			case <-s.hang:
				return
			}
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		say(w, 200, `{"executionId":"exec_chart","status":"completed","result":{"a":1}}`)
	}
}

// becomes replaces the timeline and tells so with an event.
func (s *stage) becomes(t *testing.T, timeline *client.Timeline, frame string) {
	t.Helper()
	s.mu.Lock()
	s.timeline = timeline
	s.mu.Unlock()
	s.send(t, frame)
}

func (s *stage) send(t *testing.T, frame string) {
	t.Helper()
	select {
	case s.events <- frame:
	case <-time.After(attachPatience):
		t.Fatal("nobody reads the stream")
	}
}

// viewer is a terminal in which a command line runs, such as `wardroom execution watch`.
type viewer struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex // guards term
	term *vt.Screen
	raw  []byte        // all that was shown
	news chan struct{} // buffered; something was shown
	done chan struct{} // the reader is gone
}

func watch(t *testing.T, server string, cols, rows int, env ...string) *viewer {
	t.Helper()
	return view(t, exec.Command("wardroom", "execution", "watch", "exec_chart"), server, cols, rows, env...)
}

// view runs a command line in a terminal.
func view(t *testing.T, program *exec.Cmd, server string, cols, rows int, env ...string) *viewer {
	t.Helper()
	tty, side, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	v := &viewer{t: t, cmd: program, tty: tty, term: vt.New(vt.Options{Cols: cols, Rows: rows}), news: make(chan struct{}, 1), done: make(chan struct{})}
	v.cmd.Stdin, v.cmd.Stdout, v.cmd.Stderr = side, side, side
	v.cmd.Env = append(append(os.Environ(), "WARDROOM_SERVER="+server, "LC_ALL=C.UTF-8", "TERM=xterm"), env...)
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = side.Close() // so that the end of the program is the end of what it shows
	go func() {
		defer close(v.done)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			v.mu.Lock()
			v.term.Write(buf[:n])
			v.raw = append(v.raw, buf[:n]...)
			v.mu.Unlock()
			select {
			case v.news <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = v.cmd.Process.Kill()
		<-v.done
		_ = v.cmd.Wait() // it is waited for twice when the test saw its end
		_ = tty.Close()
	})
	return v
}

// screen returns what the terminal shows, with the spinner standing still.
func (v *viewer) screen() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := v.term.Text()
	for i, line := range lines {
		lines[i] = strings.TrimRight(strings.Map(func(r rune) rune {
			if strings.ContainsRune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", r) {
				return '*'
			}
			return r
		}, line), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// scrolled returns how many lines are above the terminal now.
func (v *viewer) scrolled() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _, lines := v.term.Lines(0)
	return int(lines)
}

// sees waits until the terminal shows the text.
func (v *viewer) sees(text string) {
	v.t.Helper()
	deadline := time.After(attachPatience)
	for !strings.Contains(v.screen(), text) {
		select {
		case <-v.news:
		case <-deadline:
			v.t.Fatalf("%q is not on the terminal:\n%s", text, v.screen())
		}
	}
}

// leaves waits for the end of the program.
func (v *viewer) leaves(code int) {
	v.t.Helper()
	select {
	case <-v.done:
	case <-time.After(attachPatience):
		v.t.Fatalf("watch does not end:\n%s", v.screen())
	}
	_ = v.cmd.Wait()
	if got := v.cmd.ProcessState.ExitCode(); got != code {
		v.t.Errorf("exit code %d, want %d:\n%s", got, code, v.screen())
	}
}

// endedTimeline is what becomes of runningTimeline.
func endedTimeline(status string) *client.Timeline {
	t := runningTimeline()
	end := timelineEpoch.Add(20 * time.Second)
	t.Status, t.CompletedAt = client.ExecutionStatus(status), &end
	for i := range t.Entries {
		if e := &t.Entries[i]; e.EndedAt == nil {
			e.EndedAt, e.Status = &end, "completed"
		}
	}
	return t
}

const endOfStream = "id: 99\nevent: completed\ndata: {\"executionId\":\"exec_chart\",\"status\":\"completed\",\"result\":{\"a\":1}}\n\n"

func TestWatchTree(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 150, 30)
	v.sees("██")
	v.sees("├─ ✓ 0 assign  \"Design\"  cto  ada")
	v.sees("└─ * 1 parallel")
	v.sees("answer it: wardroom question answer q_1 --choice allow|deny")
	s.send(t, "event: agent_progress\ndata: {\"agentId\":\"magent_2\",\"taskId\":\"task_3\",\"text\":\"half\\u001b[2Jway\"}\n\n")
	v.sees("half\ufffd[2Jway")

	more := runningTimeline()
	more.Entries = append(more.Entries, entry(15000, 0, client.TimelineEntry{Kind: "step", ID: "2", Type: "review", Role: "cto"}))
	s.becomes(t, more, "id: 50\nevent: step_started\ndata: {\"step\":\"2\"}\n\n")
	v.sees("└─ * 2 review  cto")

	s.becomes(t, endedTimeline("completed"), endOfStream)
	v.leaves(0)
	screen := v.screen()
	if !strings.HasPrefix(screen, "startup-team 1.0.0  exec_chart  completed  20 s\n├─ roles\n") ||
		!strings.HasSuffix(screen, `result: {"a":1}`) || strings.Count(screen, "1 parallel") != 1 || strings.Contains(screen, "*") {
		t.Errorf("left on the terminal:\n%s", screen)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.after) != 1 || s.after[0] != "40" {
		t.Errorf("the streams went on after %q, want the timeline's last event", s.after)
	}
}

func TestWatchTreeThatFails(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 80, 30)
	v.sees("1 parallel")
	s.becomes(t, endedTimeline("failed"), "id: 99\nevent: failed\ndata: {\"executionId\":\"exec_chart\",\"status\":\"failed\",\"error\":{\"code\":\"TIMEOUT\",\"message\":\"took too long\"}}\n\n")
	v.leaves(6)
	v.sees("error: execution exec_chart failed: TIMEOUT: took too long")
}

func TestWatchTreeOfWhatIsOver(t *testing.T) {
	s := newStage(t, endedTimeline("completed"))
	v := watch(t, s.URL, 80, 30)
	v.leaves(0)
	if screen := v.screen(); strings.Count(screen, "1 parallel") != 1 || !strings.Contains(screen, `result: {"a":1}`) {
		t.Errorf("shown:\n%s", screen)
	}
	if len(s.after) != 0 {
		t.Error("it opened a stream")
	}
}

// TestWatchTreeSurvivesLostConnection: the stream comes back, and the tree is one still.
func TestWatchTreeSurvivesLostConnection(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 80, 30)
	v.sees("1 parallel")
	s.send(t, "id: 41\nevent: step_started\ndata: {}\n\n")
	s.send(t, "")
	s.becomes(t, endedTimeline("completed"), endOfStream)
	v.leaves(0)
	if got := strings.Count(v.screen(), "1 parallel"); got != 1 {
		t.Errorf("%d trees:\n%s", got, v.screen())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Join(s.after, " ") != "40 41" {
		t.Errorf("the streams went on after %q", s.after)
	}
}

// TestWatchTreeAway: while the server does not answer, the tree says so, and keeps what it showed.
func TestWatchTreeAway(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 80, 30)
	v.sees("1 parallel")
	s.becomes(t, nil, "id: 41\nevent: step_started\ndata: {}\n\n")
	v.sees("server away, reconnecting (")
	if !strings.Contains(v.screen(), "1 parallel") {
		t.Errorf("the tree is gone:\n%s", v.screen())
	}
	s.becomes(t, endedTimeline("completed"), endOfStream)
	v.leaves(0)
	if strings.Contains(v.screen(), "server away") {
		t.Errorf("it is still away at the end:\n%s", v.screen())
	}
}

// TestWatchTreeFits: what does not fit is counted, in a window that changes its size too.
func TestWatchTreeFits(t *testing.T) {
	s := newStage(t, bigTimeline(1200, 1000))
	v := watch(t, s.URL, 100, 24)
	v.sees("⋮ 1000 more")
	v.sees("more, all running")
	if screen := v.screen(); !strings.HasPrefix(screen, "long  exec_big  running") || strings.Count(screen, "\n") > 23 {
		t.Errorf("shown:\n%s", screen)
	}
	v.mu.Lock()
	v.term.Resize(60, 12)
	v.mu.Unlock()
	if err := pty.Setsize(v.tty, &pty.Winsize{Cols: 60, Rows: 12}); err != nil {
		t.Fatal(err)
	}
	v.sees("⋮ 192 more, all running")
	if screen := v.screen(); strings.Count(screen, "exec_big") != 1 || !strings.HasPrefix(screen, "long  exec_big  running") {
		t.Errorf("shown:\n%s", screen)
	}
	s.becomes(t, endedTimeline("completed"), endOfStream)
	v.leaves(0)
}

func TestWatchTreeInterrupted(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 100, 30)
	v.sees("1 parallel")
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	v.leaves(130)
	v.sees("▸ 1 parallel") // the spinner stands still
	v.sees("error: interrupted")
	v.sees("watch it with `wardroom execution watch exec_chart`")
}

func TestWatchLinesOnTerminal(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 80, 30, "TERM=dumb")
	s.send(t, endOfStream)
	v.leaves(0)
	if screen := v.screen(); !strings.HasPrefix(screen, "completed         {\"a\":1}") {
		t.Errorf("shown:\n%s", screen)
	}
}

// TestWatchTreeWithoutShell: where no shell could have it go on, Ctrl-Z does not stop it.
func TestWatchTreeWithoutShell(t *testing.T) {
	s := newStage(t, runningTimeline())
	v := watch(t, s.URL, 100, 30)
	v.sees("1 parallel")
	if _, err := v.tty.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	v.sees("^Z")
	s.becomes(t, endedTimeline("completed"), endOfStream)
	v.leaves(0)
	if got := strings.Count(v.screen(), "1 parallel"); got != 1 {
		t.Errorf("%d trees:\n%s", got, v.screen())
	}
}

// TestWatchTreeStopped: Ctrl-Z gives the shell a terminal with a cursor, and what goes on in the foreground is drawn anew, below
// what the shell showed.
func TestWatchTreeStopped(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	s := newStage(t, runningTimeline())
	v := view(t, exec.Command(bash, "--norc", "--noprofile", "-i"), s.URL, 100, 60, "PS1=ready ", "HISTFILE=")
	types := func(text string) {
		if _, err := v.tty.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	hidden := func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return bytes.LastIndex(v.raw, []byte("\x1b[?25l")) > bytes.LastIndex(v.raw, []byte("\x1b[?25h"))
	}
	v.sees("ready")
	types("wardroom execution watch exec_chart\n")
	v.sees("1 parallel")
	types("\x1a")
	v.sees("Stopped")
	if hidden() {
		t.Errorf("the cursor is hidden while the command is stopped")
	}
	types("echo shown-by-$((40+2))\n")
	v.sees("shown-by-42")
	types("fg\n")
	coretest.WaitFor(t, "a drawing below", func() bool {
		_, below, _ := strings.Cut(v.screen(), "Stopped")
		return strings.Contains(below, "1 parallel")
	})
	v.sees("shown-by-42")
	types("\x03")
	v.sees("interrupted")
	if hidden() {
		t.Errorf("the cursor is hidden at the end")
	}
	types("exit $?\n")
	v.leaves(130)
}
