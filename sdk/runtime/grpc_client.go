package runtime

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// client is a Runtime behind a gRPC connection.
type client struct{ rpc pluginv1.RuntimeClient }

var _ Runtime = (*client)(nil)

// NewClient returns the Runtime that a gRPC connection leads to. It does not own the connection; streams end
// when it is closed.
func NewClient(conn grpc.ClientConnInterface) Runtime {
	return &client{rpc: pluginv1.NewRuntimeClient(conn)}
}

func (c *client) Capabilities(ctx context.Context) (Capabilities, error) {
	r, err := c.rpc.Capabilities(ctx, &pluginv1.CapabilitiesRequest{})
	if err != nil {
		return Capabilities{}, FromStatus(err)
	}
	return Capabilities{
		Name: r.Name, Types: r.Types, Attach: r.Attach, Resize: r.Resize, Recover: r.Recover, Limits: r.Limits,
		Images: r.Images, MaxAgents: int(r.MaxAgents), Isolation: isolationFromProto(r.Isolation), MissingTypes: commandsFromProto(r.Commands),
	}, nil
}

func (c *client) Spawn(ctx context.Context, spec Spec) (Agent, error) {
	msg, err := specToProto(&spec)
	if err != nil {
		return Agent{}, err
	}
	r, err := c.rpc.Spawn(ctx, &pluginv1.SpawnRequest{Spec: msg})
	if err != nil {
		return Agent{}, FromStatus(err)
	}
	return agentFromProto(r.Agent), nil
}

func (c *client) Stop(ctx context.Context, id string, opts StopOptions) error {
	_, err := c.rpc.Stop(ctx, &pluginv1.StopRequest{Id: text(id), Grace: duration(opts.Grace), Force: opts.Force})
	return FromStatus(err)
}

func (c *client) Restart(ctx context.Context, id string, opts RestartOptions) (Agent, error) {
	r, err := c.rpc.Restart(ctx, &pluginv1.RestartRequest{Id: text(id), Fresh: opts.Fresh})
	if err != nil {
		return Agent{}, FromStatus(err)
	}
	return agentFromProto(r.Agent), nil
}

func (c *client) Inspect(ctx context.Context, id string) (Agent, error) {
	r, err := c.rpc.Inspect(ctx, &pluginv1.InspectRequest{Id: text(id)})
	if err != nil {
		return Agent{}, FromStatus(err)
	}
	return agentFromProto(r.Agent), nil
}

func (c *client) List(ctx context.Context, filter ListFilter) ([]Agent, error) {
	r, err := c.rpc.List(ctx, &pluginv1.ListRequest{Installation: text(filter.Installation), Labels: textMap(filter.Labels)})
	if err != nil {
		return nil, FromStatus(err)
	}
	out := make([]Agent, len(r.Agents))
	for i, a := range r.Agents {
		out[i] = agentFromProto(a)
	}
	return out, nil
}

func (c *client) Send(ctx context.Context, id string, in Input) (SendResult, error) {
	r, err := c.rpc.Send(ctx, &pluginv1.SendRequest{
		Id: text(id), Message: text(in.Message), Raw: []byte(in.Raw), Keys: texts(in.Keys), ExpectResponse: in.ExpectResponse,
		Timeout: duration(in.Timeout), InputId: text(in.ID), Interrupt: in.Interrupt,
	})
	if err != nil {
		return SendResult{}, FromStatus(err)
	}
	out := SendResult{Sent: r.Sent}
	if r.Response != nil {
		out.Response = &Response{
			Text: r.Response.Text, Turn: int(r.Response.Turn), DurationMs: r.Response.DurationMs,
			TurnOutcome: outcomeFromProto(r.Response.Outcome),
		}
	}
	return out, nil
}

func (c *client) Answer(ctx context.Context, id string, answer Answer) error {
	_, err := c.rpc.Answer(ctx, &pluginv1.AnswerRequest{
		Id: text(id), PromptId: text(answer.PromptID), Choice: text(answer.Choice), Text: text(answer.Text),
	})
	return FromStatus(err)
}

func (c *client) Metrics(ctx context.Context, id string) (Metrics, error) {
	r, err := c.rpc.AgentMetrics(ctx, &pluginv1.AgentMetricsRequest{Id: text(id)})
	if err != nil {
		return Metrics{}, FromStatus(err)
	}
	return Metrics{
		CPUPercent: finite(r.CpuPercent), MemoryBytes: r.MemoryBytes, MemoryLimitBytes: r.MemoryLimitBytes,
		UptimeSeconds: finite(r.UptimeSeconds), MessagesSent: r.MessagesSent, LastResponseMs: r.LastResponseMs,
	}, nil
}

func (c *client) Recover(ctx context.Context, handles []Handle) ([]Recovered, error) {
	req := &pluginv1.RecoverRequest{Handles: make([]*pluginv1.Handle, len(handles))}
	for i, h := range handles {
		req.Handles[i] = &pluginv1.Handle{Id: text(h.ID), Data: h.Data}
	}
	r, err := c.rpc.Recover(ctx, req)
	if err != nil {
		return nil, FromStatus(err)
	}
	if len(r.Results) != len(handles) {
		return nil, Errorf(CodeInternal, "the runtime answered %d handles with %d results", len(handles), len(r.Results))
	}
	out := make([]Recovered, len(r.Results))
	for i, res := range r.Results {
		out[i] = Recovered{Handle: handleFromProto(res.GetHandle()), Error: errorFromProto(res.GetError())}
		if res.GetAgent() != nil {
			a := agentFromProto(res.Agent)
			out[i].Agent = &a
		}
	}
	return out, nil
}

func (c *client) Prune(ctx context.Context, opts PruneOptions) (PruneReport, error) {
	r, err := c.rpc.Prune(ctx, &pluginv1.PruneRequest{
		Installation: text(opts.Installation), Keep: texts(opts.Keep), Grace: duration(opts.Grace), DryRun: opts.DryRun,
	})
	if err != nil {
		return PruneReport{}, FromStatus(err)
	}
	return PruneReport{Removed: r.Removed, Stopped: r.Stopped, Left: r.Left}, nil
}

func (c *client) Logs(ctx context.Context, id string, opts LogOptions) (LogStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.rpc.Logs(ctx, &pluginv1.LogsRequest{
		Id: text(id), Tail: number(opts.Tail), Since: pluginv1.Stamp(opts.Since), Follow: opts.Follow,
	})
	if err == nil {
		err = pluginv1.Opened(stream)
	}
	if err != nil {
		cancel()
		return nil, FromStatus(err)
	}
	return &logStream{stream: stream, lease: lease{cancel: cancel}}, nil
}

func (c *client) Events(ctx context.Context, opts EventOptions) (EventStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.rpc.Events(ctx, &pluginv1.EventsRequest{AgentId: text(opts.AgentID), After: opts.After, Log: text(opts.Log), Live: opts.Live})
	if err == nil {
		err = pluginv1.Opened(stream)
	}
	if err != nil {
		cancel()
		return nil, FromStatus(err)
	}
	return &eventStream{stream: stream, lease: lease{cancel: cancel}}, nil
}

// lease is the client's hold on a stream.
type lease struct {
	cancel context.CancelFunc
	closed atomic.Bool
}

// end is the error of Next once the stream ended with err: nothing is read after it.
func (l *lease) end(err error) error {
	l.cancel()
	if l.closed.Load() || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return FromStatus(err)
}

// Close lets go of the stream.
func (l *lease) Close() error {
	l.closed.Store(true)
	l.cancel()
	return nil
}

type logStream struct {
	stream grpc.ServerStreamingClient[pluginv1.LogsResponse]
	lease
}

func (s *logStream) Next() (LogLine, error) {
	r, err := s.stream.Recv()
	if err != nil {
		return LogLine{}, s.end(err)
	}
	return LogLine{Timestamp: pluginv1.Unstamp(r.Timestamp), Stream: r.Stream, Line: r.Line}, nil
}

type eventStream struct {
	stream grpc.ServerStreamingClient[pluginv1.EventsResponse]
	lease
}

func (s *eventStream) Next() (Event, error) {
	r, err := s.stream.Recv()
	if err != nil {
		return Event{}, s.end(err)
	}
	return eventFromProto(r.Event), nil
}
