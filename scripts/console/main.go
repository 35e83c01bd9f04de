package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	plain := flag.Bool("plain", false, "leave the scripts readable, for development")
	flag.Parse()
	if err := build(*root, *plain); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
