package plugin

import (
	"bufio"
	"errors"
	"io"
	"os"
	"regexp"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// A host reads one line from a plugin's standard output: where it listens. Anything that is printed before that
// line breaks the start, and what is printed after it is lost. So standard output is exchanged before the code
// of the plugin's author runs: it leads to the log, and only the line gets through. This is done on the file
// descriptor, so C code and child processes are led there too.

// captured is what init took, or nil in any process that is not a plugin's.
var captured *capture

type capture struct {
	out    *os.File // where the line goes: standard output as the host gave it
	prints *os.File // what is printed
	stdout *os.File // os.Stdout and os.Stderr as they were
	stderr *os.File
	once   sync.Once
}

// init is what runs before the code of the author, whose packages import this one. The goroutine that reads the
// prints ends with the process.
func init() {
	if !startedByHost() {
		return
	}
	if captured = captureStdout(); captured != nil {
		go captured.forward(jsonLogger("stdout", os.Getenv(EnvLogLevel), os.Stderr))
	}
}

// handshakeLine is go-plugin's line: core protocol, our protocol, network, address, kind of protocol, and more.
var handshakeLine = regexp.MustCompile(`^\d+\|\d+\|(unix|tcp)\|[^|]+\|grpc(\|.*)?$`)

// forward takes what is printed to the log, and the first line of the handshake to the host. It ends when the
// process does.
func (c *capture) forward(log hclog.Logger) {
	lines := bufio.NewReaderSize(c.prints, 32<<10)
	told := false
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(line) == 0 {
			return
		}
		text := line
		if n := len(text); n > 0 && text[n-1] == '\n' {
			text = text[:n-1]
		}
		switch {
		case !told && handshakeLine.Match(text):
			told = true
			_, _ = io.WriteString(c.out, string(text)+"\n")
			_ = c.out.Close()
		case len(text) > 0:
			log.Info("printed", "text", string(text))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// restore undoes what go-plugin does to os.Stdout and os.Stderr after the handshake: it leads both to a stream
// that hosts may not read. It is called when the first connection comes, which is after that.
func (c *capture) restore() {
	c.once.Do(func() { os.Stdout, os.Stderr = c.stdout, c.stderr })
}
