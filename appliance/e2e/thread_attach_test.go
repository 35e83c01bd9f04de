package e2e_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/client"
)

// onScreen collects what a program writes to a terminal.
type onScreen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *onScreen) follow(tty *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := tty.Read(buf)
		o.mu.Lock()
		o.text.Write(buf[:n])
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// has reports whether words were written, in letters alone: tools move the cursor in place of spaces.
func (o *onScreen) has(words string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(letters(o.text.String()), letters(words))
}

// letters returns the letters of a text that are no part of an escape sequence.
func letters(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == 0x1b && i+1 < len(text) && text[i+1] == '[' {
			for i += 2; i < len(text) && (text[i] < '@' || text[i] > '~'); i++ {
			}
			continue
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A person attaches to a thread of a real tool, sees where it stands, types a message, and leaves it at work: the turn
// is the thread's, with its answer.
func TestAttachThreadOfRealCLI(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			s := staffed(t)
			r := s.spawnThread(threadSpec(tool, repository(t), "SAY[gardens are green]"))
			r = s.awaitThread(r.ID, "its first turn", func(r *client.Thread) bool { return r.TurnCount == 1 && r.Status == client.ThreadReady })

			cmd := exec.Command(binary, "thread", "attach", r.ID)
			cmd.Env = append(os.Environ(), "WARDROOM_SERVER="+s.url, "TERM=xterm-256color")
			tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40})
			if err != nil {
				t.Fatal(err)
			}
			defer tty.Close()
			screen := &onScreen{}
			go screen.follow(tty)
			slowly(t, "the answer on the screen", func() bool { return screen.has("gardens are green") })

			if _, err := tty.WriteString("SAY[meadows in bloom]"); err != nil {
				t.Fatal(err)
			}
			slowly(t, "the words in the composer", func() bool { return screen.has("SAY meadows in bloom") })
			if _, err := tty.WriteString("\r"); err != nil {
				t.Fatal(err)
			}
			r = s.awaitThread(r.ID, "the turn that was typed", func(r *client.Thread) bool { return r.TurnCount == 2 && r.Status == client.ThreadReady })
			list, err := s.api.ListThreadEvents(t.Context(), r.ID, client.ThreadEventFilter{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			ends := 0
			for _, e := range list.Events {
				if e.Type != "thread_turn_complete" {
					continue
				}
				if ends++; ends == 2 && !strings.Contains(string(e.Data), `"meadows in bloom`) {
					t.Errorf("the turn ended as %s", e.Data)
				}
			}
			if ends != 2 {
				t.Errorf("%d turns ended", ends)
			}
			if _, err := tty.WriteString("\x1d"); err != nil { // Ctrl+]
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("attach ended with %v", err)
			}
			if r = s.thread(r.ID); r.Status != client.ThreadReady {
				t.Errorf("it was left %s", r.Status)
			}
		})
	}
}
