package docker

import (
	"context"
	"fmt"
	"slices"

	cerrdefs "github.com/containerd/errdefs"
	networktypes "github.com/docker/docker/api/types/network"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// chooseNetwork returns the network of an agent. INVALID_SPEC for one that a request may not name.
func (c *Config) chooseNetwork(spec *runtime.Spec) (string, error) {
	if spec.Network == "" || spec.Network == c.Network {
		return c.Network, nil
	}
	if err := checkNetwork(spec.Network); err != nil {
		return "", runtime.Invalid("network", "%v", err)
	}
	if !slices.Contains(c.Networks, spec.Network) {
		e := runtime.Invalid("network", "%q is not allowed", spec.Network)
		e.Hint = "add it to networks in the runtime's configuration"
		return "", e
	}
	return spec.Network, nil
}

// haveNetwork makes the network of agents unless it is there; others have to be. NETWORK_ERROR, SOCKET_ERROR.
func (l *Launcher) haveNetwork(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := l.engine.NetworkInspect(ctx, name, networktypes.InspectOptions{})
	if err == nil {
		return nil
	}
	if !cerrdefs.IsNotFound(err) {
		return l.engine.failed("look at the network "+name, err)
	}
	if name != l.config.Network {
		return &runtime.Error{
			Code: runtime.CodeNetworkError, Field: "network", Message: fmt.Sprintf("the network %s does not exist", name),
			Hint: "make it with docker network create " + name,
		}
	}
	_, err = l.engine.NetworkCreate(ctx, name, networktypes.CreateOptions{
		Driver: "bridge", Internal: l.config.Internal, Labels: map[string]string{labelRole: roleNetwork},
	})
	if err == nil || cerrdefs.IsConflict(err) { // somebody else made it meanwhile
		return nil
	}
	failed := l.engine.failed("make the network "+name, err)
	if runtime.ErrorCode(failed) == runtime.CodeSocketError {
		return failed
	}
	return &runtime.Error{
		Code: runtime.CodeNetworkError, Field: "network", Message: fmt.Sprintf("the network %s cannot be made: %s", name, said(err)),
		Hint: "make it by hand with docker network create " + name,
	}
}
