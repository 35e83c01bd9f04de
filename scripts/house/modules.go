package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
)

// Modules renders the modules that a package of the tree at dir is built from, one a line: path, version,
// and the packages of ours that import it directly. A change of the list is a change for a reviewer to see.
// It needs the go tool and the module cache, no network.
func Modules(dir, pkg string) (string, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Module,Standard", pkg)
	cmd.Dir = dir
	// The list is of one platform, or it would depend on whose machine made it.
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	return renderModules(out)
}

// listed is one package as `go list -json` prints it.
type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct {
		Path, Version string
		Main          bool
	}
}

func renderModules(out []byte) (string, error) {
	moduleOf := map[string]string{} // import path to "path version"
	var mine []listed
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", fmt.Errorf("go list: %w", err)
		}
		switch {
		case p.Module == nil || p.Standard:
		case p.Module.Main:
			mine = append(mine, p)
		default:
			moduleOf[p.ImportPath] = p.Module.Path + " " + p.Module.Version
		}
	}
	users := map[string]map[string]bool{}
	for _, module := range moduleOf {
		users[module] = map[string]bool{}
	}
	for _, p := range mine {
		for _, imported := range p.Imports {
			if module, ok := moduleOf[imported]; ok {
				users[module][relative(p.ImportPath)] = true
			}
		}
	}
	var lines []string
	for module, packages := range users {
		names := make([]string, 0, len(packages))
		for name := range packages {
			names = append(names, name)
		}
		sort.Strings(names)
		line := module
		if len(names) > 0 {
			line += " <- " + strings.Join(names, ", ")
		}
		lines = append(lines, line+"\n")
	}
	sort.Strings(lines)
	return strings.Join(lines, ""), nil
}
