package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

var errHostGone = errors.New("the host's process is gone")

const (
	// endTimeout bounds the Close of the service when the process must end without the host asking.
	endTimeout = 2 * time.Second
	// lingerTimeout is how long a process stays after Shutdown for the host to end the connection.
	lingerTimeout = 3 * time.Second
)

// Serve serves a plugin that a host started, and returns when the host ended it. It exits the process with 1
// when the definition is wrong, and with 0 when the host is gone or a SIGTERM came.
func Serve(def Definition) {
	log := newLogger(def.Name, os.Getenv(EnvLogLevel), os.Stderr)
	fail := func(err error) {
		log.Error("the plugin cannot be served", "error", err)
		os.Exit(1)
	}
	if err := def.check(); err != nil {
		fail(fmt.Errorf("its definition is wrong: %w", err))
	}
	// Ctrl-C in the host's terminal reaches the whole process group; ending plugins is the host's matter. It is
	// caught and not ignored, since what is ignored stays so in the commands that a runtime starts. So is the signal that
	// the next record of the log would bring once the host is gone: the service is closed first.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGPIPE)
	ctx, err := watchParent(context.Background(), os.Getenv(EnvParentFD))
	if err != nil {
		fail(err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()

	var private []string
	if text := os.Getenv(EnvPrivate); text != "" {
		if err := json.Unmarshal([]byte(text), &private); err != nil {
			fail(fmt.Errorf("%s is not a list of paths: %w", EnvPrivate, err))
		}
	}
	s, err := newServer(&def, log, &pluginHost{
		log: log, name: os.Getenv(EnvName), runDir: os.Getenv(EnvRunDir), stateDir: os.Getenv(EnvStateDir),
		private: private, workspaces: os.Getenv(EnvWorkspaces),
	})
	if err != nil {
		fail(err)
	}
	go s.endWith(ctx, os.Exit)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{ProtocolVersion: {Name: &glue{server: s}}},
		Logger:           log.Named("go-plugin"),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(opts, serverOptions()...)
			opts = append(opts, recovering(log)...)
			return grpc.NewServer(append(opts, grpc.StatsHandler(firstConnection(afterHandshake)))...)
		},
	})
	s.endSoon() // the host ended the connection without Shutdown, and kills in a moment
}

// endSoon is end of a process that ends: a Close that takes no notice of its context is left alone.
func (s *server) endSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.end(ctx) }() // ends with the process at the latest
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.log.Warn("the service did not close in time")
	}
}

// endWith ends the process when ctx does, and some time after a Shutdown.
func (s *server) endWith(ctx context.Context, exit func(int)) {
	select {
	case <-ctx.Done():
		s.log.Info("ending", "reason", context.Cause(ctx))
		s.endSoon()
	case <-s.shutdown:
		time.Sleep(lingerTimeout)
	}
	exit(0)
}

// afterHandshake is called when the host has connected: prints go to the log again, and what only the handshake
// needs does not reach the commands that the plugin starts.
func afterHandshake() {
	if captured != nil {
		captured.restore()
	}
	for _, name := range []string{
		Handshake.MagicCookieKey, EnvParentFD, "PLUGIN_CLIENT_CERT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT",
	} {
		_ = os.Unsetenv(name)
	}
}

// firstConnection calls a function before anything is answered on a connection.
type firstConnection func()

func (f firstConnection) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	f()
	return ctx
}
func (f firstConnection) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (f firstConnection) HandleRPC(context.Context, stats.RPCStats)                       {}
func (f firstConnection) HandleConn(context.Context, stats.ConnStats)                     {}
