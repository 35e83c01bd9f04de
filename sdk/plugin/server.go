package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/wardroom/wardroom/sdk/audit"
	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// closeTimeout bounds the Close of a service that another took over from.
const closeTimeout = 10 * time.Second

// server is the base service of a plugin.
type server struct {
	pluginv1.UnimplementedPluginServer
	def    *Definition
	schema *schema
	log    hclog.Logger
	host   *pluginHost

	current *current
	// turn is held by who changes the current service; a channel, so that a waiting caller can give up.
	turn chan struct{}
	// What follows is changed by who holds turn.
	generation uint64
	config     []byte
	configured bool

	shutdown     chan struct{} // closed by the first Shutdown, when the service is closed
	shutdownOnce sync.Once
}

// newServer makes the base service of a definition that was checked.
func newServer(def *Definition, log hclog.Logger, host *pluginHost) (*server, error) {
	schema, err := compile(def.Schema)
	if err != nil {
		return nil, err
	}
	return &server{
		def: def, schema: schema, log: log, host: host, current: &current{},
		turn: make(chan struct{}, 1), shutdown: make(chan struct{}),
	}, nil
}

// serveKind registers the service of the plugin's kind.
func (s *server) serveKind(reg grpc.ServiceRegistrar) {
	switch s.def.Kind {
	case KindRuntime:
		runtime.Serve(reg, currentRuntime{s.current})
	case KindSecret:
		secret.Serve(reg, currentSecret{s.current})
	case KindAudit:
		audit.Serve(reg, currentAudit{s.current})
	}
}

func (s *server) Info(context.Context, *pluginv1.InfoRequest) (*pluginv1.InfoResponse, error) {
	return &pluginv1.InfoResponse{
		Name: s.def.Name, Version: s.def.Version, Kind: string(s.def.Kind), Features: s.def.Features, Sdk: sdkVersion(),
	}, nil
}

// sdkVersion is the version of this module in the plugin's build, for people who look for the reason of a
// difference.
func sdkVersion() string {
	const module = "github.com/wardroom/wardroom"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if info.Main.Path == module {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	return ""
}

func (s *server) Schema(context.Context, *pluginv1.SchemaRequest) (*pluginv1.SchemaResponse, error) {
	out := &pluginv1.SchemaResponse{Schema: s.def.Schema}
	for _, example := range s.def.Examples {
		out.Examples = append(out.Examples, example)
	}
	return out, nil
}

func (s *server) Validate(ctx context.Context, r *pluginv1.ValidateRequest) (*pluginv1.ValidateResponse, error) {
	return &pluginv1.ValidateResponse{Problems: problemsToProto(s.problems(ctx, r.Config))}, nil
}

// problems checks a configuration against the schema and, if it satisfies that, asks the plugin.
func (s *server) problems(ctx context.Context, config []byte) []Problem {
	problems := s.schema.check(config)
	if len(problems) == 0 && s.def.Validate != nil {
		problems = s.def.Validate(ctx, normal(config))
	}
	for i := range problems {
		if problems[i].Severity != SeverityWarning {
			problems[i].Severity = SeverityError
		}
	}
	return problems
}

func (s *server) Configure(ctx context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	if r.HostServices != 0 { // first: what the broker tells of the host is kept for seconds only
		if err := s.host.connect(ctx, r.HostServices); err != nil {
			return nil, toStatus(err)
		}
	}
	s.host.setFeatures(r.HostFeatures)
	if err := s.take(ctx); err != nil {
		return nil, toStatus(err)
	}
	defer s.release()
	select {
	case <-s.shutdown:
		return nil, toStatus(&Error{Code: CodeUnavailable, Message: "the plugin is shutting down", Retry: true})
	default:
	}
	config := normal(r.Config)
	if s.configured && r.Generation == s.generation && bytes.Equal(config, s.config) {
		return &pluginv1.ConfigureResponse{}, nil // asked again by a host that lost the answer
	}
	if s.configured && r.Generation < s.generation {
		return nil, toStatus(Errorf(CodeInvalidArgument, "generation %d is older than the present one, %d", r.Generation, s.generation))
	}
	problems := s.problems(ctx, config)
	for _, p := range problems {
		if p.Severity == SeverityError {
			return nil, toStatus(invalid(problems))
		}
	}
	service, err := s.def.Configure(ctx, json.RawMessage(bytes.Clone(config)), s.host)
	if err == nil {
		err = service.check(s.def.Kind)
	}
	if err != nil {
		s.log.Error("configuration failed", "generation", r.Generation, "error", AsError(err), "type", fmt.Sprintf("%T", err))
		return nil, toStatus(err)
	}
	former := s.current.service.Swap(&service)
	s.generation, s.config, s.configured = r.Generation, config, true
	s.log.Debug("configured", "generation", r.Generation)
	// The caller may be gone by now; what the former service holds must be let go of all the same.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	s.closeService(closing, former)
	return &pluginv1.ConfigureResponse{Problems: problemsToProto(problems)}, nil
}

func (s *server) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *server) release() { <-s.turn }

// closeService closes a service that takes no new calls any more.
func (s *server) closeService(ctx context.Context, service *Service) {
	if service == nil || service.Close == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while a service closed", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err := service.Close(ctx); err != nil {
		s.log.Warn("a service did not close cleanly", "error", AsError(err), "type", fmt.Sprintf("%T", err))
	}
}

func (s *server) Health(ctx context.Context, _ *pluginv1.HealthRequest) (*pluginv1.HealthResponse, error) {
	service := s.current.service.Load()
	if service == nil {
		return &pluginv1.HealthResponse{Status: StatusFailed, Reason: notYet}, nil
	}
	if service.Health == nil {
		return &pluginv1.HealthResponse{Status: StatusOK}, nil
	}
	h := service.Health(ctx)
	out := &pluginv1.HealthResponse{Status: pluginv1.Text(h.Status), Reason: pluginv1.Text(h.Reason)}
	out.Status = cmp.Or(out.Status, StatusOK)
	for _, c := range h.Checks {
		out.Checks = append(out.Checks, &pluginv1.HealthCheck{
			Name: pluginv1.Text(c.Name), Status: pluginv1.Text(c.Status), Text: pluginv1.Text(c.Text),
		})
	}
	return out, nil
}

func (s *server) Metrics(context.Context, *pluginv1.MetricsRequest) (*pluginv1.MetricsResponse, error) {
	service := s.current.service.Load()
	if service == nil || service.Metrics == nil {
		return &pluginv1.MetricsResponse{}, nil
	}
	return &pluginv1.MetricsResponse{Text: service.Metrics()}, nil
}

func (s *server) SetLogLevel(_ context.Context, r *pluginv1.SetLogLevelRequest) (*pluginv1.SetLogLevelResponse, error) {
	level := hclog.LevelFromString(r.Level)
	if level == hclog.NoLevel {
		return nil, toStatus(&Error{
			Code: CodeInvalidArgument, Field: "level", Message: "the level is trace, debug, info, warn, error or off",
		})
	}
	s.log.SetLevel(level)
	return &pluginv1.SetLogLevelResponse{}, nil
}

func (s *server) Shutdown(ctx context.Context, r *pluginv1.ShutdownRequest) (*pluginv1.ShutdownResponse, error) {
	if d := r.Deadline.AsDuration(); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	if err := s.end(ctx); err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.ShutdownResponse{}, nil
}

// end closes the service for good. It may be called again.
func (s *server) end(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.release()
	s.closeService(ctx, s.current.service.Swap(nil))
	s.host.close()
	s.shutdownOnce.Do(func() { close(s.shutdown) })
	return nil
}
