package vt_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	charm "github.com/charmbracelet/x/vt"
	"github.com/wardroom/wardroom/sdk/vt"
)

// tmux is a terminal to compare with.
type tmux struct{ socket string }

// needTmux skips where there is no tmux.
func needTmux(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatal("tmux is not installed, and WARDROOM_REQUIRE_REAL=1 asks for it")
		}
		t.Skip("tmux is not installed")
	}
}

func (x *tmux) run(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", x.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=xterm-256color", "HOME=" + os.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

// show feeds data to a terminal of the given size and calls ready with its rows and cursor until that is true or the
// time is over; the last ones are returned.
func show(t *testing.T, cols, rows int, data []byte, ready func(text []string, cursor string) bool) ([]string, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "tmux") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	x := &tmux{socket: filepath.Join(dir, "socket")} // of its own: the last server may still be going down
	file := filepath.Join(dir, "stream")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	// Raw, or the kernel would translate line feeds; the cat at the end reads what tmux answers.
	command := "stty raw -echo; cat '" + file + "'; exec cat > /dev/null"
	if _, err := x.run("new-session", "-d", "-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), command, ";",
		"set", "-g", "status", "off", ";", "set", "-g", "aggressive-resize", "on"); err != nil {
		t.Fatal(err)
	}
	defer x.run("kill-server")
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(5 * time.Second)
	for {
		out, err := x.run("display-message", "-p", "#{cursor_y},#{cursor_x}", ";", "capture-pane", "-p")
		if err != nil {
			t.Fatal(err)
		}
		cursor, screen, _ := strings.Cut(out, "\n")
		text := trimRows(strings.Split(strings.TrimSuffix(screen, "\n"), "\n"))
		if ready(text, cursor) {
			return text, cursor
		}
		select {
		case <-ticker.C:
		case <-deadline:
			return text, cursor
		}
	}
}

// compareTmux asks tmux what data looks like.
func compareTmux(t *testing.T, cols, rows int, data []byte) {
	t.Helper()
	s := vt.New(vt.Options{Cols: cols, Rows: rows})
	s.Write(data)
	want := trimRows(s.Text())
	row, col := s.Cursor()
	wantCursor := fmt.Sprintf("%d,%d", row, col)
	same := func(text []string, cursor string) bool {
		// tmux counts a pending wrap as one column further.
		return slices.Equal(text, want) && (cursor == wantCursor || col == cols-1 && cursor == fmt.Sprintf("%d,%d", row, cols))
	}
	if text, cursor := show(t, cols, rows, data, same); !same(text, cursor) {
		t.Errorf("here, cursor %s:\n%s\ntmux, cursor %s:\n%s", wantCursor, frame(want), cursor, frame(text))
	}
}

func TestTmuxAgreesOnCases(t *testing.T) {
	needTmux(t)
	for _, tt := range emulationCases {
		if tt.notTmux == "" {
			t.Run(tt.name, func(t *testing.T) { compareTmux(t, caseCols, caseRows, []byte(tt.in)) })
		}
	}
}

func TestTmuxAgreesOnRecordings(t *testing.T) {
	needTmux(t)
	for name, data := range recordings(t) {
		t.Run(name, func(t *testing.T) { compareTmux(t, vt.DefaultCols, vt.DefaultRows, data) })
	}
}

// TestTmuxAgreesOnRepaint shows a repaint of ours to a real terminal.
func TestTmuxAgreesOnRepaint(t *testing.T) {
	needTmux(t)
	for name, data := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			s := vt.New(vt.Options{})
			s.Write(data[:len(data)*2/3])
			compareTmux(t, vt.DefaultCols, vt.DefaultRows, append(s.Repaint(100), data[len(data)*2/3:]...))
		})
	}
}

// TestVTAgreesOnRecordings compares with charmbracelet/x/vt, which ends an OSC at the byte 0x9C, so it gets none.
func TestVTAgreesOnRecordings(t *testing.T) {
	for name, data := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			s := vt.New(vt.Options{})
			s.Write(data)
			want := trimRows(s.Text())

			emulator := charm.NewEmulator(vt.DefaultCols, vt.DefaultRows)
			replies := make(chan struct{})
			go func() { // it blocks until somebody reads its answers
				defer close(replies)
				buffer := make([]byte, 1024)
				for {
					if _, err := emulator.Read(buffer); err != nil {
						return
					}
				}
			}()
			emulator.Write(withoutOSC(data))
			var got []string
			for y := range vt.DefaultRows {
				var line strings.Builder
				for x := 0; x < vt.DefaultCols; {
					cell := emulator.CellAt(x, y)
					if cell == nil || cell.Content == "" {
						line.WriteByte(' ')
						x++
						continue
					}
					line.WriteString(cell.Content)
					x += max(cell.Width, 1)
				}
				got = append(got, strings.TrimRight(line.String(), " "))
			}
			emulator.InputPipe().(io.Closer).Close() // its own Close races with Read
			<-replies
			if got = trimRows(got); !slices.Equal(got, want) {
				t.Errorf("here:\n%s\nx/vt:\n%s", frame(want), frame(got))
			}
		})
	}
}

// withoutOSC cuts the OSC strings out of a stream.
func withoutOSC(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data); i++ {
		if data[i] != 0x1b || i+1 == len(data) || data[i+1] != ']' {
			out = append(out, data[i])
			continue
		}
		for i < len(data) && data[i] != 0x07 && !(data[i] == '\\' && data[i-1] == 0x1b) {
			i++
		}
	}
	return out
}

// plainTokens are those of random streams that tmux and xterm understand alike. Where tmux differs, they come with a
// position before them: it keeps a pending wrap through erasing, moves lines outside of the scroll region as well, and
// saves cursors in two places.
var plainTokens = []string{
	"\r\n", "\n", "\r", "\b", "\t", "hello", "a", "    ", "the quick brown fox", "é", "✳", "│─┐",
	"\x1b[H", "\x1b[2J", "\x1b[2K", "\x1b[A", "\x1b[B", "\x1b[2C", "\x1b[D", "\x1b[Z", "\x1b[5G", "\x1b[2d", "\x1b[E", "\x1b[F",
	"\x1b[3;5H", "\x1b[2;3H", "\x1b[99;99H", "\x1b[2;4r", "\x1b[r", "\x1b[1;3r", "\x1b[2S", "\x1b[31m", "\x1b[m",
	"\x1b[3;4H\x1b[J", "\x1b[3;4H\x1b[1J", "\x1b[3;4H\x1b[K", "\x1b[3;4H\x1b[1K", "\x1b[3;4H\x1b[4X",
	"\x1b[3;4H\x1b[L\r", "\x1b[3;4H\x1b[2M\r", "\x1b[3;4H\x1b[3@", "\x1b[3;4H\x1b[2P",
	"\x1bD", "\x1bM", "\x1bE", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l",
	"\x1b7\x1b[2;2Hx\x1b8", "\x1b[?1049hx\n\n\n\x1b[?1049l", "\x1b]0;✳ a title\x07", "\x1bPq swallowed\x1b\\",
}

// TestTmuxAgreesOnRandomStreams asks tmux about streams that nobody thought of; they are the same every time.
func TestTmuxAgreesOnRandomStreams(t *testing.T) {
	needTmux(t)
	random := rand.New(rand.NewPCG(3, 26))
	for i := range 60 {
		var stream strings.Builder
		for range 40 {
			stream.WriteString(plainTokens[random.IntN(len(plainTokens))])
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Logf("%q", stream.String())
			compareTmux(t, caseCols, caseRows, []byte(stream.String()))
		})
	}
}
