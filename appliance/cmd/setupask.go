package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// asker asks for lines at a terminal.
type asker struct {
	keys *keyboard
	out  io.Writer
	rest []byte // typed beyond the last line
}

// openAsker begins to read. Call close.
func openAsker(in *os.File, out io.Writer) (*asker, error) {
	keys, err := openKeyboard(in, in)
	return &asker{keys: keys, out: out}, err
}

func (a *asker) close() { a.keys.close() }

// errUnanswered ends setup where a terminal is gone, or no more is typed.
var errUnanswered = &usageError{message: "the questions were not answered: nothing was written", hint: "wardroom setup asks again; --yes with flags asks nothing"}

// line shows a question and returns the answer to it.
func (a *asker) line(ctx context.Context, question string) (string, error) {
	if _, err := io.WriteString(a.out, question); err != nil {
		return "", err
	}
	for {
		if end := slices.Index(a.rest, '\n'); end >= 0 {
			line := string(a.rest[:end])
			a.rest = a.rest[end+1:]
			return strings.TrimSpace(line), nil
		}
		select {
		case typed := <-a.keys.typed:
			a.rest = append(a.rest, typed...)
			if len(a.rest) > maxAnswer {
				return "", &usageError{message: fmt.Sprintf("an answer has more than %d bytes: nothing was written", maxAnswer)}
			}
		case err := <-a.keys.failed:
			if errors.Is(err, io.EOF) {
				return "", errUnanswered
			}
			return "", err
		case <-ctx.Done():
			return "", &interruption{cause: ctx.Err(), hint: "nothing was written; " + errUnanswered.hint}
		}
	}
}

// maxAnswer bounds what is typed before a line is complete.
const maxAnswer = 64 << 10

// ask asks for one item until the answer is good.
func (s *setup) ask(ctx context.Context, a *asker, item *setupItem) error {
	proposed := s.proposal(item)
	for {
		answer, err := a.line(ctx, fmt.Sprintf("%s [%s]: ", item.question, proposed))
		if err != nil {
			return err
		}
		answer = cmp.Or(answer, proposed)
		problem := s.take(item, answer)
		if problem == "" {
			return nil
		}
		if _, err := fmt.Fprintf(a.out, "  %s\n", clean(problem)); err != nil {
			return err
		}
	}
}

// confirm shows what would be written, and asks whether it is to be.
func (s *setup) confirm(ctx context.Context, a *asker, text []byte) (bool, error) {
	if _, err := fmt.Fprintf(a.out, "\n%s will be:\n\n%s\n", clean(s.target), text); err != nil {
		return false, err
	}
	for {
		answer, err := a.line(ctx, "Write it? yes or no ["+setupYes+"]: ")
		if err != nil {
			return false, err
		}
		switch word, ok := yesOrNo(answer); {
		case answer == "" || ok && word == setupYes:
			return true, nil
		case ok:
			return false, nil
		}
		if _, err := io.WriteString(a.out, "  answer "+setupYes+" or "+setupNo+"\n"); err != nil {
			return false, err
		}
	}
}

// yesOrNo reads a word for either.
func yesOrNo(answer string) (word string, ok bool) {
	switch strings.ToLower(answer) {
	case "yes", "y", "true":
		return setupYes, true
	case "no", "n", "false":
		return setupNo, true
	}
	return "", false
}
