package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	plain := flag.Bool("plain", false, "leave the scripts readable, for development")
	units := flag.String("units", "", "write the logic that is tested in a browser to this file, and nothing else")
	flag.Parse()
	if *units != "" {
		if err := writeUnits(pathsOf(*root), *units); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := build(*root, *plain); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writeUnits bundles units.ts to one script, which leaves its exports in the variable units.
func writeUnits(p paths, file string) error {
	ui, err := filepath.Abs(p.ui)
	if err != nil {
		return err
	}
	vendor, err := filepath.Abs(p.vendor)
	if err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: filepath.Dir(ui), EntryPoints: []string{filepath.Join(ui, "units.ts")}, NodePaths: []string{vendor},
		Bundle: true, Format: api.FormatIIFE, GlobalName: "units", Platform: api.PlatformBrowser, Target: api.ES2022,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", TsconfigRaw: "{}", Charset: api.CharsetUTF8,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("units.ts: %s", result.Errors[0].Text)
	}
	return os.WriteFile(file, result.OutputFiles[0].Contents, 0o644)
}

// build writes the types and dist.
func build(root string, plain bool) error {
	p := pathsOf(root)
	types, err := generateTypes(p.golden)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.types, types, 0o644); err != nil {
		return err
	}
	made, err := bundle(p, plain)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(p.dist); err != nil {
		return err
	}
	for name, data := range made {
		file := filepath.Join(p.dist, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// paths are the places that the build reads and writes.
type paths struct{ ui, vendor, dist, golden, types string }

func pathsOf(root string) paths {
	console := filepath.Join(root, "appliance", "console")
	ui := filepath.Join(console, "ui")
	return paths{
		ui: ui, vendor: filepath.Join(console, "vendor"), dist: filepath.Join(console, "dist"),
		golden: filepath.Join(root, "appliance", "e2e", "testdata", "golden", "openapi.txt"),
		types:  filepath.Join(ui, "api", "types.gen.ts"),
	}
}
