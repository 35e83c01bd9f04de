package wire_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/wire"
)

var nonce = wire.Nonce{1, 2, 3, 0xfe, 15: 0xff}

// messages are one of each kind, and how it is read.
var messages = []struct {
	m     wire.Message
	parse func(wire.Kind, []byte) (any, error)
}{
	{wire.Hello{Min: 1, Max: 3, Role: wire.RoleOutput, Nonce: nonce, Client: 7, From: 1 << 40}, plain(wire.ParseHello)},
	{welcome(4), plain(wire.ParseWelcome)},
	{wire.Refused{Code: wire.CodeNonce, Text: "no"}, plain(wire.ParseRefused)},
	{launch(func(l *wire.Launch) {
		confined(l)
		l.Inherit = true
	}), plain(wire.ParseLaunch)},
	{wire.File{Path: "/f", Mode: 0o640, Keep: true, Data: []byte("text")}, plain(wire.ParseFile)},
	{wire.Part{Offset: 1, Size: 9, Data: []byte("part")}, plain(wire.ParsePart)},
	{wire.Usage{CPU: 1, Memory: 2, Limit: 3, Kills: 4, PIDs: 5, Running: 6}, plain(wire.ParseUsage)},
	{wire.Started{PID: 1, Start: 2}, plain(wire.ParseStarted)},
	{wire.Failed{Step: "command", Errno: 2, Text: "missing"}, plain(wire.ParseFailed)},
	{wire.OutputStart{Offset: 77}, plain(wire.ParseOutputStart)},
	{wire.Input{ID: 1, Data: []byte("ls\r")}, plain(wire.ParseInput)},
	{wire.Plain{What: wire.KindRelease, ID: 4}, kinded(wire.ParsePlain)},
	{wire.Resize{ID: 1, Cols: 2, Rows: 3}, plain(wire.ParseResize)},
	{wire.Signal{ID: 1, Signal: 15}, plain(wire.ParseSignal)},
	{wire.Kill{ID: 1, Grace: 2 * time.Second}, plain(wire.ParseKill)},
	{wire.Note{What: wire.KindSaveNote, ID: 1, Offset: 2, Data: []byte("note")}, kinded(wire.ParseNote)},
	{wire.Plain{What: wire.KindLoadUnread, ID: 5}, kinded(wire.ParsePlain)},
	{wire.Unread{ID: 1, Count: 1 << 31}, plain(wire.ParseUnread)},
	{wire.Done{ID: 1, Code: wire.CodeLeft, Text: "left"}, plain(wire.ParseDone)},
	{wire.Exited{Nonce: nonce, Code: 143, Killed: true, Head: 9, At: time.Unix(1, 2)}, plain(wire.ParseExited)},
	{wire.HookCall{What: wire.KindHookCall, Call: 1, Name: "Stop", Payload: []byte("{}")}, kinded(wire.ParseHookCall)},
	{wire.HookAnswer{What: wire.KindHookAnswer, Call: 1, Body: []byte("{}")}, kinded(wire.ParseHookAnswer)},
}

// welcome returns one; the first version had no unread.
func welcome(unread uint32) wire.Welcome {
	return wire.Welcome{
		Version: 1, Client: 9, HolderPID: 10, PID: 11, Start: 12, StartedAt: time.Unix(5, 6), Cols: 80, Rows: 24, Head: 1 << 50, Tail: 3, Ended: true,
		Unread: unread,
	}
}

// launch returns a launch as the first version had it, with what fill adds.
func launch(fill func(*wire.Launch)) wire.Launch {
	l := wire.Launch{
		Socket: "/s", Nonce: nonce, ExitFile: "/e", Path: "/bin/sh", Args: []string{"-c", ""}, Env: []string{"A=b"}, Dir: "/", Cols: 1, Rows: 2,
		RingBytes: 3, Stall: 4 * time.Millisecond, Linger: 5 * time.Millisecond, Cgroup: "/c", Joins: []string{"/j"}, Homes: []string{"/h"},
	}
	fill(&l)
	return l
}

// confined adds what the second version has.
func confined(l *wire.Launch) {
	l.User, l.Landlock = &wire.User{UID: 6, GID: 7, Groups: []uint32{8, 9}}, true
	l.Shut, l.Open, l.Readable = []string{"/d"}, []string{"/d/o"}, []string{"/d/r"}
}

func plain[M any](parse func([]byte) (M, error)) func(wire.Kind, []byte) (any, error) {
	return func(_ wire.Kind, body []byte) (any, error) { return parse(body) }
}

func kinded[M any](parse func(wire.Kind, []byte) (M, error)) func(wire.Kind, []byte) (any, error) {
	return func(kind wire.Kind, body []byte) (any, error) { return parse(kind, body) }
}

func TestMessages(t *testing.T) {
	for _, test := range messages {
		var stream bytes.Buffer
		if err := wire.Write(&stream, test.m); err != nil {
			t.Fatal(err)
		}
		kind, body, err := wire.NewReader(iotest.OneByteReader(&stream)).Next()
		if err != nil || kind != test.m.Kind() {
			t.Fatalf("%T: kind %d, error %v", test.m, kind, err)
		}
		got, err := test.parse(kind, body)
		if err != nil || !reflect.DeepEqual(got, test.m) {
			t.Errorf("%T: got %+v, error %v, want %+v", test.m, got, err, test.m)
		}
		// A later version may add fields, and a cut body is refused. Earlier versions knew fewer fields of a launch and of a
		// welcome: plugins and holders that an upgrade left running send those to what is installed now.
		if got, err := test.parse(kind, append(bytes.Clone(body), 1, 2, 3)); err != nil || !reflect.DeepEqual(got, test.m) {
			t.Errorf("%T with more fields: got %+v, error %v", test.m, got, err)
		}
		earlier := 0
		for cut := range body {
			got, err := test.parse(kind, body[:cut])
			switch {
			case err == nil && (reflect.DeepEqual(got, launch(func(*wire.Launch) {})) || reflect.DeepEqual(got, launch(confined)) ||
				reflect.DeepEqual(got, welcome(0))):
				earlier++
			case err == nil:
				t.Errorf("%T of %d bytes is taken when cut to %d", test.m, len(body), cut)
			}
		}
		if want := map[wire.Kind]int{wire.KindLaunch: 2, wire.KindWelcome: 1}[kind]; earlier != want {
			t.Errorf("%T of earlier versions is taken in %d forms, want %d", test.m, earlier, want)
		}
	}
}

func TestReaderLimits(t *testing.T) {
	claim := make([]byte, wire.HeaderLen)
	wire.PutHeader(claim, wire.KindInput, wire.MaxBody+1)
	if _, _, err := wire.NewReader(bytes.NewReader(claim)).Next(); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a frame beyond the limit: %v", err)
	}
	wire.PutHeader(claim, wire.KindInput, wire.MaxBody)
	if _, _, err := wire.NewReader(bytes.NewReader(claim)).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a frame without its body: %v", err)
	}
	if _, _, err := wire.NewReader(strings.NewReader("")).Next(); !errors.Is(err, io.EOF) {
		t.Errorf("an empty stream: %v", err)
	}
	big := wire.Note{What: wire.KindSaveNote, Data: make([]byte, wire.MaxBody)}
	if err := wire.Write(io.Discard, big); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a message beyond the limit is written: %v", err)
	}
}

func TestNegotiate(t *testing.T) {
	for _, test := range []struct{ lo, hi, want uint16 }{{1, 1, 1}, {1, 9, wire.Version}, {2, 9, 2}, {3, 9, 0}, {0, 0, 0}, {0, 1, 1}, {3, 1, 0}} {
		if got := wire.Negotiate(test.lo, test.hi); got != test.want {
			t.Errorf("Negotiate(%d, %d) = %d, want %d", test.lo, test.hi, got, test.want)
		}
	}
}

func TestNonce(t *testing.T) {
	got, err := wire.ParseNonce(nonce.String())
	if err != nil || got != nonce {
		t.Errorf("%s is read as %s, error %v", nonce, got, err)
	}
	for _, bad := range []string{"", "12", strings.Repeat("g", 32), strings.Repeat("A", 32), strings.Repeat("0", 33)} {
		if _, err := wire.ParseNonce(bad); err == nil {
			t.Errorf("%q is taken for a nonce", bad)
		}
	}
}

func TestExitFile(t *testing.T) {
	want := wire.Exited{Nonce: nonce, Code: 137, Killed: true, Head: 123456, At: time.Unix(1700000000, 5)}
	const golden = "wardroom-exit-1 010203fe0000000000000000000000ff code=137 killed=true output=123456 at=1700000000000000005\n"
	if got := string(wire.FormatExitFile(want)); got != golden {
		t.Errorf("the exit file is %q, want %q", got, golden)
	}
	for _, text := range []string{golden, strings.Replace(golden, " at=", " later=x at=", 1)} {
		if got, err := wire.ParseExitFile([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is read as %+v, error %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "\n", golden[:40], strings.TrimSpace(golden), strings.Replace(golden, "137", "x", 1), strings.Replace(golden, "exit-1", "exit-2", 1),
		strings.Replace(golden, "at=", "code=137 later=", 1)} {
		if _, err := wire.ParseExitFile([]byte(bad)); err == nil {
			t.Errorf("%q is taken for an exit file", bad)
		}
	}
}

func FuzzReader(f *testing.F) {
	var all []byte
	for _, test := range messages {
		f.Add(wire.Append(nil, test.m))
		all = wire.Append(all, test.m)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := wire.NewReader(bytes.NewReader(data))
		for {
			kind, body, err := r.Next()
			if err != nil {
				return
			}
			for _, test := range messages {
				if m, err := test.parse(kind, body); err == nil && test.m.Kind() == kind {
					again := wire.Append(nil, m.(wire.Message))[wire.HeaderLen:]
					if len(again) > len(body) {
						t.Fatalf("%T grows from %d to %d bytes", m, len(body), len(again))
					}
				}
			}
		}
	})
}

func FuzzParseExitFile(f *testing.F) {
	f.Add(wire.FormatExitFile(wire.Exited{Nonce: nonce, Code: 1, At: time.Unix(0, 0)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.ParseExitFile(data)
		if err != nil {
			return
		}
		if again, err := wire.ParseExitFile(wire.FormatExitFile(m)); err != nil || !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v is written and read as %+v, error %v", m, again, err)
		}
	})
}
