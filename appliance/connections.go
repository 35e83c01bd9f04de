package appliance

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/metrics"
	"github.com/wardroom/wardroom/sdk/netlimit"
)

// stopStall is how long a client may take nothing once the server stops.
const stopStall = 2 * time.Second

// filesShare is the part of the open files that the process may have which is left to what is not a connection: the
// store, plugins, programs.
const filesShare = 4

// connectionLimits bounds the connections of clients. A process without a file to open loses more than connections.
func (a *App) connectionLimits(c *config.Config) netlimit.Limits {
	limits := netlimit.Limits{
		Stall: c.Server.StallTimeout, Total: c.Server.MaxConnections, PerAddress: c.Server.MaxConnectionsPerAddress,
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		return limits
	}
	if most := files.Cur - files.Cur/filesShare; uint64(limits.Total) > most {
		a.log.Debug("fewer connections than server.maxConnections are taken: the system grants too few open files",
			"connections", most, "maxConnections", limits.Total, "files", files.Cur)
		limits.Total = int(most)
	}
	return limits
}

// connectionFigures is what metrics show of the connections.
func (a *App) connectionFigures() metrics.ConnectionFigures {
	s := a.connections.Stats()
	return metrics.ConnectionFigures{Open: s.Open, Refused: s.Refused, Stalled: s.Stalled}
}
