package secret

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// Serve registers p as the SecretProvider service of a gRPC server. It closes nothing of p.
func Serve(s grpc.ServiceRegistrar, p Provider) {
	pluginv1.RegisterSecretProviderServer(s, &server{provider: p})
}

type server struct {
	pluginv1.UnimplementedSecretProviderServer
	provider Provider
}

func (s *server) Resolve(ctx context.Context, r *pluginv1.ResolveRequest) (*pluginv1.ResolveResponse, error) {
	results, err := s.provider.Resolve(ctx, refsFromProto(r.Refs), Caller{
		Component: r.Caller.GetComponent(), Pattern: r.Caller.GetPattern(),
		ExecutionID: r.Caller.GetExecutionId(), RequestID: r.Caller.GetRequestId(),
	})
	if err != nil {
		return nil, ToStatus(err)
	}
	out := &pluginv1.ResolveResponse{Results: make([]*pluginv1.SecretResult, len(results))}
	for i, res := range results {
		m := &pluginv1.SecretResult{Ref: refToProto(res.Ref)}
		switch {
		case res.Error != nil:
			m.Error = errorToProto(res.Error)
		case res.Value.IsZero(): // on the wire it would be an empty secret
			m.Error = errorToProto(Errorf(CodeInternal, "the provider returned neither a value nor an error"))
		default:
			m.Value, m.Version, m.NotAfter = res.Value.Reveal(), pluginv1.Text(res.Value.version), pluginv1.Stamp(res.Value.notAfter)
		}
		out.Results[i] = m
	}
	return out, nil
}

func (s *server) Watch(r *pluginv1.WatchRequest, stream pluginv1.SecretProvider_WatchServer) error {
	watcher, ok := s.provider.(Watcher)
	if !ok {
		return ToStatus(Errorf(CodeUnimplemented, "this provider does not tell of changes"))
	}
	ctx := stream.Context()
	changes, err := watcher.Watch(ctx, refsFromProto(r.Refs))
	if err != nil {
		return ToStatus(err)
	}
	// Next has no context: the end of the client closes what it waits on.
	stop := context.AfterFunc(ctx, func() { _ = changes.Close() })
	defer func() {
		stop()
		_ = changes.Close()
	}()
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		refs, err := changes.Next()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ToStatus(ctx.Err())
		case errors.Is(err, io.EOF):
			return nil
		default:
			return ToStatus(err)
		}
		if err := stream.Send(&pluginv1.WatchResponse{Changed: refsToProto(refs)}); err != nil {
			return err
		}
	}
}

// Client is a Provider, and a Watcher, behind a gRPC connection.
type Client struct{ rpc pluginv1.SecretProviderClient }

var (
	_ Provider = (*Client)(nil)
	_ Watcher  = (*Client)(nil)
)

// NewClient returns the provider that a connection leads to. It does not own the connection.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{rpc: pluginv1.NewSecretProviderClient(conn)}
}

// Resolve implements Provider.
func (c *Client) Resolve(ctx context.Context, refs []Ref, caller Caller) ([]Result, error) {
	r, err := c.rpc.Resolve(ctx, &pluginv1.ResolveRequest{Refs: refsToProto(refs), Caller: &pluginv1.SecretCaller{
		Component: pluginv1.Text(caller.Component), Pattern: pluginv1.Text(caller.Pattern),
		ExecutionId: pluginv1.Text(caller.ExecutionID), RequestId: pluginv1.Text(caller.RequestID),
	}})
	if err != nil {
		return nil, FromStatus(err)
	}
	if len(r.Results) != len(refs) {
		return nil, Errorf(CodeInternal, "the provider answered %d references with %d results", len(refs), len(r.Results))
	}
	out := make([]Result, len(refs))
	for i, m := range r.Results {
		out[i] = Result{Ref: refs[i], Error: errorFromProto(m.GetError())}
		if about := refFromProto(m.GetRef()); about != (Ref{}) && about != refFromProto(refToProto(refs[i])) {
			out[i].Error = Errorf(CodeInternal, "the provider answered with the result of another reference")
		}
		if out[i].Error == nil {
			data := m.GetValue()
			if data == nil { // an empty secret is a secret
				data = []byte{}
			}
			out[i].Value = NewValue(data, m.GetVersion(), pluginv1.Unstamp(m.GetNotAfter()))
		}
	}
	return out, nil
}

// Watch implements Watcher; UNIMPLEMENTED if the provider does not.
func (c *Client) Watch(ctx context.Context, refs []Ref) (ChangeStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.rpc.Watch(ctx, &pluginv1.WatchRequest{Refs: refsToProto(refs)})
	if err == nil {
		err = pluginv1.Opened(stream)
	}
	if err != nil {
		cancel()
		return nil, FromStatus(err)
	}
	return &changes{stream: stream, cancel: cancel}, nil
}

// changes is the client's end of a watch.
type changes struct {
	stream grpc.ServerStreamingClient[pluginv1.WatchResponse]
	cancel context.CancelFunc
	closed atomic.Bool
}

func (c *changes) Next() ([]Ref, error) {
	m, err := c.stream.Recv()
	if err != nil {
		c.cancel()
		if c.closed.Load() || errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, FromStatus(err)
	}
	return refsFromProto(m.Changed), nil
}

func (c *changes) Close() error {
	c.closed.Store(true)
	c.cancel()
	return nil
}

// ToStatus turns the error of a Provider into that of a gRPC call. The text of a foreign error stays behind.
func ToStatus(err error) error {
	return pluginv1.ToStatus[*Error](err, func(err error) *pluginv1.ErrorDetail { return errorToProto(AsError(err)) })
}

// FromStatus turns the error of a gRPC call into that of a Provider.
func FromStatus(err error) error {
	return pluginv1.FromStatus(err, errorFromProto)
}

func errorToProto(e *Error) *pluginv1.ErrorDetail {
	return &pluginv1.ErrorDetail{
		Code: pluginv1.Text(string(e.Code)), Message: pluginv1.Text(e.Message), Hint: pluginv1.Text(e.Hint), Retryable: e.Retry,
	}
}

func errorFromProto(d *pluginv1.ErrorDetail) *Error {
	if d = d.Clipped(); d == nil {
		return nil
	}
	return &Error{Code: Code(d.Code), Message: d.Message, Hint: d.Hint, Retry: d.Retryable}
}

func refToProto(r Ref) *pluginv1.SecretRef {
	return &pluginv1.SecretRef{Path: pluginv1.Text(r.Path), Key: pluginv1.Text(r.Key)}
}

func refsToProto(refs []Ref) []*pluginv1.SecretRef {
	out := make([]*pluginv1.SecretRef, len(refs))
	for i, r := range refs {
		out[i] = refToProto(r)
	}
	return out
}

func refsFromProto(refs []*pluginv1.SecretRef) []Ref {
	out := make([]Ref, len(refs))
	for i, r := range refs {
		out[i] = refFromProto(r)
	}
	return out
}

func refFromProto(r *pluginv1.SecretRef) Ref { return Ref{Path: r.GetPath(), Key: r.GetKey()} }
