package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// npm writes the library for agents in TypeScript as a package of npm: what the compiler made of it, which is committed, so that
// nothing is needed to make it.
func (b *builder) npm(out string) error {
	dir := filepath.Join(b.root, "sdk", "agent", "typescript")
	about, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return err
	}
	var was struct{ Version string }
	if err := json.Unmarshal(about, &was); err != nil {
		return fmt.Errorf("package.json: %w", err)
	}
	line := func(version string) string { return fmt.Sprintf("%q: %q", "version", version) }
	if strings.Count(string(about), line(was.Version)) != 1 {
		return fmt.Errorf("package.json: the version %s is not in a line of its own", was.Version)
	}
	about = []byte(strings.Replace(string(about), line(was.Version), line(b.version), 1))
	paths, err := filepath.Glob(filepath.Join(dir, "dist", "*"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return errors.New("sdk/agent/typescript/dist is empty: run make typescript")
	}
	var packed bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is one
	w := tar.NewWriter(zipped)
	add := func(name string, data []byte) error {
		header := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(data)), ModTime: b.epoch, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	if err := add("package.json", about); err != nil {
		return err
	}
	for _, path := range append(paths, filepath.Join(dir, "README.md"), filepath.Join(b.root, "LICENSE")) {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		if filepath.Base(filepath.Dir(path)) == "dist" {
			name = "dist/" + name
		}
		if err := add(name, data); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "wardroom-agent-"+b.version+".tgz"), packed.Bytes(), 0o644)
}
