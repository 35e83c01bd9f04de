package vt_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/sdk/vt"
)

// feedChunk is how a PTY is read.
const feedChunk = 32 << 10

// asciiLines is the output of cat on a text file.
func asciiLines(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%08d the quick brown fox jumps over the lazy dog and goes on to line %d of this file\r\n", i, i*7)
	}
	return b.Bytes()
}

func benchmarkFeed(b *testing.B, data []byte) {
	s := vt.New(vt.Options{})
	s.Write(data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for rest := data; len(rest) > 0; {
			n := min(feedChunk, len(rest))
			s.Write(rest[:n])
			rest = rest[n:]
		}
	}
}

func BenchmarkWriteASCII(b *testing.B) { benchmarkFeed(b, asciiLines(4<<20)) }

func BenchmarkWriteOneLine(b *testing.B) {
	benchmarkFeed(b, bytes.Repeat([]byte("0123456789"), 400<<10))
}

func BenchmarkWriteAgents(b *testing.B) {
	for name, data := range recordings(b) {
		b.Run(name, func(b *testing.B) { benchmarkFeed(b, data) })
	}
}

func BenchmarkRepaint(b *testing.B) {
	for name, data := range recordings(b) {
		for _, tail := range []int{0, 1000} {
			b.Run(fmt.Sprintf("%s/tail=%d", name, tail), func(b *testing.B) {
				s := vt.New(vt.Options{})
				s.Write(data)
				size := 0
				for b.Loop() {
					size = len(s.Repaint(tail))
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

func BenchmarkWriteUnicode(b *testing.B) {
	for name, line := range map[string]string{
		"box":   "│ ─────┬───── ┌───┐ ✳ ● └───┘ ❯ … │ ok\r\n",
		"cjk":   "敏捷的棕色狐狸跳过了懒狗，然后继续前行。\r\n",
		"emoji": "done ✅ 🚀 family 👨\u200d👩\u200d👧 flag 🇩🇪 heart ❤\ufe0f skin 👍🏽\r\n",
		"color": "\x1b[38;2;10;20;30mone\x1b[39m \x1b[48;5;17mtwo\x1b[49m \x1b[1mthree\x1b[22m\r\n",
	} {
		b.Run(name, func(b *testing.B) { benchmarkFeed(b, bytes.Repeat([]byte(line), 20000)) })
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := vt.New(vt.Options{})
	s.Write(asciiLines(2 << 20))
	size := 0
	for b.Loop() {
		size = len(s.Snapshot())
	}
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkRestore(b *testing.B) {
	s := vt.New(vt.Options{})
	s.Write(asciiLines(2 << 20))
	snapshot := s.Snapshot()
	for b.Loop() {
		if _, err := vt.Restore(snapshot, vt.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRing(b *testing.B) {
	ring := vt.NewRing(256 << 10)
	chunk := make([]byte, feedChunk)
	b.SetBytes(feedChunk)
	for b.Loop() {
		ring.Write(chunk)
	}
}
