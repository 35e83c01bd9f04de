package audit

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// MaxBatchBytes is about what one message to a sink holds; the client divides larger batches.
const MaxBatchBytes = 4 << 20

// Serve registers sink as the AuditSink service of a gRPC server. It closes nothing of it.
func Serve(s grpc.ServiceRegistrar, sink Sink) {
	pluginv1.RegisterAuditSinkServer(s, &server{sink: sink})
}

type server struct {
	pluginv1.UnimplementedAuditSinkServer
	sink Sink
}

func (s *server) Open(ctx context.Context, r *pluginv1.OpenRequest) (*pluginv1.OpenResponse, error) {
	last, err := s.sink.Open(ctx, r.From)
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.OpenResponse{LastDurable: last}, nil
}

func (s *server) Write(ctx context.Context, r *pluginv1.WriteRequest) (*pluginv1.WriteResponse, error) {
	batch := make([]Record, len(r.Records))
	for i, m := range r.Records {
		batch[i] = Record{Sequence: m.GetSequence(), JSON: m.GetJson()}
		if m.GetTime() != nil {
			batch[i].Time = m.Time.AsTime()
		}
	}
	if err := CheckGaps(batch); err != nil {
		return nil, ToStatus(err)
	}
	last, err := s.sink.Write(ctx, batch)
	return &pluginv1.WriteResponse{LastDurable: last, Error: failure(err)}, nil
}

func (s *server) Flush(ctx context.Context, _ *pluginv1.FlushRequest) (*pluginv1.FlushResponse, error) {
	last, err := s.sink.Flush(ctx)
	return &pluginv1.FlushResponse{LastDurable: last, Error: failure(err)}, nil
}

// failure puts an error beside the sequence that counts all the same.
func failure(err error) *pluginv1.ErrorDetail {
	if err == nil {
		return nil
	}
	return pluginv1.Detail(ToStatus(err))
}

// client is a Sink behind a gRPC connection.
type client struct{ rpc pluginv1.AuditSinkClient }

var _ Sink = (*client)(nil)

// NewClient returns the sink that a connection leads to. It does not own the connection.
func NewClient(conn grpc.ClientConnInterface) Sink {
	return &client{rpc: pluginv1.NewAuditSinkClient(conn)}
}

func (c *client) Open(ctx context.Context, from uint64) (uint64, error) {
	r, err := c.rpc.Open(ctx, &pluginv1.OpenRequest{From: from})
	if err != nil {
		return 0, FromStatus(err)
	}
	return r.LastDurable, nil
}

// Write sends the batch in messages of a size that plugins take, and stops at the first that fails.
func (c *client) Write(ctx context.Context, batch []Record) (uint64, error) {
	var last uint64
	for first := true; first || len(batch) > 0; first = false {
		n := fitting(batch)
		req := &pluginv1.WriteRequest{Records: make([]*pluginv1.AuditRecord, n)}
		for i, r := range batch[:n] {
			req.Records[i] = &pluginv1.AuditRecord{Sequence: r.Sequence, Json: r.JSON}
			if !r.Time.IsZero() {
				req.Records[i].Time = timestamppb.New(r.Time)
			}
		}
		r, err := c.rpc.Write(ctx, req)
		if err != nil {
			return last, FromStatus(err)
		}
		last = max(last, r.LastDurable)
		if r.Error != nil {
			return last, errorFromProto(r.Error)
		}
		batch = batch[n:]
	}
	return last, nil
}

// fitting is how many records go into one message: at least one.
func fitting(batch []Record) int {
	size := 0
	for i, r := range batch {
		size += len(r.JSON) + 48
		if size > MaxBatchBytes && i > 0 {
			return i
		}
	}
	return len(batch)
}

func (c *client) Flush(ctx context.Context) (uint64, error) {
	r, err := c.rpc.Flush(ctx, &pluginv1.FlushRequest{})
	if err != nil {
		return 0, FromStatus(err)
	}
	if r.Error != nil {
		return r.LastDurable, errorFromProto(r.Error)
	}
	return r.LastDurable, nil
}

// ToStatus turns the error of a Sink into that of a gRPC call. The text of a foreign error stays behind.
func ToStatus(err error) error {
	return pluginv1.ToStatus[*Error](err, func(err error) *pluginv1.ErrorDetail {
		e := AsError(err)
		return &pluginv1.ErrorDetail{Code: string(e.Code), Message: e.Message, Hint: e.Hint, Retryable: e.Retry}
	})
}

// FromStatus turns the error of a gRPC call into that of a Sink.
func FromStatus(err error) error {
	return pluginv1.FromStatus(err, errorFromProto)
}

func errorFromProto(d *pluginv1.ErrorDetail) *Error {
	d = d.Clipped()
	return &Error{Code: Code(d.Code), Message: d.Message, Hint: d.Hint, Retry: d.Retryable}
}
