package cmd_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// endless gives the same byte for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// readFrom reports that it is read from.
type readFrom struct {
	io.Reader
	begun chan struct{}
}

func (r readFrom) Read(p []byte) (int, error) {
	select {
	case r.begun <- struct{}{}:
	default:
	}
	return r.Reader.Read(p)
}

// A command that waits for what comes on stdin ends with the first signal.
func TestStdinInterrupted(t *testing.T) {
	f := newFake()
	t.Cleanup(f.Close)
	for _, args := range [][]string{
		{"execution", "delete", "exec_1"}, {"pattern", "put", "-"}, {"run", "triage", "--input", "-"}, {"status", "--token-file", "-"},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			silent, writer := io.Pipe()
			t.Cleanup(func() { _ = writer.Close() })
			ctx, cancel := context.WithCancel(t.Context())
			in := readFrom{silent, make(chan struct{}, 1)}
			r := start(ctx, f.URL, cmd.Deps{Stdin: in}, args...)
			wait(t, in.begun, "a look at stdin")
			cancel()
			wait(t, r.done, "the end of the command")
			r.expect(t, 130, "interrupted")
		})
	}
}

// An answer is a line: one that does not end is none.
func TestAnswerWithoutEnd(t *testing.T) {
	r := start(t.Context(), "http://127.0.0.1:1", cmd.Deps{Stdin: endless('y')}, "execution", "delete", "exec_1")
	wait(t, r.done, "the end of the command")
	r.expect(t, 1, "nothing was deleted")
}

// What is read is bounded, whatever the size of the file is said to be, and a directory is a wrong file.
func TestInputFiles(t *testing.T) {
	dir := t.TempDir()
	const endlessFile = "/dev/zero"
	if _, err := os.Stat(endlessFile); err != nil {
		t.Skip(err)
	}
	linked := filepath.Join(dir, "linked")
	if err := os.Symlink(endlessFile, linked); err != nil {
		t.Fatal(err)
	}
	execute(t, "http://127.0.0.1:1", "pattern", "validate", dir).expect(t, 2, dir+": is a directory")
	execute(t, "http://127.0.0.1:1", "status", "--token-file", dir).expect(t, 2, dir+": is a directory")
	execute(t, "http://127.0.0.1:1", "pattern", "validate", linked).expect(t, 2, linked+" is larger than 256 MiB")
}
