package plugin

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// ProtocolVersion is the major version that this package speaks. What is added to it is announced by features; a new
// major is needed when a host or a plugin must do something that it did not.
const ProtocolVersion = 1

// Handshake tells a plugin that a host started it. It is a courtesy to people who start one by hand, and no
// security.
var Handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "WARDROOM_PLUGIN",
	MagicCookieValue: "a0c4e6de-wardroom-plugin-1",
}

// Name is under which a Conn is dispensed.
const Name = "plugin"

// Environment variables that the host sets for a plugin's process.
const (
	EnvName     = "WARDROOM_PLUGIN_NAME"      // what the operator calls it
	EnvRunDir   = "WARDROOM_PLUGIN_RUN_DIR"   // see Host.RunDir
	EnvStateDir = "WARDROOM_PLUGIN_STATE_DIR" // see Host.StateDir
	EnvPrivate  = "WARDROOM_PLUGIN_PRIVATE"   // see Host.Private; a JSON array
	// EnvWorkspaces is Host.Workspaces.
	EnvWorkspaces = "WARDROOM_PLUGIN_WORKSPACES"
	// EnvFiles is the directory of the files that came with the plugin; see File.
	EnvFiles    = "WARDROOM_PLUGIN_FILES"
	EnvLogLevel = "WARDROOM_PLUGIN_LOG_LEVEL" // trace, debug, info (default), warn, error or off
	// EnvParentFD is the number of a file descriptor: the read end of a pipe whose other end the host holds,
	// and no one else. When it ends, the plugin does.
	EnvParentFD = "WARDROOM_PLUGIN_PARENT_FD"
)

// Features of a plugin, in Info; a Definition may have more.
const (
	// FeatureSecretWatch says that a secret provider tells of changes.
	FeatureSecretWatch = "secret.watch"
	// FeatureHangup says that SIGHUP has the plugin open anew what it writes to, as log rotation wants it. A host that gets one
	// passes it on to plugins that say so; others would end.
	FeatureHangup = "hangup"
)

// Features of a host.
const (
	FeatureHostSecret = "host.secret"
	FeatureHostKV     = "host.kv"
	FeatureHostLog    = "host.log"
	// FeatureHostStateKey says that Host.StateKey has a key.
	FeatureHostStateKey = "host.statekey"
)

// hostServices is the id of the broker under which the host serves.
const hostServices = 1

// Plugins returns the VersionedPlugins that a host gives to go-plugin; Dispense(Name) then returns a *Conn.
func Plugins() map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {Name: &glue{}}}
}

// glue is how go-plugin reaches us, on both sides.
type glue struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server // on the plugin's side
}

var _ goplugin.GRPCPlugin = (*glue)(nil)

func (g *glue) GRPCServer(broker *goplugin.GRPCBroker, s *grpc.Server) error {
	g.server.host.broker = broker
	pluginv1.RegisterPluginServer(s, g.server)
	g.server.serveKind(s)
	return nil
}

func (g *glue) GRPCClient(ctx context.Context, broker *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return newConn(ctx, broker, conn), nil
}
