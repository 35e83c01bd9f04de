package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// interruptible is a source that is read until a signal ends the command: a plain read would hold the command until something
// comes, or for ever. It is used up after that.
type interruptible struct {
	ctx    context.Context // of the command
	source io.Reader
}

// stdin returns what the command reads in place of a file.
func (c *cli) stdin() io.Reader { return &interruptible{c.ctx, c.deps.Stdin} }

// mostRead bounds one read in bytes.
const mostRead = 64 << 10

// Read implements io.Reader.
func (r *interruptible) Read(p []byte) (int, error) {
	type piece struct {
		data []byte
		err  error
	}
	came := make(chan piece, 1)
	go func() { // a read that is not waited for any more ends with the process, which nothing keeps then
		data := make([]byte, min(len(p), mostRead))
		n, err := r.source.Read(data)
		came <- piece{data[:n], err}
	}()
	select {
	case one := <-came:
		return copy(p, one.data), one.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// stdinLine reads a line from stdin; one that is cut short is what there is of it.
func (c *cli) stdinLine() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(c.stdin(), maxAnswer)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	return line, nil
}
