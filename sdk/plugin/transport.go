package plugin

import (
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
