package core

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ServerLogLine is a line of the server's own log.
type ServerLogLine = wire.ServerLogLine

// LogLevels are the levels of log lines, from the least to the most severe.
var LogLevels = []string{"trace", "debug", "info", "warn", "error"}

// LogParts are the parts of the server whose lines have a name of their own, after that of the program: log.parts and
// wardroom log-level give each a level. What a plugin says is in the part plugins.NAME.
var LogParts = []string{
	"access", "admin", "agents", "alerts", "api", "audit", "engine", "erasures", "http", "memory", "overview", "plugins", "roles", "runtimes",
	"schedules", "secrets", "sso", "store", "threads", "tls", "tokens", "tracing", "triggers", "webhooks", "workspaces",
}

// LogPartPlugins begins the names of the parts that are plugins.
const LogPartPlugins = "plugins."

// ServerLogFilter selects lines of the server's log.
type ServerLogFilter struct {
	Level string    // at least so severe; empty: all
	Text  string    // in the part or the message, whatever the case; empty: any
	Since time.Time // later than this; zero: any
	Tail  int       // only so many last lines; 0: all
}

// ServerLogService reads the log that this process wrote, as far back as it is kept. Methods are safe for concurrent use.
type ServerLogService interface {
	// FindServerLog returns lines, oldest first.
	FindServerLog(ctx context.Context, f ServerLogFilter) ([]ServerLogLine, error)
	// FollowServerLog gives these lines and then each new one to visit, in order, until ctx ends or visit fails, and returns
	// that error. Lost of a line counts those that were gone before a slow visit came to them.
	FollowServerLog(ctx context.Context, f ServerLogFilter, visit func(ServerLogLine) error) error
}
