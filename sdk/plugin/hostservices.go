package plugin

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/types/known/timestamppb"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
	"github.com/wardroom/wardroom/sdk/secret"
)

// HostServices holds the services of a host for one plugin. Methods may be called concurrently; they know which plugin
// asks, because each has its own value. Errors are *Error, or *secret.Error of Secret.
type HostServices interface {
	// Secret resolves a reference, if it stands in the plugin's own configuration: FORBIDDEN otherwise.
	Secret(ctx context.Context, ref string) (secret.Value, error)
	// KV is the plugin's own small store. Sizes of keys and values are checked before.
	KV
	// Log writes a record of the plugin's.
	Log(ctx context.Context, level hclog.Level, message string, fields map[string]string) error
}

// KeyServices are HostServices that have a key for what the plugin keeps.
type KeyServices interface {
	// StateKey returns StateKeySize bytes that follow from the name of the plugin and a secret of the host, and from nothing
	// that is in the plugin's own directories.
	StateKey(ctx context.Context) ([]byte, error)
}

// StateKeySize is the length of Host.StateKey, in bytes.
const StateKeySize = 32

// Featured are HostServices that have a part of what there is: Features are FeatureHostSecret and so on.
type Featured interface{ Features() []string }

// featuresOf returns what services have.
func featuresOf(services HostServices) []string {
	if f, ok := services.(Featured); ok {
		return f.Features()
	}
	if _, ok := services.(KeyServices); ok {
		return append(slices.Clone(hostFeatures), FeatureHostStateKey)
	}
	return hostFeatures
}

// hostFeatures are what all HostServices have.
var hostFeatures = []string{FeatureHostSecret, FeatureHostKV, FeatureHostLog}

// hostServer is the wire's side of HostServices.
type hostServer struct {
	pluginv1.UnimplementedHostServicesServer
	host HostServices
}

func (s *hostServer) SecretLookup(ctx context.Context, r *pluginv1.SecretLookupRequest) (*pluginv1.SecretLookupResponse, error) {
	v, err := s.host.Secret(ctx, r.Ref)
	if err != nil {
		return nil, secret.ToStatus(err)
	}
	out := &pluginv1.SecretLookupResponse{Value: v.Reveal(), Version: pluginv1.Text(v.Version())}
	if t := v.NotAfter(); !t.IsZero() {
		out.NotAfter = timestamppb.New(t)
	}
	return out, nil
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) {
		return toStatus(&Error{Code: CodeInvalidArgument, Field: "key", Message: "a key has 1 to 256 bytes of UTF-8"})
	}
	return nil
}

func (s *hostServer) KVGet(ctx context.Context, r *pluginv1.KVGetRequest) (*pluginv1.KVGetResponse, error) {
	if err := checkKey(r.Key); err != nil {
		return nil, err
	}
	value, found, err := s.host.Get(ctx, r.Key)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.KVGetResponse{Value: value, Found: found}, nil
}

func (s *hostServer) KVPut(ctx context.Context, r *pluginv1.KVPutRequest) (*pluginv1.KVPutResponse, error) {
	if err := checkKey(r.Key); err != nil {
		return nil, err
	}
	if len(r.Value) > MaxValue {
		return nil, toStatus(&Error{Code: CodeTooLarge, Field: "value", Message: "a value has at most 65536 bytes"})
	}
	if err := s.host.Put(ctx, r.Key, r.Value); err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.KVPutResponse{}, nil
}

func (s *hostServer) KVDelete(ctx context.Context, r *pluginv1.KVDeleteRequest) (*pluginv1.KVDeleteResponse, error) {
	if err := checkKey(r.Key); err != nil {
		return nil, err
	}
	if err := s.host.Delete(ctx, r.Key); err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.KVDeleteResponse{}, nil
}

func (s *hostServer) KVList(ctx context.Context, r *pluginv1.KVListRequest) (*pluginv1.KVListResponse, error) {
	keys, err := s.host.List(ctx, r.Prefix)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.KVListResponse{Keys: keys}, nil
}

func (s *hostServer) Log(ctx context.Context, r *pluginv1.LogRequest) (*pluginv1.LogResponse, error) {
	level := hclog.LevelFromString(r.Level)
	if level == hclog.NoLevel || level == hclog.Off {
		level = hclog.Info
	}
	if err := s.host.Log(ctx, level, r.Message, r.Fields); err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.LogResponse{}, nil
}

func (s *hostServer) StateKey(ctx context.Context, _ *pluginv1.StateKeyRequest) (*pluginv1.StateKeyResponse, error) {
	keys, ok := s.host.(KeyServices)
	if !ok {
		return nil, toStatus(&Error{Code: CodeUnimplemented, Message: "the host has no key for the state of plugins"})
	}
	key, err := keys.StateKey(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pluginv1.StateKeyResponse{Key: key}, nil
}
