package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// about adds what every package says of itself: copyright, changelog, notices and licences of others, the bill of
// materials, and which remarks of lintian are known.
func (b *builder) about(ctx context.Context, p *pkg, arch string) error {
	docs := "usr/share/doc/" + p.name + "/"
	programs, err := b.programs(p)
	if err != nil {
		return err
	}
	notice, err := os.ReadFile(filepath.Join(b.root, "NOTICE"))
	if err != nil {
		return err
	}
	copyright := "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n" +
		"Upstream-Name: Wardroom\nSource: https://" + module + "\n\nFiles: *\nCopyright: " + b.epoch.Format("2006") + " The Wardroom Authors\nLicense: Apache-2.0\n" +
		" On Debian systems, the text of the Apache License 2.0 is in\n /usr/share/common-licenses/Apache-2.0.\n"
	if len(programs) > 0 {
		copyright += "Comment: The programs contain modules of others, each under its own licence: see\n THIRD-PARTY-LICENSES.gz.\n"
	}
	changelog := fmt.Sprintf("%s (%s) stable; urgency=medium\n\n  * Release %s. What changed is in the history of the repository.\n\n"+
		" -- The Wardroom Authors <%s>  %s\n", p.name, b.version, b.version, maintainer, b.epoch.Format(time.RFC1123Z))
	err = errors.Join(b.write(p, docs+"copyright", []byte(copyright)), b.write(p, docs+"NOTICE", notice),
		b.writeZipped(p, docs+"changelog", []byte(changelog)))
	if err != nil {
		return err
	}
	if len(programs) > 0 {
		p.lintian = append(p.lintian, "statically-linked-binary") // so that it runs on every Linux
		modules, err := modulesOf(programs)
		if err != nil {
			return err
		}
		licences, err := b.licences(ctx, modules)
		if err != nil {
			return err
		}
		bill, err := b.bill(p, arch, modules)
		if err != nil {
			return err
		}
		if err := errors.Join(b.writeZipped(p, docs+"THIRD-PARTY-LICENSES", licences), b.write(p, docs+"sbom.cdx.json", bill)); err != nil {
			return err
		}
	}
	p.lintian = append(p.lintian, "bogus-mail-host", "bogus-mail-host-in-debian-changelog") // the project has no address
	var overrides strings.Builder
	slices.Sort(p.lintian)
	for _, tag := range slices.Compact(p.lintian) {
		fmt.Fprintf(&overrides, "%s: %s\n", p.name, tag)
	}
	return b.write(p, "usr/share/lintian/overrides/"+p.name, []byte(overrides.String()))
}

// programs returns the Go programs of a package.
func (b *builder) programs(p *pkg) (found []string, err error) {
	err = filepath.WalkDir(filepath.Join(p.root, "usr", "lib", "wardroom"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if _, err := buildinfo.ReadFile(path); err == nil {
			found = append(found, path)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

// goModule is a module that programs were built from.
type goModule struct{ path, version, sum string }

// modulesOf reads from programs which modules are in them, sorted.
func modulesOf(programs []string) ([]goModule, error) {
	var all []goModule
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		for _, dep := range info.Deps {
			if dep.Path == module { // of a program in a nested module: it is ours
				continue
			}
			if dep.Replace != nil {
				dep = dep.Replace
			}
			all = append(all, goModule{dep.Path, dep.Version, dep.Sum})
		}
	}
	slices.SortFunc(all, func(x, y goModule) int { return strings.Compare(x.path+" "+x.version, y.path+" "+y.version) })
	return slices.Compact(all), nil
}

// licenceFile matches the names under which modules have their licences and notices.
var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|copyright|patents)([.-].*)?$`)

// licences returns the licence texts of modules. A module without one fails: it must not be shipped.
func (b *builder) licences(ctx context.Context, modules []goModule) ([]byte, error) {
	var out bytes.Buffer
	for _, m := range modules {
		dir, err := b.moduleDir(ctx, m)
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		licensed := false
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			licensed = licensed || !strings.HasPrefix(strings.ToLower(entry.Name()), "notice")
			fmt.Fprintf(&out, "==== %s %s: %s\n\n%s\n\n", m.path, m.version, entry.Name(), bytes.TrimSpace(text))
		}
		if !licensed {
			return nil, fmt.Errorf("%s %s has no licence: it must not be shipped", m.path, m.version)
		}
	}
	return out.Bytes(), nil
}

// moduleDir returns where the source of a module is on this machine.
func (b *builder) moduleDir(ctx context.Context, m goModule) (string, error) {
	out, err := b.output(ctx, "go", "mod", "download", "-json", m.path+"@"+m.version)
	if err != nil {
		return "", err
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", err
	}
	return found.Dir, nil
}

// bill returns the bill of materials in the form of CycloneDX 1.6.
func (b *builder) bill(p *pkg, arch string, modules []goModule) ([]byte, error) {
	url := func(path, version string) string { return "pkg:golang/" + path + "@" + version }
	bom := cdx.NewBOM()
	own := url(module, b.version)
	bom.Metadata = &cdx.Metadata{
		Timestamp: b.epoch.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: own, Type: cdx.ComponentTypeApplication, Name: p.name, Version: b.version, PackageURL: own,
			Properties: &[]cdx.Property{{Name: "arch", Value: arch}},
			Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	var components []cdx.Component
	var needs []string
	for _, m := range modules {
		ref := url(m.path, m.version)
		components = append(components, cdx.Component{
			BOMRef: ref, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: ref, Scope: cdx.ScopeRequired,
			Properties: &[]cdx.Property{{Name: "go:sum", Value: m.sum}},
		})
		needs = append(needs, ref)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: own, Dependencies: &needs}}
	var out bytes.Buffer
	err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return out.Bytes(), err
}
