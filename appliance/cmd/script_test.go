package cmd_test

import (
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core"
)

var update = flag.Bool("update", false, "write the golden output of the scripts anew")

// TestMain makes the test binary serve as the program `wardroom` of the scripts.
func TestMain(m *testing.M) {
	testscript.Main(leaks{m}, map[string]func(){"wardroom": wardroom})
}

// leaks runs the tests and then looks for goroutines they left.
type leaks struct{ m *testing.M }

func (l leaks) Run() int {
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
			return 1
		}
	}
	return code
}

// wardroom is the program of the scripts: the command tree over a product that does not do much.
func wardroom() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // as the program's main
	defer stop()
	os.Exit(cmd.Execute(ctx, cmd.Deps{Run: standIn, Now: scriptTime}, os.Args[1:]))
}

// scriptTime is the time at which the scripts run, by which ages are shown.
func scriptTime() time.Time { return time.Date(2026, 1, 2, 5, 0, 0, 0, time.UTC) }

// standIn takes the place of the product: it reports ready and ends, or refuses its configuration.
func standIn(_ context.Context, opts cmd.RunOptions) error {
	if opts.ConfigPath == "bad.yaml" {
		return core.Invalid("server.listen", "is no address")
	}
	_, _ = io.WriteString(opts.Stderr, "log line\n")
	opts.Ready("127.0.0.1:1234")
	return nil
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			server := newFake()
			env.Defer(server.Close)
			env.Setenv("WARDROOM_SERVER", server.URL)
			env.Setenv("TZ", "UTC")
			env.Setenv("SERVER", server.URL)
			// Under the race detector a command would sleep for a second at its end, for what still runs then: nothing does.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exit":  exitWith,
			"asked": asked,
		},
	})
}

// exitWith runs a command that must end with the given code: `exit 3 wardroom pattern get nosuch`.
func exitWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit code command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = exitStatus(err)
	}
	if got != args[0] {
		ts.Fatalf("%v ended with %s, want %s", args[1:], got, args[0])
	}
}

func exitStatus(err error) string {
	if text := err.Error(); len(text) > len("exit status ") {
		return text[len("exit status "):]
	}
	return err.Error()
}

// asked writes what the server was asked so far to the file of its argument.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: asked file")
	}
	resp, err := http.Get(ts.Getenv("SERVER") + "/asked")
	ts.Check(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
