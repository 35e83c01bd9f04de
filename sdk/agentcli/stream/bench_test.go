package stream_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/agentcli/stream"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// BenchmarkPTY moves the output of a command through a pty to its reader. The baseline reads the pty itself.
func BenchmarkPTY(b *testing.B) {
	const total = 16 << 20
	run := func(b *testing.B, drain func(c *exec.Cmd, master *os.File) int64) {
		b.SetBytes(total)
		for b.Loop() {
			c := exec.Command("sh", "-c", "stty raw; head -c 16777216 /dev/zero")
			master, err := pty.Start(c)
			if err != nil {
				b.Fatal(err)
			}
			if n := drain(c, master); n != total {
				b.Fatalf("%d bytes of %d", n, total)
			}
		}
	}
	b.Run("baseline", func(b *testing.B) {
		run(b, func(c *exec.Cmd, master *os.File) int64 {
			n, _ := io.Copy(io.Discard, master) // its end is an error of the kernel's
			_ = c.Wait()
			_ = master.Close()
			return n
		})
	})
	b.Run("stream", func(b *testing.B) {
		run(b, func(c *exec.Cmd, master *os.File) int64 {
			tty, err := stream.NewTTY(master)
			if err != nil {
				b.Fatal(err)
			}
			var table stream.Table
			p := table.Add("a", stream.Options{
				Terminal: tty, Kill: func(context.Context) error { return c.Process.Kill() },
				Wait: func() (runtime.Exit, error) { return stream.ExitOf(c.Wait()) },
			})
			out, err := p.Output(b.Context(), 0)
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, out)
			if err != nil {
				b.Fatal(err)
			}
			return n
		})
	})
}
