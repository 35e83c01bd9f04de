package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// module is a plugin's module outside of the repository.
type module struct {
	runtime string // its name; the plugin is runtime-NAME
	dir     string
}

func (m module) plugin() string { return "runtime-" + m.runtime }

// rig is one run.
type rig struct {
	o         options
	out       io.Writer
	root      string // of the repository
	dir       string // outside of it
	sdk       string
	example   module
	outsider  module
	appliance *appliance
}

func newRig(o options, out io.Writer) (*rig, error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "outside-")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if strings.HasPrefix(dir+"/", root+"/") {
		return nil, errors.Join(fmt.Errorf("%s lies inside of the repository; set TMPDIR", dir), os.RemoveAll(dir))
	}
	return &rig{
		o: o, out: out, root: root, dir: dir, sdk: filepath.Join(dir, "wardroom"),
		example:  module{"example", filepath.Join(dir, "example")},
		outsider: module{"outsider", filepath.Join(dir, "outsider")},
	}, nil
}

// run makes every step, and stops at the first that fails.
func (r *rig) run(ctx context.Context) (err error) {
	defer func() {
		if r.appliance != nil {
			err = errors.Join(err, r.appliance.stop())
		}
		if err == nil && !r.o.keep {
			err = os.RemoveAll(r.dir)
		} else {
			_, _ = fmt.Fprintf(r.out, "left for you to look at: %s\n", r.dir)
		}
	}()
	begin := time.Now()
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"wardroom is built", r.build},
		{"the sdk stands alone", r.export},
		{"the example is taken out", r.takeExample},
		{"a runtime is scaffolded", r.scaffold},
		{"the example builds and passes its tests", func(ctx context.Context) error { return r.check(ctx, r.example) }},
		{"the scaffolded runtime builds and passes its tests", func(ctx context.Context) error { return r.check(ctx, r.outsider) }},
		{"the scaffolded runtime is packaged", r.pack},
		{"an appliance starts that names both, and has neither", r.serve},
		{"the package is installed, verified and enabled", r.install},
		{"the commands of docs/plugins.md do what they say", r.page},
		{"an agent on runtime-example answers", func(ctx context.Context) error { return r.appliance.talk(ctx, r.example.runtime) }},
		{"an agent on runtime-outsider answers", func(ctx context.Context) error { return r.appliance.talk(ctx, r.outsider.runtime) }},
	} {
		from := time.Now()
		err := step.run(ctx)
		took := time.Since(from).Seconds()
		if err != nil {
			_, _ = fmt.Fprintf(r.out, "FAILED %6.1fs  %s\n", took, step.name)
			return fmt.Errorf("%s: %w", step.name, err)
		}
		_, _ = fmt.Fprintf(r.out, "ok     %6.1fs  %s\n", took, step.name)
	}
	_, _ = fmt.Fprintf(r.out, "all passed in %.1fs\n", time.Since(begin).Seconds())
	return nil
}

// command runs a program in a directory and returns what it printed; a failure carries all of that.
func (r *rig) command(ctx context.Context, dir string, args ...string) (string, error) {
	program := args[0]
	if program == "wardroom" {
		program = r.o.wardroom
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Dir = dir
	// The copies are no repositories: what another program left as .git in a folder above must not stop a build.
	// Nor is there a network, nor a module that somebody fetched before.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false",
		"GOPROXY=off", "GOMODCACHE="+filepath.Join(r.dir, "modules"),
		"PATH="+filepath.Dir(r.o.wardroom)+":"+os.Getenv("PATH"))
	if r.appliance != nil {
		cmd.Env = append(cmd.Env, "WARDROOM_SERVER="+r.appliance.URL)
	}
	cmd.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s (in %s): %w\n%s", strings.Join(args, " "), dir, err, out.Bytes())
	}
	return out.String(), nil
}

func (r *rig) build(ctx context.Context) (err error) {
	dir := filepath.Join(r.dir, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if r.o.wardroom == "" && os.Getenv(testbed.Built) == "" { // else make build put the sdk into it
		if err := packSDK(ctx, r.root, filepath.Join(r.root, "appliance", "scaffold", "bundle", "sdk.tar.zst")); err != nil {
			return err
		}
	}
	r.o.wardroom, err = testbed.Product(ctx, r.o.wardroom, dir)
	return err
}

// export also looks that nothing else of ours is there, and that the sdk needs nothing else.
func (r *rig) export(ctx context.Context) error {
	if _, err := r.command(ctx, r.dir, "wardroom", "plugin", "sdk", r.sdk); err != nil {
		return err
	}
	for _, name := range []string{"core", "appliance", "plugins", "scripts", "configs"} {
		if _, err := os.Stat(filepath.Join(r.sdk, name)); err == nil {
			return fmt.Errorf("%s went along with the sdk", name)
		}
	}
	_, err := r.command(ctx, r.sdk, "go", "build", "./...")
	return err
}

// sources leaves out what builds left.
func sources(_ string, entry fs.DirEntry) bool { return entry.Name() != "runtime-example" }

func (r *rig) takeExample(ctx context.Context) error {
	if err := copyTree(filepath.Join(r.root, "plugins", "example"), r.example.dir, sources); err != nil {
		return err
	}
	_, err := r.command(ctx, r.example.dir, "sh", "../wardroom/use.sh")
	return err
}

func (r *rig) scaffold(ctx context.Context) error {
	_, err := r.command(ctx, r.dir, "wardroom", "plugin", "new", "runtime", r.outsider.runtime, "--dir", "outsider")
	return err
}

// check runs the first commands of the module's README, which build and test it.
func (r *rig) check(ctx context.Context, m module) error {
	commands, err := readmeCommands(filepath.Join(m.dir, "README.md"))
	if err != nil {
		return err
	}
	for _, command := range commands {
		if _, err := r.command(ctx, m.dir, "sh", "-c", command); err != nil {
			return err
		}
	}
	version, err := r.command(ctx, m.dir, "./"+m.plugin(), "-version")
	if err == nil && !strings.HasPrefix(version, m.plugin()+" ") {
		err = fmt.Errorf("the binary says that it is %q", version)
	}
	return err
}

// pack makes the archive of the scaffolded plugin, as its author would.
func (r *rig) pack(ctx context.Context) error {
	dir := filepath.Join(r.dir, "package")
	if err := copyFile(filepath.Join(r.outsider.dir, r.outsider.plugin()), filepath.Join(dir, r.outsider.plugin())); err != nil {
		return err
	}
	if _, err := r.command(ctx, r.dir, "wardroom", "plugin", "manifest", dir); err != nil {
		return err
	}
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	tarred := tar.NewWriter(zipped)
	for _, name := range []string{"manifest.json", r.outsider.plugin()} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := tarred.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
			return err
		}
		if _, err := tarred.Write(data); err != nil {
			return err
		}
	}
	if err := errors.Join(tarred.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, "outsider.tar.gz"), archive.Bytes(), 0o644)
}

func (r *rig) serve(ctx context.Context) (err error) {
	runtimes := []string{r.example.runtime, r.outsider.runtime}
	if r.appliance, err = serve(ctx, r.o.wardroom, filepath.Join(r.dir, "appliance"), runtimes...); err != nil {
		return err
	}
	return r.appliance.lacks(ctx, runtimes...)
}

func (r *rig) install(ctx context.Context) error {
	for _, args := range [][]string{
		{"install", "--config", "wardroom.yaml", "--yes", "../outsider.tar.gz"},
		{"verify", r.outsider.plugin()},
		{"enable", r.outsider.plugin()},
	} {
		if _, err := r.command(ctx, r.appliance.Dir, append([]string{"wardroom", "plugin"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// page runs the commands of the page where the configuration and the example's binary lie.
func (r *rig) page(ctx context.Context) error {
	commands, err := pageCommands(filepath.Join(r.root, "docs", "plugins.md"))
	if err != nil {
		return err
	}
	if err := copyFile(filepath.Join(r.example.dir, r.example.plugin()), filepath.Join(r.appliance.Dir, r.example.plugin())); err != nil {
		return err
	}
	for _, command := range commands {
		if _, err := r.command(ctx, r.appliance.Dir, "sh", "-c", command); err != nil {
			return err
		}
	}
	return nil
}
