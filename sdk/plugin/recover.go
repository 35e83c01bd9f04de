package plugin

import (
	"cmp"
	"context"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// recovering turns a panic in a handler into INTERNAL and a record of the log with its stack: one bad call does
// not take the agents' terminals down with it.
func recovering(log hclog.Logger) []grpc.ServerOption {
	log = cmp.Or(log, hclog.Default())
	caught := func(method string, err *error) {
		if p := recover(); p != nil {
			log.Error("panic in a handler", "method", method, "panic", p, "stack", string(debug.Stack()))
			*err = toStatus(&Error{Code: CodeInternal, Message: "the plugin failed on this call; its log says how"})
			return
		}
		if status.Code(*err) == codes.Internal {
			log.Warn("a call failed for an internal reason", "method", method)
		}
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (_ any, err error) {
			defer caught(info.FullMethod, &err)
			return handle(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
			defer caught(info.FullMethod, &err)
			return handle(srv, stream)
		}),
	}
}
