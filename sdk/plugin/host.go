package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
	"github.com/wardroom/wardroom/sdk/secret"
)

// pluginHost is the host as the plugin's process sees it.
type pluginHost struct {
	log                    hclog.Logger
	name, runDir, stateDir string
	private                []string
	workspaces             string
	broker                 *goplugin.GRPCBroker // set before anything is served

	mu       sync.Mutex // guards what follows
	conn     *grpc.ClientConn
	rpc      pluginv1.HostServicesClient
	features []string
	closed   bool
}

var (
	_ Host = (*pluginHost)(nil)
	_ KV   = (*pluginHost)(nil)
)

// connect dials the host's services, and waits until they are reached: a host that sees no connection offers
// them anew. The broker hands out an address once, so the connection is kept.
func (h *pluginHost) connect(ctx context.Context, id uint32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil || h.closed {
		return nil
	}
	conn, err := h.broker.DialWithOptions(id, GRPCDialOptions()...)
	if err == nil {
		err = ready(ctx, conn)
	}
	if err != nil {
		h.log.Error("the host's services are not reachable", "error", err)
		return &Error{Code: CodeUnavailable, Message: "the host's services are not reachable from the plugin", Retry: true}
	}
	h.conn, h.rpc = conn, pluginv1.NewHostServicesClient(conn)
	return nil
}

// connectTimeout bounds a connection to the host, which is a local socket.
const connectTimeout = 5 * time.Second

// ready waits for a connection, and closes it if it does not come.
func ready(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		state := conn.GetState()
		if state == connectivity.Ready {
			return nil
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			_ = conn.Close()
			return fmt.Errorf("the connection is %s: %w", state, ctx.Err())
		}
	}
}

func (h *pluginHost) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.conn != nil {
		_ = h.conn.Close()
	}
}

func (h *pluginHost) client() (pluginv1.HostServicesClient, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rpc == nil {
		return nil, Errorf(CodeUnimplemented, "the host has no services for plugins")
	}
	return h.rpc, nil
}

// setFeatures takes what the host can do; it says so with each configuration.
func (h *pluginHost) setFeatures(features []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.features = features
}

// Has implements Host.
func (h *pluginHost) Has(feature string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.features, feature)
}

func (h *pluginHost) Logger() hclog.Logger { return h.log }
func (h *pluginHost) Name() string         { return h.name }
func (h *pluginHost) RunDir() string       { return h.runDir }
func (h *pluginHost) StateDir() string     { return h.stateDir }
func (h *pluginHost) Private() []string    { return h.private }
func (h *pluginHost) Workspaces() string   { return h.workspaces }
func (h *pluginHost) KV() KV               { return h }

// Secret returns *secret.Error, as everything that resolves secrets does.
func (h *pluginHost) Secret(ctx context.Context, ref string) (secret.Value, error) {
	rpc, err := h.client()
	if err != nil {
		return secret.Value{}, secret.Errorf(secret.CodeUnimplemented, "the host resolves no secrets for plugins")
	}
	r, err := rpc.SecretLookup(ctx, &pluginv1.SecretLookupRequest{Ref: pluginv1.Text(ref)})
	if err != nil {
		return secret.Value{}, secret.FromStatus(err)
	}
	data, notAfter := r.Value, time.Time{}
	if data == nil {
		data = []byte{}
	}
	if r.NotAfter != nil {
		notAfter = r.NotAfter.AsTime()
	}
	return secret.NewValue(data, r.Version, notAfter), nil
}

func (h *pluginHost) Get(ctx context.Context, key string) ([]byte, bool, error) {
	rpc, err := h.client()
	if err != nil {
		return nil, false, err
	}
	r, err := rpc.KVGet(ctx, &pluginv1.KVGetRequest{Key: pluginv1.Text(key)})
	if err != nil {
		return nil, false, fromStatus(err)
	}
	return r.Value, r.Found, nil
}

func (h *pluginHost) Put(ctx context.Context, key string, value []byte) error {
	rpc, err := h.client()
	if err != nil {
		return err
	}
	_, err = rpc.KVPut(ctx, &pluginv1.KVPutRequest{Key: pluginv1.Text(key), Value: value})
	return fromStatus(err)
}

func (h *pluginHost) Delete(ctx context.Context, key string) error {
	rpc, err := h.client()
	if err != nil {
		return err
	}
	_, err = rpc.KVDelete(ctx, &pluginv1.KVDeleteRequest{Key: pluginv1.Text(key)})
	return fromStatus(err)
}

func (h *pluginHost) List(ctx context.Context, prefix string) ([]string, error) {
	rpc, err := h.client()
	if err != nil {
		return nil, err
	}
	r, err := rpc.KVList(ctx, &pluginv1.KVListRequest{Prefix: pluginv1.Text(prefix)})
	if err != nil {
		return nil, fromStatus(err)
	}
	return r.Keys, nil
}

func (h *pluginHost) Report(ctx context.Context, level hclog.Level, message string, fields map[string]string) error {
	rpc, err := h.client()
	if err != nil {
		return err
	}
	clean := make(map[string]string, len(fields))
	for k, v := range fields {
		clean[pluginv1.Text(k)] = pluginv1.Text(v)
	}
	_, err = rpc.Log(ctx, &pluginv1.LogRequest{Level: level.String(), Message: pluginv1.Text(message), Fields: clean})
	return fromStatus(err)
}

// StateKey implements Host.
func (h *pluginHost) StateKey(ctx context.Context) ([]byte, error) {
	rpc, err := h.client()
	if err != nil {
		return nil, err
	}
	r, err := rpc.StateKey(ctx, &pluginv1.StateKeyRequest{})
	if err != nil {
		return nil, fromStatus(err)
	}
	if len(r.Key) != StateKeySize {
		return nil, Errorf(CodeInternal, "the host gave a key of another length")
	}
	return r.Key, nil
}
