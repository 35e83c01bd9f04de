package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	probeIdle = 10 * time.Second // a probe that was not asked for so long is removed
	maxKnown  = 4096             // answers that are kept; all are forgotten beyond that
	maxLinks  = 8                // symlinks that are followed
)

// probes look into images: for each a container is made, never started, and asked for its files. Safe for concurrent use.
type probes struct {
	engine *engine
	owner  string

	mu     sync.Mutex // guards what follows, and is held over the making of a probe
	known  map[probeKey]bool
	made   map[string]*probe // by image
	closed bool
	wg     sync.WaitGroup // removals
}

type probeKey struct{ image, path string }

// probe is a container that was not started.
type probe struct {
	id    string
	timer *time.Timer
}

func newProbes(e *engine, owner string) *probes {
	return &probes{engine: e, owner: owner, known: map[probeKey]bool{}, made: map[string]*probe{}}
}

// close removes what is there.
func (p *probes) close() {
	p.mu.Lock()
	p.closed = true
	for image, one := range p.made {
		one.timer.Stop()
		delete(p.made, image)
		p.wg.Go(func() { p.remove(one.id) })
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// lookPath finds a command in an image, on the PATH of an environment. CLI_NOT_FOUND, and the errors of engine.refused.
func (p *probes) lookPath(ctx context.Context, in image, name string, env []string) (string, error) {
	var candidates []string
	switch {
	case path.IsAbs(name):
		candidates = []string{path.Clean(name)}
	case name != "" && !strings.Contains(name, "/"):
		for dir := range strings.SplitSeq(variable(env, "PATH"), ":") {
			if path.IsAbs(dir) { // a relative entry would mean another command in every directory
				candidates = append(candidates, path.Join(dir, name))
			}
		}
	}
	for _, candidate := range candidates {
		if ok, err := p.executable(ctx, in, candidate); err != nil || ok {
			return candidate, err
		}
	}
	return "", &runtime.Error{
		Code: runtime.CodeCLINotFound, Message: fmt.Sprintf("the image %s has no command %q", in.ref, name),
		Hint: "use an image that has it: see image and images in the runtime's configuration",
	}
}

// variable returns the value of a variable of an environment; the last one counts.
func variable(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// executable reports whether a path of an image is a file that can be run.
func (p *probes) executable(ctx context.Context, in image, file string) (bool, error) {
	key := probeKey{in.id, file}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[key]; ok {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	ok, err := p.stat(ctx, in, file)
	if err != nil {
		return false, p.engine.refused("look for a command in the image "+in.ref, err)
	}
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[key] = ok
	return ok, nil
}

// stat asks the engine. The caller holds mu.
func (p *probes) stat(ctx context.Context, in image, file string) (bool, error) {
	for again := 0; ; again++ {
		one, err := p.probe(ctx, in)
		if err != nil {
			return false, err
		}
		at := file
		for range maxLinks {
			info, err := p.engine.ContainerStatPath(ctx, one.id, at)
			if cerrdefs.IsNotFound(err) {
				if _, err := p.engine.ContainerInspect(ctx, one.id); again > 0 || !cerrdefs.IsNotFound(err) {
					return false, err
				}
				one.timer.Stop() // somebody removed the probe
				delete(p.made, in.id)
				break
			}
			if err != nil {
				return false, err
			}
			if info.Mode&os.ModeSymlink == 0 {
				return info.Mode.IsRegular() && info.Mode&0o111 != 0, nil
			}
			if info.LinkTarget == "" || info.LinkTarget == at {
				return false, nil
			}
			at = info.LinkTarget // as seen from the root of the image
		}
		if _, there := p.made[in.id]; there {
			return false, nil // a ring of links
		}
	}
}

// probe returns the container of an image. The caller holds mu.
func (p *probes) probe(ctx context.Context, in image) (*probe, error) {
	if one := p.made[in.id]; one != nil {
		one.timer.Reset(probeIdle)
		return one, nil
	}
	if p.closed {
		return nil, errors.New("the runtime closes")
	}
	made, err := p.engine.ContainerCreate(ctx, &container.Config{
		Image: in.id, Entrypoint: []string{"/probe"}, NetworkDisabled: true,
		Labels: map[string]string{labelOwner: p.owner, labelRole: roleProbe},
	}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "wardroom-probe-"+strings.ToLower(rand.Text()[:12]))
	if err != nil {
		return nil, err
	}
	one := &probe{id: made.ID}
	one.timer = time.AfterFunc(probeIdle, func() { p.expire(in.id, one) })
	p.made[in.id] = one
	return one, nil
}

// expire removes a probe that was not asked for a while.
func (p *probes) expire(image string, one *probe) {
	p.mu.Lock()
	if p.closed || p.made[image] != one {
		p.mu.Unlock()
		return
	}
	delete(p.made, image)
	p.wg.Add(1)
	p.mu.Unlock()
	defer p.wg.Done()
	p.remove(one.id)
}

func (p *probes) remove(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	_ = p.engine.ContainerRemove(ctx, id, container.RemoveOptions{Force: true}) // the sweep takes what stays
}
