package netlimit_test

import (
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/netlimit"
)

// timed is a connection that counts the deadlines which are set for its writes.
type timed struct {
	*net.TCPConn
	set atomic.Int64
	on  atomic.Bool // the last one was not the zero time

	first  sync.Once
	waited chan struct{} // closed with the first
}

func (c *timed) SetWriteDeadline(t time.Time) error {
	c.set.Add(1)
	c.on.Store(!t.IsZero())
	c.first.Do(func() { close(c.waited) })
	return c.TCPConn.SetWriteDeadline(t)
}

// timedListener accepts connections that count.
type timedListener struct {
	net.Listener
	last *timed
}

func (l *timedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.last = &timed{TCPConn: conn.(*net.TCPConn), waited: make(chan struct{})}
	return l.last, nil
}

// A deadline is a timer, and one that is left behind wakes the process up when it is over: thousands of connections with
// a line now and then had one more wake-up for each line.
func TestTimersOfWrites(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("each write sets a deadline here")
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counting := &timedListener{Listener: inner}
	l := netlimit.New(counting, netlimit.Limits{Stall: time.Hour})
	defer l.Close()
	client := dial(t, l)
	if err := client.SetReadBuffer(1 << 20); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	for range 3 {
		if n, err := server.Write([]byte("line\n")); n != 5 || err != nil {
			t.Fatalf("wrote %d bytes: %v", n, err)
		}
	}
	if n := counting.last.set.Load(); n != 0 {
		t.Errorf("writes that the system took at once set %d deadlines", n)
	}

	// One that waits has a deadline, and leaves none behind. A peer that reads meanwhile may take it all at once.
	read := make(chan int64)
	go func() {
		<-counting.last.waited
		n, _ := io.Copy(io.Discard, client)
		read <- n
	}()
	if n, err := server.Write(big); n != len(big) || err != nil {
		t.Fatalf("wrote %d bytes: %v", n, err)
	}
	if n := counting.last.set.Load(); n == 0 || counting.last.on.Load() {
		t.Errorf("a write that waited set %d deadlines, and left one: %v", n, counting.last.on.Load())
	}
	_ = server.Close()
	if n := <-read; n != int64(15+len(big)) {
		t.Errorf("the peer got %d bytes of %d", n, 15+len(big))
	}
}
