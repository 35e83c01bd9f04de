package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// module is a script of others that is kept in the tree, as vendor.json lists it.
type module struct {
	Name      string            `json:"name"`
	Version   string            `json:"version"`
	Licence   string            `json:"licence"`
	Integrity string            `json:"integrity"` // of the package that the registry has
	Files     map[string]string `json:"files"`     // those that are kept, with their SHA-256
}

// permitted are the licences that may be shipped.
var permitted = map[string]bool{"MIT": true, "Apache-2.0": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "ISC": true}

// vendored reads vendor.json.
func vendored(dir string) ([]module, error) {
	data, err := os.ReadFile(filepath.Join(dir, "vendor.json"))
	if err != nil {
		return nil, err
	}
	var list []module
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("vendor.json: %w", err)
	}
	return list, nil
}

// checkVendored reports files that are not those that vendor.json names, and licences that may not be shipped.
func checkVendored(dir string) error {
	list, err := vendored(dir)
	if err != nil {
		return err
	}
	want := map[string]string{"vendor.json": ""}
	var errs []error
	for _, m := range list {
		if !permitted[m.Licence] {
			errs = append(errs, fmt.Errorf("%s: the licence %s may not be shipped", m.Name, m.Licence))
		}
		if !strings.HasPrefix(m.Integrity, "sha512-") {
			errs = append(errs, fmt.Errorf("%s: has no checksum of its package", m.Name))
		}
		for name, sum := range m.Files {
			want[m.Name+"/"+name] = sum
		}
	}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		sum, known := want[name]
		delete(want, name)
		if !known {
			errs = append(errs, fmt.Errorf("%s is not in vendor.json", name))
		}
		if sum == "" {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			errs = append(errs, fmt.Errorf("%s was changed; changes of vendored scripts are patches of the bundler", name))
		}
		return nil
	})
	for name := range want {
		errs = append(errs, fmt.Errorf("%s is missing", name))
	}
	return errors.Join(append(errs, err)...)
}
