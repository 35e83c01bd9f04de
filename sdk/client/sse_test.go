package client_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// readEvents renders all events of a stream, one a line.
func readEvents(r *client.EventReader) (string, error) {
	var out strings.Builder
	for {
		event, err := r.Next()
		if err != nil {
			return out.String(), err
		}
		fmt.Fprintf(&out, "%s|%s|%s\n", event.ID, event.Type, event.Data)
	}
}

func TestEventReader(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"Empty", "", ""},
		{"One", "id: 1\nevent: started\ndata: {}\n\n", "1|started|{}\n"},
		{"NoSpace", "id:1\nevent:started\ndata:{}\n\n", "1|started|{}\n"},
		{"OneSpaceOnly", "data:  x\n\n", "|message| x\n"},
		{"CRLF", "id: 1\r\nevent: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", "1|e|a\n|message|b\n"},
		{"CR", "id: 1\revent: e\rdata: a\r\rdata: b\r\r", "1|e|a\n|message|b\n"},
		{"ManyDataLines", "data: a\ndata\ndata: b\n\n", "|message|a\n\nb\n"},
		{"Comments", ": heartbeat\n\n:\n\ndata: a\n: in between\n\n", "|message|a\n"},
		{"NoData", "event: e\nid: 4\n\ndata: a\n\n", "|message|a\n"},
		{"UnfinishedIsDropped", "data: a\n\nid: 7\ndata: b\n", "|message|a\n"},
		{"IDWithNUL", "id: a\x00b\ndata: x\n\n", "|message|x\n"},
		{"ByteOrderMark", "\xef\xbb\xbfdata: a\n\n", "|message|a\n"},
		{"UnknownField", "foo: bar\nfoo\ndata: a\n\n", "|message|a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, source := range map[string]io.Reader{
				"Whole": strings.NewReader(tt.in), "Bytewise": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				got, err := readEvents(client.NewEventReader(source, 0))
				if !errors.Is(err, io.EOF) || got != tt.want {
					t.Errorf("%s: got %q, %v; want %q", name, got, err, tt.want)
				}
			}
		})
	}
}

func TestEventReaderState(t *testing.T) {
	r := client.NewEventReader(strings.NewReader("retry: 1500\nid: 3\ndata: a\n\ndata: b\n\nretry: x\nid: 4\n\nid: 5\ndata: c"), 0)
	if _, err := readEvents(r); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if r.LastEventID() != "4" { // of the last finished block; 5 never finished
		t.Errorf("LastEventID = %q", r.LastEventID())
	}
	if r.Wait() != 1500*time.Millisecond {
		t.Errorf("Wait = %s", r.Wait())
	}
}

// TestEventReaderDoesNotWait makes sure that a finished event is handed out before more bytes come.
func TestEventReaderDoesNotWait(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "data: a"+end) }() // ends once it was read
		event, err := client.NewEventReader(r, 0).Next()
		if err != nil || string(event.Data) != "a" {
			t.Errorf("end %q: %+v, %v", end, event, err)
		}
		_ = r.Close()
	}
}

func TestEventReaderBounds(t *testing.T) {
	for name, in := range map[string]string{
		"LongLine":  "data: " + strings.Repeat("x", 5000) + "\n\n",
		"Endless":   strings.Repeat("x", 5000),
		"ManyLines": strings.Repeat("data: x\n", 1000),
		"Comments":  strings.Repeat(": x\n", 1000),
	} {
		if _, err := readEvents(client.NewEventReader(strings.NewReader(in), 1000)); !errors.Is(err, client.ErrEventTooLarge) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	// Heartbeats, each a block of its own, never add up.
	in := strings.Repeat(": heartbeat\n\n", 1000)
	if _, err := readEvents(client.NewEventReader(strings.NewReader(in), 1000)); !errors.Is(err, io.EOF) {
		t.Errorf("heartbeats: err = %v", err)
	}
}

func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{
		"id: 1\nevent: started\ndata: {\"executionId\":\"exec_1\"}\n\n", ": heartbeat\n\nretry: 5\n\n",
		"data: a\r\rdata: b\r\n\r\n", "\xef\xbb\xbfid:\x00\n\n", "data\ndata\n\n", "\r\n\n\r",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := readEvents(client.NewEventReader(strings.NewReader(in), 1<<12))
		bytewise, err2 := readEvents(client.NewEventReader(iotest.OneByteReader(strings.NewReader(in)), 1<<12))
		if whole != bytewise || !errors.Is(err2, err1) {
			t.Fatalf("how the bytes arrive changes the events:\n%q, %v\n%q, %v", whole, err1, bytewise, err2)
		}
	})
}
