package agentlog_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/agentlog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func line(second int, text string) runtime.LogLine {
	return runtime.LogLine{Timestamp: time.Unix(int64(second), 0).UTC(), Stream: runtime.StreamInput, Line: text}
}

func read(t *testing.T, l *agentlog.Log, opts runtime.LogOptions) []string {
	t.Helper()
	r, err := l.Read(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var lines []string
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line.Line)
	}
}

func TestSelection(t *testing.T) {
	dir := t.TempDir()
	l := agentlog.New(dir)
	if got := read(t, l, runtime.LogOptions{}); len(got) != 0 {
		t.Errorf("lines %q", got)
	}
	for i := range 5 {
		if err := l.Write(line(i, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(read(t, l, runtime.LogOptions{Tail: 2})); got != "[3 4]" {
		t.Errorf("tail %s", got)
	}
	if got := fmt.Sprint(read(t, l, runtime.LogOptions{Since: time.Unix(2, 0)})); got != "[3 4]" {
		t.Errorf("since %s", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(line(9, "x")); err == nil {
		t.Error("a line was taken after Close")
	}
	// A torn line is left out, and what follows is whole.
	file, err := os.OpenFile(filepath.Join(dir, "log.jsonl"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.WriteString(`{"timestamp":"20`)
	_ = file.Close()
	l = agentlog.New(dir)
	defer func() { _ = l.Close() }()
	if err := l.Write(line(6, "next")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read(t, l, runtime.LogOptions{Tail: 2})); got != "[4 next]" {
		t.Errorf("lines %s", got)
	}
}

func TestFollowOverTurns(t *testing.T) {
	dir := t.TempDir()
	l := agentlog.New(dir)
	r, err := l.Read(t.Context(), runtime.LogOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	const n = 400
	go func() {
		for i := range n {
			_ = l.Write(line(i, fmt.Sprint(i, strings.Repeat("x", 2*agentlog.MaxLine))))
		}
		_ = l.Close()
	}()
	got, last := 0, -1
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var i int
		_, _ = fmt.Sscan(strings.TrimRight(line.Line, "x"), &i)
		if i <= last || len(line.Line) != agentlog.MaxLine {
			t.Fatalf("line %d after %d of %d bytes", i, last, len(line.Line))
		}
		got, last = got+1, i
	}
	if last != n-1 || got < n/4 {
		t.Errorf("%d lines, the last one %d", got, last)
	}
	size := int64(0)
	for _, name := range []string{"log.jsonl", "log.1.jsonl"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > agentlog.MaxBytes+1<<20 {
		t.Errorf("%d bytes are kept", size)
	}
}
