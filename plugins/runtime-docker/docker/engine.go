package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/wardroom/wardroom/sdk/holder/life"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// callTime bounds calls of the engine that move no data.
const callTime = 30 * time.Second

// idleTime is how long an unused connection to the engine is kept.
const idleTime = 2 * time.Second

// factsTime is how long what the engine said of itself is taken for true.
const factsTime = 15 * time.Second

// engine is the container engine: its client, and what it last said of itself. Safe for concurrent use.
type engine struct {
	*client.Client
	socket string

	mu    sync.Mutex // guards what follows
	facts facts
	asked time.Time
}

// facts are what an engine says of itself.
type facts struct {
	version     string
	cpus        int
	memory      bool // holds containers to their memory
	cpu         bool
	pids        bool
	rootless    bool // its containers' root is the user that runs it
	remapped    bool // its containers have a user namespace of their own
	liveRestore bool // containers outlive it
	seccomp     bool
}

// openEngine makes the client of an engine; it calls nothing.
func openEngine(socket string) (*engine, error) {
	// Connections over a socket cost little to make anew; none is kept for long.
	transport := &http.Client{Transport: &http.Transport{IdleConnTimeout: idleTime}, CheckRedirect: client.CheckRedirect}
	c, err := client.NewClientWithOpts(client.WithHTTPClient(transport), client.WithHost("unix://"+socket), client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "socket", Message: fmt.Sprintf("%q cannot be used: %v", socket, err)}
	}
	return &engine{Client: c, socket: socket}, nil
}

// look asks the engine for its facts, unless it has told them a moment ago. SOCKET_ERROR.
func (e *engine) look(ctx context.Context) (facts, error) {
	e.mu.Lock()
	known, asked := e.facts, e.asked
	e.mu.Unlock()
	if !asked.IsZero() && time.Since(asked) < factsTime {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := e.Info(ctx)
	if err != nil {
		return facts{}, e.failed("ask the engine for what it is", err)
	}
	known = factsOf(&info)
	e.mu.Lock()
	e.facts, e.asked = known, time.Now()
	e.mu.Unlock()
	return known, nil
}

func factsOf(info *system.Info) facts {
	option := func(name string) bool {
		return slices.ContainsFunc(info.SecurityOptions, func(o string) bool { return o == "name="+name || strings.HasPrefix(o, "name="+name+",") })
	}
	return facts{
		version: info.ServerVersion, cpus: info.NCPU, memory: info.MemoryLimit, cpu: info.CPUCfsPeriod && info.CPUCfsQuota, pids: info.PidsLimit,
		rootless: option("rootless"), remapped: option("userns"), liveRestore: info.LiveRestoreEnabled, seccomp: option("seccomp"),
	}
}

// failed makes a *runtime.Error of an engine's: SOCKET_ERROR when it was not reached or did not answer, TIMEOUT when the
// caller did not wait, SPAWN_FAILED for what it refused.
func (e *engine) failed(what string, err error) error {
	var known *runtime.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return runtime.Errorf(runtime.CodeCanceled, "%s: the call was cancelled", what)
	case errors.Is(err, context.DeadlineExceeded):
		return &runtime.Error{
			Code: runtime.CodeSocketError, Message: what + ": the container engine does not answer", Retry: true,
			Hint: "look at its log; restart it if it hangs",
		}
	case notReached(err):
		hint := "start the engine, for example with systemctl start docker, or correct socket in the runtime's configuration"
		if strings.Contains(err.Error(), "permission denied") {
			hint = "let the service's user use the socket, for example by adding it to the group docker, and restart the service"
		}
		return &runtime.Error{
			Code: runtime.CodeSocketError, Retry: true, Hint: hint,
			Message: fmt.Sprintf("%s: the container engine is not reached at %s", what, e.socket),
		}
	case cerrdefs.IsUnavailable(err):
		return &runtime.Error{Code: runtime.CodeSocketError, Message: what + ": " + said(err), Retry: true}
	}
	return &runtime.Error{Code: runtime.CodeSpawnFailed, Message: what + ": " + said(err)}
}

// notReached reports whether a call found no engine, or lost it. The client says so itself, but not where it takes a connection over.
func notReached(err error) bool {
	var op *net.OpError
	return client.IsErrConnectionFailed(err) || errors.As(err, &op) && op.Op == "dial" || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// said returns the engine's text of an error, in one line.
func said(err error) string {
	return life.OneLine(strings.TrimPrefix(err.Error(), "Error response from daemon: "))
}

// refused translates the engine's refusal to make or start a container.
func (e *engine) refused(what string, err error) error {
	text := strings.ToLower(err.Error())
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	coded := func(code runtime.Code, field, hint string) error {
		return &runtime.Error{Code: code, Field: field, Message: what + ": " + said(err), Hint: hint}
	}
	switch {
	case notReached(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return e.failed(what, err)
	case has("no such image"):
		return coded(runtime.CodeImageNotFound, "image", "build or load it on this machine")
	case has("range of cpus"):
		return coded(runtime.CodeResourceLimit, "limits.cpu", "ask for less, or use a larger machine")
	case runtime.DiskFull(text), has("minimum memory limit", "cannot allocate memory", "unable to start unit", "resource temporarily unavailable"):
		return coded(runtime.CodeResourceLimit, "", "ask for other limits, or make room on the machine")
	case has("network") && has("not found", "no such", "could not find", "endpoint", "no available", "pool", "driver failed", "bridge"),
		has("iptables", "veth", "address already in use"):
		return coded(runtime.CodeNetworkError, "network", "look at the network with docker network inspect")
	case has("bind source path does not exist", "invalid mount config", "mount denied", "mounts denied"):
		return coded(runtime.CodeInvalidSpec, "volumes", "the directory may have been removed meanwhile, or the engine is on another machine")
	}
	return e.failed(what, err)
}
