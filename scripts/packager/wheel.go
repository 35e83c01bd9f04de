package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// wheel writes the library for agents in Python as a package of pip. It is source alone, so that nothing is needed to make it.
func (b *builder) wheel(out string) error {
	dir := filepath.Join(b.root, "sdk", "agent", "python")
	version, local, built := strings.Cut(b.version, "+")
	version = strings.NewReplacer("-rc.", "rc", "-beta.", "b", "-alpha.", "a").Replace(version)
	if built { // a local version of Python has letters, digits and dots
		version += "+" + strings.ReplaceAll(local, "-", ".")
	}
	about := "wardroom_agent-" + version + ".dist-info/"
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(b.root, "LICENSE"))
	if err != nil {
		return err
	}
	metadata := "Metadata-Version: 2.1\nName: wardroom-agent\nVersion: " + version + "\nSummary: Agents for Wardroom\n" +
		"License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: websockets>=10.4\nDescription-Content-Type: text/markdown\n\n"
	files := map[string][]byte{
		about + "METADATA": append([]byte(metadata), readme...),
		about + "WHEEL":    []byte("Wheel-Version: 1.0\nGenerator: wardroom-packager\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
		about + "LICENSE":  licence,
	}
	sources, err := filepath.Glob(filepath.Join(dir, "wardroom_agent", "*.py*"))
	if err != nil {
		return err
	}
	for _, path := range append(sources, filepath.Join(dir, "wardroom_agent", "py.typed")) {
		if filepath.Ext(path) == ".pyc" {
			continue
		}
		if files["wardroom_agent/"+filepath.Base(path)], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	record := about + "RECORD"
	var sums strings.Builder
	for _, name := range names {
		sum := sha256.Sum256(files[name])
		fmt.Fprintf(&sums, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(files[name]))
	}
	fmt.Fprintf(&sums, "%s,,\n", record)
	files[record] = []byte(sums.String())
	var zipped bytes.Buffer
	w := zip.NewWriter(&zipped)
	for _, name := range append(names, record) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: b.epoch}
		header.SetMode(0o644)
		entry, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(files[name]); err != nil {
			return err
		}
	}
	err = w.Close()
	return errors.Join(err, os.WriteFile(filepath.Join(out, "wardroom_agent-"+version+"-py3-none-any.whl"), zipped.Bytes(), 0o644))
}
