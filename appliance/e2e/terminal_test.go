package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// plainSocket attaches without a subprotocol, as a terminal in a web page does.
func (c *crew) plainSocket(id string) *websocket.Conn {
	c.t.Helper()
	return c.socket(id)
}

// ackSocket attaches as a client of wardroom.terminal.v1 that says that it acknowledges.
func (c *crew) ackSocket(id string) *websocket.Conn {
	c.t.Helper()
	return c.socket(id, terminal.Subprotocol, terminal.AckSubprotocol)
}

func (c *crew) socket(id string, protocols ...string) *websocket.Conn {
	c.t.Helper()
	address, header := c.api.TerminalRequest(id)
	dialer := websocket.Dialer{Subprotocols: protocols}
	conn, resp, err := dialer.DialContext(c.t.Context(), "ws"+strings.TrimPrefix(address, "http"), header)
	if err != nil {
		c.t.Fatalf("%v: %+v", err, resp)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(3 * patience)); err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// residentBytes returns the resident memory of a process.
func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(procFile(pid, "statm"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// mostMemory is what no process of ours may need for any output of an agent.
const mostMemory = 256 << 20

// A line of 100 MB without an end harms neither the agent nor anybody else.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a, other := c.shell(), c.shell()
	answer := c.later(a.ID, "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo over")
	c.await(a.ID, client.ManagedBusy)
	c.told(other.ID, "echo undisturbed", "undisturbed")
	if got := <-answer; !strings.HasSuffix(got, "over") || len(got) > 16<<20 {
		t.Errorf("the answer has %d bytes and ends with %q", len(got), tail(got, 40))
	}
	c.told(a.ID, "echo still here", "still here")
	for name, pid := range map[string]int{"core": c.process.PID(), "plugin": c.pluginPID(), "holder": parent(t, a.PID)} {
		if n := residentBytes(t, pid); n > mostMemory {
			t.Errorf("the %s keeps %d MiB", name, n>>20)
		}
	}
	if logs := c.read("/api/managed-agents/" + a.ID + "/logs?tail=50"); logs.status != http.StatusOK || len(logs.body) > 32<<20 {
		t.Errorf("the log is %d with %d bytes", logs.status, len(logs.body))
	}
	c.retire(a.ID)
	c.retire(other.ID)
}

// Bytes that are no UTF-8 reach a plain viewer as replacement characters, and a rich one as they are.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	plain, rich := c.plainSocket(a.ID), c.view(a.ID, runtime.AttachOptions{})
	rich.sees("ready>")
	if got := c.ask(a.ID, `printf 'a\377\376b\303(c\xe2\x82 \xf0\x9f\x98\x80 end.\n'`); !utf8.ValidString(got) || !strings.HasSuffix(got, "end.") {
		t.Errorf("the answer is %q", got)
	}
	rich.sees("a\xff\xfeb\xc3(c\xe2\x82 \U0001F600 end.")
	var seen []byte
	for !bytes.Contains(seen, []byte(" \U0001F600 end.\r\n")) {
		kind, data, err := plain.ReadMessage()
		if err != nil {
			t.Fatalf("%v after %q", err, seen)
		}
		if kind != websocket.TextMessage || !utf8.Valid(data) {
			t.Fatalf("a message of kind %d: %q", kind, data)
		}
		seen = append(seen, data...)
	}
	if !bytes.Contains(seen, []byte("a\uFFFD\uFFFDb\uFFFD(c\uFFFD")) {
		t.Errorf("the plain viewer saw %q", seen)
	}
	c.retire(a.ID)
}

// A size that no terminal has is refused, and the terminal keeps the one it has.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	v := c.view(a.ID, runtime.AttachOptions{Cols: 100, Rows: 30})
	size := func(want string) {
		t.Helper()
		eventually(t, "the size "+want, func() bool { return c.ask(a.ID, "stty size") == want })
	}
	size("30 100")
	for _, s := range [][2]int{{0, 0}, {0, 24}, {80, 0}, {-1, 24}, {100_000, 24}, {80, 100_000}, {100_000, 100_000}} {
		if err := v.conn.Resize(s[0], s[1]); err != nil && runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("resize to %v: %v", s, err)
		}
	}
	plain := c.plainSocket(a.ID)
	for _, message := range []string{
		`{"type":"resize","cols":0,"rows":0}`, `{"type":"resize","cols":100000,"rows":100000}`,
	} {
		if err := plain.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	size("30 100")
	if err := v.conn.Resize(90, 33); err != nil {
		t.Fatal(err)
	}
	size("33 90")
	address, header := c.api.TerminalRequest(a.ID)
	for _, query := range []string{"cols=100000", "rows=-1", "offset=x", "tail=999999999"} {
		_, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(address, "http")+"?"+query, header)
		if err == nil || resp == nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %+v, %v", query, resp, err)
		}
	}
	v.close()
	c.retire(a.ID)
}

// A viewer that never reads holds up neither the agent nor the other viewers.
func TestStalledViewer(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	good := c.view(a.ID, runtime.AttachOptions{})
	good.sees("ready>")
	for range 3 {
		c.plainSocket(a.ID) // and nothing is read from it
		c.ackSocket(a.ID)   // and nothing is acknowledged
	}
	began := time.Now()
	const lines = 400_000 // 28 MB
	reply := c.later(a.ID, fmt.Sprintf("yes %s | head -n %d; echo all of it", strings.Repeat("0123456789", 7), lines))
	if got := <-reply; !strings.HasSuffix(got, "all of it") {
		t.Fatalf("the answer ends with %q", tail(got, 100))
	}
	good.sees("all of it\r\n")
	t.Logf("28 MB in %s beside six viewers that do not read", time.Since(began).Round(time.Millisecond))
	if n := residentBytes(t, c.process.PID()); n > mostMemory {
		t.Errorf("the core keeps %d MiB", n>>20)
	}
	good.close()
	c.retire(a.ID)
}

// What two controllers type at once arrives whole and in the order of each; so do messages that many callers
// send at once.
func TestControllersAtOnce(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	file := filepath.Join(a.Workdir, "typed")
	viewers := []*console{c.view(a.ID, runtime.AttachOptions{}), c.view(a.ID, runtime.AttachOptions{})}
	viewers[0].types("stty -echo; cat >" + file + "; stty echo; echo typed $((1+1)) all\r")
	eventually(t, "the program that reads", func() bool { return exists(file) })
	const each = 200
	var typing sync.WaitGroup
	for who, v := range viewers {
		typing.Add(1)
		go func() {
			defer typing.Done()
			for i := range each {
				if err := v.conn.Input(fmt.Appendf(nil, "controller %d line %d\r", who, i)); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	typing.Wait()
	var text []byte
	eventually(t, "all lines", func() bool {
		var err error
		text, err = os.ReadFile(file)
		return err == nil && bytes.Count(text, []byte("\n")) >= 2*each
	})
	next := make([]int, len(viewers))
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var who, i int
		if n, err := fmt.Sscanf(line, "controller %d line %d", &who, &i); n != 2 || err != nil || i != next[who] {
			t.Fatalf("%q, want line %v", line, next)
		}
		next[who]++
	}
	viewers[0].types("\x04")
	viewers[0].sees("typed 2 all")
	for _, v := range viewers {
		v.close()
	}
	c.await(a.ID, client.ManagedReady)
	c.told(a.ID, "echo shell again", "shell again")

	answers := make([]<-chan string, 10)
	for i := range answers {
		answers[i] = c.later(a.ID, fmt.Sprintf("echo %d >>%s; echo answer %d", i, file, i))
	}
	for i, answer := range answers {
		if got := <-answer; got != fmt.Sprintf("answer %d", i) {
			t.Errorf("message %d was answered with %q", i, got)
		}
	}
	if got := c.ask(a.ID, "tail -n 10 "+file+" | sort -n | tr '\\n' ' '; echo"); got != "0 1 2 3 4 5 6 7 8 9" {
		t.Errorf("messages at once left %q", got)
	}
	c.retire(a.ID)
}

// A terminal of nobody closes with 4404.
func TestTerminalOfNobody(t *testing.T) {
	t.Parallel()
	c := managed(t)
	conn := c.plainSocket("magent_nobody")
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, 4404) {
				t.Errorf("it ends with %v", err)
			}
			return
		}
	}
}

// resetPeak makes peakBytes count from now on.
func resetPeak(t *testing.T, pid int) {
	t.Helper()
	if err := os.WriteFile(procFile(pid, "clear_refs"), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// peakBytes is the most that a process kept in memory.
func peakBytes(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(procFile(pid, "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
