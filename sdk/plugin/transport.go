package plugin

import (
	"context"

	"google.golang.org/grpc"
)

// Sizes of the transport, in bytes, on both sides of a connection.
const (
	// maxMessage is above the largest answer: ten thousand agents.
	maxMessage = 64 << 20
	// streamWindow is how far one stream may run ahead of its reader: enough for full speed on a local socket,
	// and little enough that a terminal which stalls gets its repaint soon.
	streamWindow = 512 << 10
	// connWindow is that of all streams together. gRPC opens it as bytes arrive, read or not, so a stalled
	// stream takes nothing of it away from the others.
	connWindow = 8 << 20
	bufferSize = 128 << 10

	// maxBase is above the largest answer of the base service, which a host asks of a plugin every few seconds.
	maxBase = 16 << 20
	// hostMessage is above the largest request of a plugin to its host, and hostCalls how many of them are served at once on a
	// connection: a plugin that makes them without end fills its own memory.
	hostMessage = 1 << 20
	hostCalls   = 100
)

// GRPCDialOptions returns the options that a host gives to go-plugin for its connections to plugins.
func GRPCDialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithReadBufferSize(bufferSize),
		grpc.WithWriteBufferSize(bufferSize),
		grpc.WithIdleTimeout(0), // the connection is a local process, which does not come and go
	}
}

// serverOptions is the same for the side that accepts.
func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connWindow),
		grpc.ReadBufferSize(bufferSize),
		grpc.WriteBufferSize(bufferSize),
	}
}

// hostOptions is serverOptions for what a host serves to a plugin.
func hostOptions() []grpc.ServerOption {
	return append(serverOptions(), grpc.MaxRecvMsgSize(hostMessage), grpc.MaxConcurrentStreams(hostCalls))
}

// base is a connection that takes no answers larger than those of the base service.
type base struct{ *grpc.ClientConn }

// Invoke implements grpc.ClientConnInterface.
func (b base) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return b.ClientConn.Invoke(ctx, method, args, reply, append(opts, grpc.MaxCallRecvMsgSize(maxBase))...)
}
