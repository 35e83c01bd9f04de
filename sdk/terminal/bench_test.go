package terminal_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/terminal"
)

// flood is a terminal that always has output.
type flood struct {
	data   []byte
	offset uint64
	left   int
}

func (f *flood) Recv() (runtime.Frame, error) {
	if f.left <= 0 {
		return runtime.Frame{}, io.EOF
	}
	f.left--
	f.offset += uint64(len(f.data))
	return runtime.Frame{Data: f.data, Offset: f.offset}, nil
}

func (f *flood) Input([]byte) error    { return nil }
func (f *flood) Resize(int, int) error { return nil }
func (f *flood) Close() error          { return nil }

// BenchmarkOutput measures bytes from a terminal to a client on loopback, the client's reading included.
func BenchmarkOutput(b *testing.B) {
	text := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, again and again\r\n"), 2000)
	mixed := bytes.Repeat([]byte("\x1b[32m✔\x1b[0m naïve café — 日本語 text\r\n"), 2000)
	for _, size := range []int{4 << 10, 32 << 10} {
		for name, data := range map[string][]byte{"ascii": text[:size], "mixed": bytes.ToValidUTF8(mixed[:size], nil)} {
			b.Run(fmt.Sprintf("rich/%s/%dk", name, size>>10), func(b *testing.B) { benchRich(b, data) })
			b.Run(fmt.Sprintf("plain/%s/%dk", name, size>>10), func(b *testing.B) { benchPlain(b, data) })
		}
	}
}

func benchRig(b *testing.B, data []byte) *rig {
	b.Helper()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	return newRigOf(b, &flood{data: data, left: b.N})
}

func benchRich(b *testing.B, data []byte) {
	r := benchRig(b, data)
	term, err := terminal.Dial(b.Context(), r.URL, runtime.AttachOptions{}, terminal.DialOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	total := 0
	for {
		frame, err := term.Recv()
		if err != nil {
			break
		}
		total += len(frame.Data)
	}
	b.StopTimer()
	_ = term.Close()
	if want := b.N * len(data); total != want {
		b.Fatalf("%d bytes of %d came", total, want)
	}
}

func benchPlain(b *testing.B, data []byte) {
	r := benchRig(b, data)
	conn := r.plain(b, "")
	b.ResetTimer()
	total := int64(0)
	buf := make([]byte, 256<<10)
	for {
		_, reader, err := conn.NextReader()
		if err != nil {
			break
		}
		for {
			n, err := reader.Read(buf)
			total += int64(n)
			if err != nil {
				break
			}
		}
	}
	b.StopTimer()
	if want := int64(b.N) * int64(len(data)); total != want {
		b.Fatalf("%d bytes of %d came", total, want)
	}
}

// BenchmarkEcho measures a key's way to the terminal and back.
func BenchmarkEcho(b *testing.B) {
	s := newScript(io.EOF)
	r := newRig(b, s, nil, terminal.Limits{})
	term := r.rich(b, runtime.AttachOptions{})
	b.ResetTimer()
	for i := range b.N {
		if err := term.Input([]byte("k")); err != nil {
			b.Fatal(err)
		}
		s.frames <- runtime.Frame{Data: []byte(<-s.inputs), Offset: uint64(i + 1)}
		if _, err := term.Recv(); err != nil {
			b.Fatal(err)
		}
	}
}
