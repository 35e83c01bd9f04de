package runtime

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// Serve registers rt as the Runtime service of a gRPC server. Streams end with their context, so the server
// must cancel those that run when it stops; it closes nothing of rt.
func Serve(s grpc.ServiceRegistrar, rt Runtime) { pluginv1.RegisterRuntimeServer(s, &server{rt: rt}) }

// server is the wire's side of a Runtime.
type server struct {
	pluginv1.UnimplementedRuntimeServer
	rt Runtime
}

func (s *server) Capabilities(ctx context.Context, _ *pluginv1.CapabilitiesRequest) (*pluginv1.CapabilitiesResponse, error) {
	c, err := s.rt.Capabilities(ctx)
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.CapabilitiesResponse{
		Name: text(c.Name), Types: texts(c.Types), Attach: c.Attach, Resize: c.Resize, Recover: c.Recover, Limits: c.Limits,
		Images: c.Images, MaxAgents: number(c.MaxAgents), Isolation: isolationToProto(c.Isolation), Commands: commandsToProto(c.MissingTypes),
	}, nil
}

func (s *server) Spawn(ctx context.Context, r *pluginv1.SpawnRequest) (*pluginv1.SpawnResponse, error) {
	a, err := s.rt.Spawn(ctx, specFromProto(r.Spec))
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.SpawnResponse{Agent: agentToProto(&a)}, nil
}

func (s *server) Stop(ctx context.Context, r *pluginv1.StopRequest) (*pluginv1.StopResponse, error) {
	if err := s.rt.Stop(ctx, r.Id, StopOptions{Grace: r.Grace.AsDuration(), Force: r.Force}); err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.StopResponse{}, nil
}

func (s *server) Restart(ctx context.Context, r *pluginv1.RestartRequest) (*pluginv1.RestartResponse, error) {
	a, err := s.rt.Restart(ctx, r.Id, RestartOptions{Fresh: r.Fresh})
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.RestartResponse{Agent: agentToProto(&a)}, nil
}

func (s *server) Inspect(ctx context.Context, r *pluginv1.InspectRequest) (*pluginv1.InspectResponse, error) {
	a, err := s.rt.Inspect(ctx, r.Id)
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.InspectResponse{Agent: agentToProto(&a)}, nil
}

func (s *server) List(ctx context.Context, r *pluginv1.ListRequest) (*pluginv1.ListResponse, error) {
	agents, err := s.rt.List(ctx, ListFilter{Installation: r.Installation, Labels: r.Labels})
	if err != nil {
		return nil, ToStatus(err)
	}
	out := &pluginv1.ListResponse{Agents: make([]*pluginv1.Agent, len(agents))}
	for i := range agents {
		out.Agents[i] = agentToProto(&agents[i])
	}
	return out, nil
}

func (s *server) Send(ctx context.Context, r *pluginv1.SendRequest) (*pluginv1.SendResponse, error) {
	res, err := s.rt.Send(ctx, r.Id, Input{
		Message: r.Message, Raw: string(r.Raw), Keys: r.Keys, ExpectResponse: r.ExpectResponse,
		Timeout: r.Timeout.AsDuration(), ID: r.InputId, Interrupt: r.Interrupt,
	})
	if err != nil {
		return nil, ToStatus(err)
	}
	out := &pluginv1.SendResponse{Sent: res.Sent}
	if res.Response != nil {
		out.Response = &pluginv1.TurnResponse{
			Text: text(res.Response.Text), Turn: int64(res.Response.Turn), DurationMs: res.Response.DurationMs,
			Outcome: outcomeToProto(&res.Response.TurnOutcome),
		}
	}
	return out, nil
}

func (s *server) Answer(ctx context.Context, r *pluginv1.AnswerRequest) (*pluginv1.AnswerResponse, error) {
	if err := s.rt.Answer(ctx, r.Id, Answer{PromptID: r.PromptId, Choice: r.Choice, Text: r.Text}); err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.AnswerResponse{}, nil
}

func (s *server) AgentMetrics(ctx context.Context, r *pluginv1.AgentMetricsRequest) (*pluginv1.AgentMetricsResponse, error) {
	m, err := s.rt.Metrics(ctx, r.Id)
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.AgentMetricsResponse{
		CpuPercent: m.CPUPercent, MemoryBytes: m.MemoryBytes, MemoryLimitBytes: m.MemoryLimitBytes,
		UptimeSeconds: m.UptimeSeconds, MessagesSent: m.MessagesSent, LastResponseMs: m.LastResponseMs,
	}, nil
}

func (s *server) Recover(ctx context.Context, r *pluginv1.RecoverRequest) (*pluginv1.RecoverResponse, error) {
	handles := make([]Handle, len(r.Handles))
	for i, h := range r.Handles {
		handles[i] = handleFromProto(h)
	}
	results, err := s.rt.Recover(ctx, handles)
	if err != nil {
		return nil, ToStatus(err)
	}
	out := &pluginv1.RecoverResponse{Results: make([]*pluginv1.Recovered, len(results))}
	for i, res := range results {
		out.Results[i] = &pluginv1.Recovered{Handle: handleToProto(res.Handle), Error: errorToProto(res.Error)}
		if res.Agent != nil {
			out.Results[i].Agent = agentToProto(res.Agent)
		}
	}
	return out, nil
}

func (s *server) Prune(ctx context.Context, r *pluginv1.PruneRequest) (*pluginv1.PruneResponse, error) {
	report, err := s.rt.Prune(ctx, PruneOptions{
		Installation: r.Installation, Keep: r.Keep, Grace: r.Grace.AsDuration(), DryRun: r.DryRun,
	})
	if err != nil {
		return nil, ToStatus(err)
	}
	return &pluginv1.PruneResponse{
		Removed: texts(report.Removed), Stopped: texts(report.Stopped), Left: texts(report.Left),
	}, nil
}

func (s *server) Logs(r *pluginv1.LogsRequest, stream pluginv1.Runtime_LogsServer) error {
	ctx := stream.Context()
	lines, err := s.rt.Logs(ctx, r.Id, LogOptions{Tail: int(r.Tail), Since: pluginv1.Unstamp(r.Since), Follow: r.Follow})
	if err != nil {
		return ToStatus(err)
	}
	return pump(ctx, stream, lines, func() error {
		line, err := lines.Next()
		if err != nil {
			return err
		}
		return stream.Send(&pluginv1.LogsResponse{
			Timestamp: pluginv1.Stamp(line.Timestamp), Stream: text(line.Stream), Line: text(line.Line),
		})
	})
}

func (s *server) Events(r *pluginv1.EventsRequest, stream pluginv1.Runtime_EventsServer) error {
	ctx := stream.Context()
	events, err := s.rt.Events(ctx, EventOptions{AgentID: r.AgentId, After: r.After, Log: r.Log, Live: r.Live})
	if err != nil {
		return ToStatus(err)
	}
	return pump(ctx, stream, events, func() error {
		event, err := events.Next()
		if err != nil {
			return err
		}
		return stream.Send(&pluginv1.EventsResponse{Event: eventToProto(&event)})
	})
}

// pump tells the client that the stream is open and steps until its end. Next has no context, so the end of
// the client closes what it waits on.
func pump(ctx context.Context, stream grpc.ServerStream, source io.Closer, step func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = source.Close() })
	defer func() {
		stop()
		_ = source.Close()
	}()
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	for {
		err := step()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ToStatus(ctx.Err())
		case errors.Is(err, io.EOF):
			return nil
		default:
			return ToStatus(err)
		}
	}
}
