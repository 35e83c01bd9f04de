package agent

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"time"
)

// recorder is a network connection that records writes.
type recorder struct {
	net.Conn
	writes    [][]byte
	deadlines int
	fail      error
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, bytes.Clone(p))
	return len(p), r.fail
}

func (r *recorder) Read([]byte) (int, error) { return 0, nil }

func (r *recorder) SetWriteDeadline(time.Time) error { r.deadlines++; return nil }

func write(t *testing.T, c *coalescer, text string) {
	t.Helper()
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("write of %q: %d, %v", text, n, err)
	}
}

func TestCoalescer(t *testing.T) {
	r := &recorder{}
	c := &coalescer{Conn: r}
	write(t, c, "alone")
	c.cork()
	write(t, c, "to")
	write(t, c, "gether")
	if len(r.writes) != 1 {
		t.Fatalf("%q were written while corked", r.writes[1:])
	}
	if err := c.uncork(); err != nil {
		t.Fatal(err)
	}
	if err := c.uncork(); err != nil { // nothing left: no write
		t.Fatal(err)
	}
	if got := string(bytes.Join(r.writes, []byte("|"))); got != "alone|together" || r.deadlines != 2 {
		t.Errorf("writes %q, %d deadlines", got, r.deadlines)
	}
}

func TestCoalescer_WritesOutWhenFull(t *testing.T) {
	r := &recorder{}
	c := &coalescer{Conn: r}
	c.cork()
	big := string(make([]byte, corkBytes))
	write(t, c, big)
	if len(r.writes) != 1 {
		t.Errorf("%d writes, want one at %d bytes", len(r.writes), corkBytes)
	}
	write(t, c, string(make([]byte, maxSpare+1)))
	if c.buf != nil && cap(c.buf) > maxSpare {
		t.Errorf("a buffer of %d bytes is kept", cap(c.buf))
	}
}

func TestCoalescer_Error(t *testing.T) {
	r := &recorder{fail: errors.New("gone")}
	c := &coalescer{Conn: r}
	c.cork()
	write(t, c, "x")
	if err := c.uncork(); !errors.Is(err, r.fail) {
		t.Errorf("got %v", err)
	}
}

func TestCoalescer_TellsBeforeRead(t *testing.T) {
	told := 0
	c := &coalescer{Conn: &recorder{}, beforeRead: func() { told++ }}
	_, _ = c.Read(nil)
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

func TestOutbox(t *testing.T) {
	o := newOutbox()
	push := func(quiet bool, text string) {
		o.push(quiet, func(b []byte) []byte { return append(b, text...) })
	}
	woken := func() bool {
		select {
		case <-o.wake:
			return true
		default:
			return false
		}
	}
	push(true, "a")
	if woken() {
		t.Error("a quiet push woke the writer")
	}
	push(false, "bc")
	push(false, "d")
	if !woken() || woken() {
		t.Error("want one wake for frames that wait together")
	}
	buf, ends := o.take()
	if string(buf) != "abcd" || len(ends) != 3 || ends[0] != 1 || ends[1] != 3 || ends[2] != 4 {
		t.Errorf("took %q %v", buf, ends)
	}
	push(false, "e") // while the first are written
	o.done(buf, ends)
	if buf, ends := o.take(); string(buf) != "e" || len(ends) != 1 || !woken() {
		t.Errorf("took %q %v", buf, ends)
	}
	if _, ends := o.take(); ends != nil {
		t.Errorf("took %v of nothing", ends)
	}
}
