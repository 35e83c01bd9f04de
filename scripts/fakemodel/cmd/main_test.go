package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is the command with the URL of its first line.
type running struct {
	url   string
	stdin *io.PipeWriter
	stop  context.CancelFunc
	ended chan error
}

func begin(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	r := &running{stdin: stdin, stop: cancel, ended: make(chan error, 1)}
	go func() {
		r.ended <- run(ctx, args, in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		stdin.Close()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v, and %v", err, <-r.ended)
	}
	match := regexp.MustCompile(`^fakemodel listening on (http://127\.0\.0\.1:\d+) pid \d+\n$`).FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("the first line is %q", line)
	}
	r.url = match[1]
	return r
}

func TestRun(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	r := begin(t, "-listen", "127.0.0.1:0", "-log", log)
	response, err := http.Get(r.url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	r.stdin.Close() // means nothing without -stdin
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(log)
	if err != nil || bytes.Count(data, []byte("\n")) != 1 || !bytes.Contains(data, []byte(`"path":"/v1/models"`)) {
		t.Errorf("the log is %q, %v", data, err)
	}
}

func TestEndsWithStdin(t *testing.T) {
	r := begin(t, "-stdin")
	r.stdin.Close()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestEndsWithLifetime(t *testing.T) {
	if err := <-begin(t, "-lifetime", "50ms").ended; err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-listen", "0.0.0.0:0"}, "is not a loopback address"},
		{[]string{"-lifetime", "long"}, "invalid value"},
		{[]string{"serve"}, `"serve" is not a flag; see -help`},
		{[]string{"-log", filepath.Join(t.TempDir(), "no", "log")}, "-log: open"},
		{[]string{"-dump", filepath.Join(t.TempDir(), "no")}, "is not a folder"},
	} {
		err := run(t.Context(), tt.args, strings.NewReader(""), io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: the error is %v, want %q in it", tt.args, err, tt.want)
		}
	}
}
