package plugin

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// hostServing is a running server of HostServices.
type hostServing struct {
	server    *grpc.Server
	connected *atomic.Bool  // the plugin has come, or has answered in a way that says so
	done      chan struct{} // closed when its goroutine has ended
	stopOnce  sync.Once
	unhook    func() bool
}

// serveHost makes sure that the host's services are there, and returns them, or nil if there are none. go-plugin
// tells the plugin of them once, and forgets after seconds: if the plugin has not come, they are offered again.
func (c *Conn) serveHost() (*hostServing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.services == nil {
		return nil, nil
	}
	if c.closed {
		return nil, &Error{Code: CodeUnavailable, Message: "the connection to the plugin is closed"}
	}
	if c.serving != nil {
		if c.serving.connected.Load() {
			return c.serving, nil
		}
		c.serving.stop()
		c.serving = nil
	}
	serving := &hostServing{connected: &atomic.Bool{}, done: make(chan struct{})}
	listening := make(chan *grpc.Server, 1)
	go func() {
		defer close(serving.done)
		c.broker.AcceptAndServe(hostServices, func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(opts, hostOptions()...)
			opts = append(opts, recovering(nil)...)
			s := grpc.NewServer(append(opts, grpc.StatsHandler(arrival{serving.connected}))...)
			pluginv1.RegisterHostServicesServer(s, &hostServer{host: c.services})
			listening <- s
			return s
		})
	}()
	select {
	case serving.server = <-listening:
	case <-serving.done:
		return nil, &Error{Code: CodeUnavailable, Message: "the plugin takes no connection for the host's services", Retry: true}
	}
	// The broker does not report a plugin that died.
	serving.unhook = context.AfterFunc(c.ctx, serving.server.Stop)
	c.serving = serving
	return serving, nil
}

// answered takes the answer of Configure: a plugin connects before it looks at the configuration, so that any
// answer of its own says that it is connected. What arrives here may be behind that.
func (s *hostServing) answered(err error) {
	if err != nil {
		switch AsError(err).Code {
		case CodeUnavailable, CodeTimeout, CodeCanceled, CodeUnimplemented:
			return
		}
	}
	s.connected.Store(true)
}

func (s *hostServing) stop() {
	s.stopOnce.Do(func() {
		s.unhook()
		s.server.Stop()
		<-s.done
	})
}

// arrival notices the first connection.
type arrival struct{ seen *atomic.Bool }

func (a arrival) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (a arrival) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (a arrival) HandleRPC(context.Context, stats.RPCStats)                         {}

func (a arrival) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnBegin); ok {
		a.seen.Store(true)
	}
}
