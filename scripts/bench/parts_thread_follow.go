package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// eventMark begins what followers look for in an event: its number and the moment at which it was told.
const eventMark = "numbered "

// followed counts what the viewers of a thread saw, all together.
type followed struct {
	Deliveries int     `json:"deliveries"` // to viewers that read all the time
	Seconds    float64 `json:"seconds"`    // from the first event to the last that any of these saw
	Whole      int     `json:"whole"`      // viewers that got every event
	Gapped     int     `json:"gapped"`     // viewers that were told that events are missing
	Returned   int     `json:"returned"`   // viewers that had to connect anew
	Untold     int     `json:"untold"`     // events that are missing at a viewer without a notice
	Twice      int     `json:"twice"`
	P50        float64 `json:"p50"` // ms from telling to seeing, of viewers that read all the time
	P99        float64 `json:"p99"`
	Slowest    float64 `json:"slowest"`
	Fault      string  `json:"fault,omitempty"` // of a viewer that did not see the end
}

func (f *followed) rate() float64 { return float64(f.Deliveries) / f.Seconds }

// following is a process of viewers.
type following struct {
	*testbed.Process
	out string
}

// follow starts viewers in a process of their own and waits until all are connected.
func (b *bench) follow(ctx context.Context, s showing, host, path string) (*following, error) {
	w := &following{out: filepath.Join(b.dir, "followed.json")}
	_ = os.Remove(w.out) // of an earlier run
	var err error
	w.Process, err = b.play(ctx, "followers", "-host", host, "-path", path, "-out", w.out,
		"-n", strconv.Itoa(s.viewers), "-stalled", strconv.Itoa(s.stalled), "-events", strconv.Itoa(s.events))
	return w, err
}

// result waits for the viewers' end and returns what they saw.
func (w *following) result() (*followed, error) {
	if <-w.Done; w.Err != nil {
		return nil, w.Check()
	}
	raw, err := os.ReadFile(w.out)
	if err != nil {
		return nil, err
	}
	f := &followed{}
	return f, json.Unmarshal(raw, f)
}

// followersMain is the process of the viewers.
func followersMain(args []string) int {
	flags := flag.NewFlagSet("followers", flag.ExitOnError)
	c := &crowd{quick: make(chan struct{}), ready: make(chan struct{}, 1<<16)}
	out := flags.String("out", "", "file for the result")
	n := flags.Int("n", 1, "viewers")
	stalled := flags.Int("stalled", 0, "of them, those that do not read for a while")
	limit := flags.Duration("limit", 3*time.Minute, "how long the last event is waited for")
	flags.StringVar(&c.host, "host", "", "address of the server")
	flags.StringVar(&c.path, "path", "", "path of the stream")
	flags.IntVar(&c.events, "events", 0, "events to see")
	_ = flags.Parse(args) // ExitOnError
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	raw, err := json.Marshal(c.follow(ctx, *n, *stalled))
	if err == nil {
		err = os.WriteFile(*out, raw, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "followers:", err)
		return 1
	}
	return 0
}

// crowd is the viewers of a stream.
type crowd struct {
	host, path string
	events     int
	ready      chan struct{}
	quick      chan struct{} // closed once those that read all the time are through
}

// follow lets viewers follow the stream until all saw its end, or ctx ends.
func (c *crowd) follow(ctx context.Context, n, stalled int) *followed {
	all := make([]*follower, n)
	var slow, quick sync.WaitGroup
	for i := range all {
		f := &follower{crowd: c, stalls: i < stalled}
		all[i] = f
		group := &quick
		if f.stalls {
			group = &slow
		}
		group.Go(func() { f.err = f.run(ctx) })
	}
	for range n {
		select {
		case <-c.ready:
		case <-ctx.Done():
		}
	}
	fmt.Println("ready: followers")
	quick.Wait()
	close(c.quick)
	slow.Wait()
	return c.sum(all)
}

// sum adds up what the viewers saw.
func (c *crowd) sum(all []*follower) *followed {
	sum := &followed{}
	var late []time.Duration
	first, last := time.Time{}, time.Time{}
	for i, f := range all {
		sum.Twice += f.twice
		if f.next < c.events {
			f.untold += c.events - f.next
			sum.Fault = fmt.Sprintf("viewer %d saw %d of %d events: %v", i, f.next, c.events, f.err)
		}
		sum.Untold += f.untold
		if f.returned > 0 {
			sum.Returned++
		}
		if f.gaps > 0 {
			sum.Gapped++
		} else if f.got-f.twice == c.events {
			sum.Whole++
		}
		if f.stalls {
			continue
		}
		late = append(late, f.late...)
		sum.Deliveries += f.got
		if first.IsZero() || f.first.Before(first) {
			first = f.first
		}
		if f.last.After(last) {
			last = f.last
		}
	}
	slices.Sort(late)
	l := load{latencies: late}
	sum.P50, sum.P99, sum.Slowest = l.quantile(.5), l.quantile(.99), l.quantile(1)
	sum.Seconds = last.Sub(first).Seconds()
	return sum
}

// follower is one viewer.
type follower struct {
	*crowd
	stalls bool

	seen     string // id of the last event
	next     int    // number of the event to come
	got      int
	twice    int
	untold   int
	gaps     int
	gap      bool // a notice came, and no event after it
	returned int
	stalled  bool // it had its pause
	first    time.Time
	last     time.Time
	late     []time.Duration
	err      error
}

// stallMore is how much longer a viewer stalls than the others look on: longer than the core waits for one that reads.
const stallMore = 6 * time.Second

// errSeen ends a viewer that saw the last event.
var errSeen = errors.New("all events were seen")

// run follows the stream, and comes back when its connection ends, as a browser does.
func (f *follower) run(ctx context.Context) error {
	said := sync.OnceFunc(func() { f.ready <- struct{}{} })
	defer said()
	for {
		err := f.connect(ctx, said)
		if errors.Is(err, errSeen) || ctx.Err() != nil {
			return nil
		}
		if f.seen == "" {
			return err
		}
		f.returned++
		if err := testbed.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// connect follows the stream over one connection.
func (f *follower) connect(ctx context.Context, said func()) error {
	dialer := &net.Dialer{}
	if f.stalls {
		dialer.Control = asByNetwork
	}
	conn, err := dialer.DialContext(ctx, "tcp", f.host)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n", f.path, f.host)
	if f.seen != "" {
		fmt.Fprintf(conn, "Last-Event-ID: %s\r\n", f.seen)
	}
	fmt.Fprint(conn, "\r\n")
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16<<10), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	defer func() { _ = conn.Close() }() // before that, which would read the stream to its end
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream is answered with %s", res.Status)
	}
	in := bufio.NewReaderSize(res.Body, 64<<10)
	id, kind := "", ""
	var data []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case len(line) == 1: // the end of an event: one that is cut off before does not count
			if id != "" {
				f.seen = id
			}
			switch kind {
			case "connected":
				said()
			case "gap":
				f.gap = true
				f.gaps++
			default:
				if err := f.event(ctx, data); err != nil {
					return err
				}
			}
			id, kind, data = "", "", data[:0]
		case bytes.HasPrefix(line, []byte("id: ")):
			id = string(bytes.TrimSpace(line[4:]))
		case bytes.HasPrefix(line, []byte("event: ")):
			kind = string(bytes.TrimSpace(line[7:]))
		case bytes.HasPrefix(line, []byte("data: ")):
			data = append(data[:0], line[6:min(len(line), 1024)]...)
		}
	}
}

// asByNetwork gives a connection the segments of an Ethernet and a small buffer. With those of the loopback device the
// system takes some megabytes for a reader that stalls.
func asByNetwork(_, _ string, c syscall.RawConn) error {
	var err error
	failed := c.Control(func(fd uintptr) {
		err = errors.Join(syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 1460),
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 16<<10))
	})
	return errors.Join(failed, err)
}

// event looks at the data of one event.
func (f *follower) event(ctx context.Context, line []byte) error {
	at := bytes.Index(line, []byte(eventMark))
	if at < 0 {
		return nil
	}
	number, rest, _ := strings.Cut(string(line[at+len(eventMark):min(len(line), at+len(eventMark)+40)]), " ")
	told, _, _ := strings.Cut(rest, " ")
	i, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	nanos, err := strconv.ParseInt(told, 10, 64)
	if err != nil {
		return err
	}
	now := time.Now()
	if f.first.IsZero() {
		f.first = now
	}
	f.last = now
	f.got++
	switch {
	case i < f.next:
		f.twice++
		return nil
	case i > f.next && !f.gap:
		f.untold += i - f.next
	}
	f.next, f.gap = i+1, false
	if f.late = append(f.late, now.Sub(time.Unix(0, nanos))); i == f.events-1 {
		return errSeen
	}
	if f.stalls && !f.stalled && i >= f.events/10 {
		f.stalled = true
		select {
		case <-f.quick:
		case <-ctx.Done():
		}
		return testbed.Pause(ctx, stallMore)
	}
	return nil
}
