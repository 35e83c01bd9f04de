package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/appliance/scaffold"
	"github.com/wardroom/wardroom/core/pluginhost"
)

// pkg is one package: a tree of files as it will be on the machine, and what else is to be said of it.
type pkg struct {
	name, arch  string
	summary     string
	description string
	root        string // of the tree
	section     string
	config      []string // paths that stay as the operator has them
	dirs        []dir    // that are not just there for a file
	scripts     map[string]string
	depends     []string // names; of the same version
	recommends  []string
	lintian     []string // tags that are meant to be so
}

// dir is a directory with an owner or mode of its own.
type dir struct {
	path, group string
	mode        os.FileMode
}

// holder lies beside the plugins and is none: the local runtime runs it.
const holder = "holder"

// groups are plugins that come in one package. A plugin that none names has one of its own.
var groups = []struct {
	name, summary string
	has           func(plugin string) bool
}{
	{"runtime-local", "agents on the machine of the service", func(p string) bool { return p == "runtime-local" || p == holder }},
	{"runtime-docker", "agents in containers", func(p string) bool { return p == "runtime-docker" }},
	{"runtime-kubernetes", "agents in a cluster", func(p string) bool { return p == "runtime-kubernetes" }},
	{"secrets", "secrets from vaults", func(p string) bool { return strings.HasPrefix(p, "secrets-") }},
	{"audit", "sinks of the audit log", func(p string) bool { return strings.HasPrefix(p, "audit-") }},
}

// groupOf returns the name of the group of a plugin.
func groupOf(plugin string) string {
	for _, g := range groups {
		if g.has(plugin) {
			return g.name
		}
	}
	return plugin
}

// layout makes the trees of all packages of an architecture.
func (b *builder) layout(ctx context.Context, arch string) ([]*pkg, error) {
	var packages []*pkg
	if b.wanted("wardroom") {
		core, err := b.layoutCore(ctx, arch)
		if err != nil {
			return nil, err
		}
		packages = append(packages, core)
	}
	members := map[string][]string{}
	for _, plugin := range b.plugins {
		members[groupOf(plugin)] = append(members[groupOf(plugin)], plugin)
	}
	for _, group := range slices.Sorted(maps.Keys(members)) {
		summary := "the plugin " + group
		for _, g := range groups {
			if g.name == group {
				summary = g.summary
			}
		}
		p, err := b.layoutPlugins(ctx, arch, group, summary, members[group])
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	if arch == b.arches[0] && b.wanted("wardroom-sdk") {
		p, err := b.layoutSDK()
		if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	for _, p := range packages {
		if err := errors.Join(b.about(ctx, p, arch), b.stamp(p.root)); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

func (b *builder) layoutCore(ctx context.Context, arch string) (*pkg, error) {
	p := &pkg{
		name: "wardroom", arch: arch, section: "admin", root: filepath.Join(b.stage, arch, "wardroom"),
		summary: "orchestration of AI agents",
		description: "Wardroom stores patterns of work, runs them on connected and managed\n" +
			"agents and keeps every outcome. This package has the service and its\ncommand line.",
		config: []string{"/etc/wardroom/wardroom.yaml", "/etc/default/wardroom"},
		dirs: []dir{
			{"/etc/wardroom", "wardroom", 0o750}, {"/etc/wardroom/conf.d", "wardroom", 0o750},
			{"/usr/lib/wardroom/plugins", "root", 0o755}, {"/usr/lib/wardroom/plugins/manifest.d", "root", 0o755},
		},
		scripts: map[string]string{
			"preinstall": "wardroom.preinst", "postinstall": "wardroom.postinst", "preremove": "wardroom.prerm", "postremove": "wardroom.postrm",
		},
		recommends: []string{"ca-certificates", "git"},
		lintian: []string{
			"non-standard-dir-perm", "non-standard-file-perm", // /etc/wardroom is for the service alone
			"maintainer-script-calls-systemctl", // nothing is started; what runs is restarted by a rule of ours
		},
	}
	for to, from := range map[string]string{
		"usr/lib/wardroom/wardroom":                      b.binaries(arch) + "/wardroom",
		"usr/lib/wardroom/restart-if-active":             "packaging/scripts/restart-if-active",
		"usr/lib/systemd/system/wardroom.service":        "packaging/systemd/wardroom.service",
		"usr/lib/systemd/system/wardroom-backup.service": "packaging/systemd/wardroom-backup.service",
		"usr/lib/systemd/system/wardroom-backup.timer":   "packaging/systemd/wardroom-backup.timer",
		"usr/lib/sysusers.d/wardroom.conf":               "packaging/systemd/wardroom.sysusers",
		"usr/lib/tmpfiles.d/wardroom.conf":               "packaging/systemd/wardroom.tmpfiles",
		"etc/wardroom/wardroom.yaml":                     "configs/packaged.yaml",
		"etc/default/wardroom":                           "packaging/conf/wardroom.default",
		"usr/share/doc/wardroom/examples/wardroom.yaml":  "configs/wardroom.yaml",
		"usr/share/wardroom/wardroom.schema.json":        "configs/wardroom.schema.json",
		"usr/share/wardroom/pattern.schema.json":         "configs/pattern.schema.json",
	} {
		if err := b.put(p, from, to); err != nil {
			return nil, err
		}
	}
	for to, pattern := range map[string]string{
		"usr/share/doc/wardroom": "docs/*.md", "usr/share/doc/wardroom/examples": "configs/examples/*.yaml",
		"usr/share/doc/wardroom/examples/patterns": "configs/patterns/*.yaml", "usr/share/wardroom/alerts": "configs/alerts/*.yml",
		"usr/share/wardroom/dashboards": "configs/dashboards/*.json",
	} {
		names, err := filepath.Glob(filepath.Join(b.root, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := b.put(p, name, to+"/"+filepath.Base(name)); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range []string{"usr/lib/wardroom/wardroom", "usr/lib/wardroom/restart-if-active"} {
		if err := os.Chmod(filepath.Join(p.root, name), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(filepath.Join(p.root, "etc", "wardroom", "wardroom.yaml"), 0o640); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(p.root, "usr", "bin"), 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink("../lib/wardroom/wardroom", filepath.Join(p.root, "usr", "bin", "wardroom")); err != nil {
		return nil, err
	}
	return p, errors.Join(b.manuals(p), b.completions(p))
}

// layoutPlugins makes the package of a group of plugins: their binaries, the manifest that vouches for them, and the
// configuration that takes them into use, where the repository has one.
func (b *builder) layoutPlugins(ctx context.Context, arch, group, summary string, members []string) (*pkg, error) {
	p := &pkg{
		name: "wardroom-" + group, arch: arch, section: "admin", root: filepath.Join(b.stage, arch, group),
		summary:     "Wardroom: " + summary,
		description: "Plugins of the service:\n" + strings.Join(members, ",\n") + ".",
		depends:     []string{"wardroom"},
		scripts:     map[string]string{"postinstall": "plugin.postinst", "postremove": "plugin.postrm"},
		lintian:     []string{"maintainer-script-calls-systemctl"},
	}
	for _, name := range members {
		to := "usr/lib/wardroom/plugins/" + name
		if err := b.put(p, filepath.Join(b.binaries(arch), name), to); err != nil {
			return nil, err
		}
		if err := os.Chmod(filepath.Join(p.root, to), 0o755); err != nil {
			return nil, err
		}
	}
	manifest, err := b.manifest(ctx, arch, members)
	if err != nil {
		return nil, err
	}
	if err := b.write(p, "usr/lib/wardroom/plugins/manifest.d/"+group+".json", manifest); err != nil {
		return nil, err
	}
	for from, to := range map[string]string{
		"packaging/conf/20-" + group + ".yaml":    "etc/wardroom/conf.d/20-" + group + ".yaml",
		"packaging/systemd/10-" + group + ".conf": "usr/lib/systemd/system/wardroom.service.d/10-" + group + ".conf",
	} {
		if _, err := os.Stat(filepath.Join(b.root, from)); err != nil {
			continue // it needs none
		}
		if err := b.put(p, from, to); err != nil {
			return nil, err
		}
		if strings.HasPrefix(to, "etc/") {
			p.config = append(p.config, "/"+to)
		}
	}
	return p, nil
}

// manifest describes plugins as the programs for this machine describe themselves, with the checksums of those for arch.
func (b *builder) manifest(ctx context.Context, arch string, members []string) ([]byte, error) {
	here := b.binaries(runtime.GOARCH)
	if _, err := os.Stat(here); err != nil {
		if err := b.build(ctx, runtime.GOARCH); err != nil {
			return nil, err
		}
	}
	described, skipped, err := pluginhost.DescribeDir(ctx, here)
	if err != nil {
		return nil, err
	}
	for _, name := range members {
		has := slices.ContainsFunc(described.Plugins, func(e pluginhost.ManifestEntry) bool { return e.Name == name })
		if !has && name != holder {
			return nil, fmt.Errorf("the plugin %s does not describe itself: %s", name, strings.Join(skipped, "; "))
		}
	}
	described.Plugins = slices.DeleteFunc(described.Plugins, func(e pluginhost.ManifestEntry) bool { return !slices.Contains(members, e.Name) })
	for i := range described.Plugins {
		e := &described.Plugins[i]
		if e.SHA256, err = sumFile(filepath.Join(b.binaries(arch), e.Name)); err != nil {
			return nil, err
		}
	}
	return described.Encode(), nil
}

// layoutSDK makes the package for authors of plugins who have no network: what `wardroom plugin sdk` writes.
func (b *builder) layoutSDK() (*pkg, error) {
	p := &pkg{
		name: "wardroom-sdk", arch: "all", section: "devel", root: filepath.Join(b.stage, "sdk"),
		summary: "Wardroom: sources to write plugins and agents with",
		description: "The sdk with all modules that it needs, for machines without a module\n" +
			"proxy. A Go module takes it from /usr/share/wardroom/sdk by running use.sh\nof that directory.",
		lintian: []string{
			"package-contains-vcs-control-file", "script-not-executable", // the sources are whole, and run by `sh`
		},
	}
	to := filepath.Join(p.root, "usr", "share", "wardroom", "sdk")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	archive, err := os.Open(filepath.Join(b.root, "appliance", "scaffold", "bundle", "sdk.tar.zst"))
	if err != nil {
		return nil, fmt.Errorf("the sdk, which make build makes: %w", err)
	}
	defer func() { _ = archive.Close() }() // only read from
	return p, scaffold.UnpackSDK(archive, to)
}

// put copies a file of the repository into the tree of a package.
func (b *builder) put(p *pkg, from, to string) error {
	if !filepath.IsAbs(from) {
		from = filepath.Join(b.root, from)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return b.write(p, to, data)
}

// write makes a file in the tree of a package, with the mode 0644.
func (b *builder) write(p *pkg, to string, data []byte) error {
	path := filepath.Join(p.root, to)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// writeZipped is write of a file with .gz behind its name, without a time in it.
func (b *builder) writeZipped(p *pkg, to string, data []byte) error {
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	return b.write(p, to+".gz", zipped.Bytes())
}
