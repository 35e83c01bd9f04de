package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/wardroom/wardroom/sdk/coredump"
)

// Main is the whole main of a plugin. Started by a host it serves; by hand it prints its version (-version) or
// the schema of its configuration (-schema), runs ServeAlone if PORT is set or AlonePort stands for it, and
// says otherwise how it is used.
func Main(def Definition) {
	_ = coredump.Off() // lowering one's own limit is always allowed
	if startedByHost() {
		Serve(def)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, def, os.Args[1:], os.Getenv("PORT"), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is Main by hand; it returns the exit code.
func run(ctx context.Context, def Definition, args []string, port string, stdout, stderr io.Writer) int {
	if err := def.check(); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: the plugin's definition is wrong:\n%v\n", def.Name, err)
		return 1
	}
	switch {
	case len(args) == 1 && (args[0] == "-version" || args[0] == "--version"):
		_, _ = fmt.Fprintf(stdout, "%s %s (%s plugin, protocol %d)\n", def.Name, def.Version, def.Kind, ProtocolVersion)
		return 0
	case len(args) == 1 && (args[0] == "-schema" || args[0] == "--schema"):
		schema := def.Schema
		if len(schema) == 0 {
			schema = []byte(`{"type": "object", "additionalProperties": false}`)
		}
		_, _ = fmt.Fprintf(stdout, "%s\n", schema)
		return 0
	case len(args) == 0 && (port != "" || def.AlonePort != 0) && def.ServeAlone != nil:
		if err := def.ServeAlone(ctx); err != nil && !errors.Is(err, context.Canceled) {
			_, _ = fmt.Fprintf(stderr, "%s: %v\n", def.Name, err)
			return 1
		}
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "%s is a %s plugin of Wardroom: the appliance starts it. By hand:\n"+
		"  %s -version   print its version\n  %s -schema    print the JSON Schema of its configuration\n",
		def.Name, def.Kind, def.Name, def.Name)
	if def.ServeAlone != nil {
		_, _ = fmt.Fprintf(stderr, "  PORT=N %s    serve on this port of the loopback interface\n", def.Name)
	}
	if def.AlonePort != 0 {
		_, _ = fmt.Fprintf(stderr, "  %s           the same on port %d\n", def.Name, def.AlonePort)
	}
	return 2
}
