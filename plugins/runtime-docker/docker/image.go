package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/distribution/reference"
	imagetypes "github.com/docker/docker/api/types/image"
	registrytypes "github.com/docker/docker/api/types/registry"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Times of what moves images.
const (
	pullTime = 30 * time.Minute
	loadTime = 10 * time.Minute
)

// image is one that is on the engine.
type image struct {
	id  string // its digest: what was looked up in it holds for ever
	ref string
	env []string
}

// images are the images that agents start from. Safe for concurrent use.
type images struct {
	engine     *engine
	pull       string
	registries map[string]Registry // by host
	archives   []string
	log        hclog.Logger

	ctx  context.Context // of transfers, which outlive the call that began them
	stop context.CancelFunc
	wg   sync.WaitGroup

	loaded map[string]string // archives that were loaded: what they were then; of the load under way

	mu    sync.Mutex           // guards what follows
	pulls map[string]*transfer // under way, by reference
	loads *transfer            // under way, of archives; nil: none is
}

// transfer is a pull that runs, or a load of archives.
type transfer struct {
	done chan struct{} // closed when err is set
	err  error
}

func newImages(e *engine, c *Config, log hclog.Logger) *images {
	i := &images{
		engine: e, pull: c.Pull, registries: c.Registries, archives: c.Archives, log: log,
		pulls: map[string]*transfer{}, loaded: map[string]string{},
	}
	i.ctx, i.stop = context.WithCancel(context.Background())
	return i
}

// close ends transfers.
func (i *images) close() {
	i.stop()
	i.wg.Wait()
}

// checkImage refuses what is no reference of an image.
func checkImage(ref string) error {
	if len(ref) > 512 || strings.TrimSpace(ref) != ref {
		return fmt.Errorf("%.80q is not a reference of an image", ref)
	}
	if _, err := reference.ParseNormalizedNamed(ref); err != nil {
		return fmt.Errorf("%q is not a reference of an image, such as wardroom/base:1: %w", ref, err)
	}
	return nil
}

// find returns an image, loading or pulling it as the configuration has it. IMAGE_NOT_FOUND, NETWORK_ERROR, RESOURCE_LIMIT, SOCKET_ERROR.
func (i *images) find(ctx context.Context, ref string) (image, error) {
	if i.pull == pullAlways {
		if err := i.fetch(ctx, ref); err != nil {
			return image{}, err
		}
		return i.inspect(ctx, ref)
	}
	found, err := i.inspect(ctx, ref)
	if runtime.ErrorCode(err) != runtime.CodeImageNotFound {
		return found, err
	}
	var full error // there was no room for an archive; there may be for the image
	if len(i.archives) > 0 {
		if full = i.load(ctx, ref); full != nil && runtime.ErrorCode(full) != runtime.CodeResourceLimit {
			return image{}, full
		}
		if found, err = i.inspect(ctx, ref); runtime.ErrorCode(err) != runtime.CodeImageNotFound { // whoever has loaded it
			return found, err
		}
	}
	if i.pull != pullNever {
		if err = i.fetch(ctx, ref); err == nil {
			return i.inspect(ctx, ref)
		}
	}
	if full != nil && ctx.Err() == nil && runtime.ErrorCode(err) != runtime.CodeSocketError {
		err = full
	}
	return image{}, err
}

func (i *images) inspect(ctx context.Context, ref string) (image, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := i.engine.ImageInspect(ctx, ref)
	if cerrdefs.IsNotFound(err) {
		return image{}, imageNotFound(ref, "is not on this machine", "build it (packaging/images), load it with docker load, or let the runtime pull it (pull)")
	}
	if err != nil {
		return image{}, i.engine.failed("look at the image "+ref, err)
	}
	if info.Os != "" && info.Os != "linux" {
		return image{}, imageNotFound(ref, "is for "+info.Os, "use one for linux")
	}
	found := image{id: info.ID, ref: ref}
	if info.Config != nil {
		found.env = info.Config.Env
	}
	return found, nil
}

// diskFull is the error of an image that the engine has no room for.
func diskFull(ref string, err error) error {
	return &runtime.Error{
		Code: runtime.CodeResourceLimit, Message: fmt.Sprintf("the image %s is not on this machine, and the disk of the container engine is full: %s", ref, said(err)),
		Hint: "make room there; docker system df lists what takes it", Retry: true,
	}
}

func imageNotFound(ref, why, hint string) *runtime.Error {
	return &runtime.Error{Code: runtime.CodeImageNotFound, Field: "image", Message: fmt.Sprintf("the image %s %s", ref, why), Hint: hint}
}

// fetch pulls an image, together with whoever wants the same one. Who does not wait for the end gets IMAGE_NOT_FOUND, which
// may be tried again: the pull goes on.
func (i *images) fetch(ctx context.Context, ref string) error {
	i.mu.Lock()
	t := i.pulls[ref]
	if t == nil {
		t = &transfer{done: make(chan struct{})}
		i.pulls[ref] = t
		i.wg.Go(func() {
			t.err = i.download(ref)
			i.mu.Lock()
			delete(i.pulls, ref)
			i.mu.Unlock()
			close(t.done)
		})
	}
	i.mu.Unlock()
	return t.wait(ctx, ref, "is still being pulled")
}

// wait returns the error of a transfer. Who does not wait for its end gets IMAGE_NOT_FOUND, which may be tried again.
func (t *transfer) wait(ctx context.Context, ref, why string) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		e := imageNotFound(ref, why, "try again in a while")
		e.Retry = true
		return e
	}
}

func (i *images) download(ref string) error {
	ctx, cancel := context.WithTimeout(i.ctx, pullTime)
	defer cancel()
	i.log.Info("pulling an image", "image", ref)
	auth, err := i.auth(ref)
	if err != nil {
		return err
	}
	stream, err := i.engine.ImagePull(ctx, ref, imagetypes.PullOptions{RegistryAuth: auth})
	if err == nil {
		err = drain(stream)
	}
	if err == nil {
		return nil
	}
	if failed := i.engine.failed("pull "+ref, err); runtime.ErrorCode(failed) == runtime.CodeSocketError {
		return failed
	}
	if runtime.DiskFull(err.Error()) {
		return diskFull(ref, err)
	}
	if runtime.RegistryUnreached(err.Error()) {
		return &runtime.Error{
			Code: runtime.CodeNetworkError, Field: "image", Retry: true,
			Message: fmt.Sprintf("the image %s cannot be pulled: its registry is not reached or does not answer: %s", ref, said(err)),
			Hint:    "look whether the registry runs and the engine's machine reaches it, or load the image on this machine",
		}
	}
	hint := "look whether the registry has it, or load the image on this machine"
	if cerrdefs.IsUnauthorized(err) || cerrdefs.IsPermissionDenied(err) || strings.Contains(err.Error(), "unauthorized") || strings.Contains(err.Error(), "no basic auth") {
		hint = "name a user of the registry in registries of the runtime's configuration, and look at its password"
	}
	return imageNotFound(ref, "cannot be pulled: "+said(err), hint)
}

// auth is the credential with which the registry of an image is asked; empty for none. IMAGE_NOT_FOUND where the password cannot be read.
func (i *images) auth(ref string) (string, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", imageNotFound(ref, "has no reference", "")
	}
	host := reference.Domain(named)
	as, ok := i.registries[host]
	if !ok {
		return "", nil
	}
	password, err := os.ReadFile(as.PasswordFile)
	if err != nil {
		return "", imageNotFound(ref, "cannot be pulled: the password of "+as.Username+" is not there: "+err.Error(), "look at registries."+host+".passwordFile")
	}
	return registrytypes.EncodeAuthConfig(registrytypes.AuthConfig{
		Username: as.Username, Password: strings.TrimRight(string(password), "\r\n"), ServerAddress: host,
	})
}

// drain reads the progress of a pull or a load to its end, and returns the error that it reported.
func drain(stream io.ReadCloser) error {
	defer func() { _ = stream.Close() }()
	for lines := json.NewDecoder(stream); ; {
		var line struct {
			Error string `json:"error"`
		}
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Error != "":
			return errors.New(line.Error)
		}
	}
}

// load loads the archives that were not loaded yet, or have changed since, together with whoever wants that. Who does not wait for
// the end gets IMAGE_NOT_FOUND, which may be tried again: the load goes on. RESOURCE_LIMIT where the engine had no room for one of them.
func (i *images) load(ctx context.Context, ref string) error {
	i.mu.Lock()
	t := i.loads
	if t == nil {
		t = &transfer{done: make(chan struct{})}
		i.loads = t
		i.wg.Go(func() {
			t.err = i.loadAll()
			i.mu.Lock()
			i.loads = nil
			i.mu.Unlock()
			close(t.done)
		})
	}
	i.mu.Unlock()
	err := t.wait(ctx, ref, "is not on this machine, and archives are still being loaded")
	if err != nil && runtime.DiskFull(err.Error()) {
		return diskFull(ref, err)
	}
	return err
}

// loadAll returns the error of an archive that the engine had no room for; of what else is the matter with archives the log has, as the
// image that is asked for may come from elsewhere.
func (i *images) loadAll() (full error) {
	for _, file := range i.archives {
		info, err := os.Stat(file)
		if err != nil {
			i.log.Warn("an archive of images is not there", "file", file, "error", err)
			continue
		}
		is := fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())
		if i.loaded[file] == is {
			continue
		}
		if err := i.loadFile(file); err != nil {
			i.log.Warn("an archive of images cannot be loaded", "file", file, "error", err)
			if runtime.DiskFull(err.Error()) {
				full = err
			}
			continue
		}
		i.log.Info("an archive of images was loaded", "file", file)
		i.loaded[file] = is
	}
	return full
}

func (i *images) loadFile(file string) error {
	ctx, cancel := context.WithTimeout(i.ctx, loadTime)
	defer cancel()
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	answer, err := i.engine.ImageLoad(ctx, f)
	if err != nil {
		return err
	}
	return drain(answer.Body)
}
