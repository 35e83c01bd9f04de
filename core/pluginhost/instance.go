package pluginhost

import (
	"context"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// instance is one process of a plugin with its connection.
type instance struct {
	proc    *process
	client  *goplugin.Client
	grpc    *grpc.ClientConn
	conn    *plugin.Conn
	info    plugin.Info
	words   *lastWords
	sockets string      // directory of its sockets, that go-plugin made; empty before the start
	stopped atomic.Bool // it is being ended on purpose
}

// gone reports whether calls to the instance fail because it ends.
func (i *instance) gone() bool {
	if i.stopped.Load() {
		return true
	}
	select {
	case <-i.proc.done:
		return true
	default:
		return false
	}
}

// ping asks go-plugin's health service in the plugin for an answer. late reports whether there was none within limit.
func (i *instance) ping(ctx context.Context, limit time.Duration) (answered, late bool) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := healthpb.NewHealthClient(i.grpc).Check(within, &healthpb.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	return err == nil, err != nil && within.Err() != nil
}

// end ends the process: with orderly it is asked first. It returns when nothing of its process group is left.
// What go-plugin does at the end is given its own time, as it has waited for ever in the past.
func (i *instance) end(limit time.Duration, orderly bool) {
	i.stopped.Store(true)
	asked := false
	if orderly && i.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), limit) // the caller's context has ended by now
		asked = i.conn.Shutdown(ctx) == nil
		cancel()
	}
	if !asked {
		i.proc.signal(syscall.SIGKILL)
	}
	cleaned := make(chan struct{})
	go func() {
		defer close(cleaned)
		if i.conn != nil {
			_ = i.conn.Close() // it cannot fail
		}
		i.client.Kill() // ends the connection, which ends the process, and removes the sockets of one that was started
		_ = os.RemoveAll(i.sockets)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	if i.proc.number() != 0 {
		select {
		case <-i.proc.done:
		case <-timer.C:
			i.proc.signal(syscall.SIGKILL)
			<-i.proc.done // a killed process ends
		}
	}
	timer.Reset(limit)
	select {
	case <-cleaned:
	case <-timer.C:
	}
}
