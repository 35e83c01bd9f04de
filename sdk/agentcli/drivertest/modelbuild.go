package drivertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// built is the program of the fake model, which one test builds for all; Main removes it.
var built struct {
	once sync.Once
	path string // empty: it was not needed
	err  error
}

func buildModel(root string) (string, error) {
	dir, err := os.MkdirTemp("", "wardroom-fakemodel-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "fakemodel")
	build := exec.Command("go", "build", "-o", path, "./scripts/fakemodel/cmd")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return path, fmt.Errorf("the fake model does not build: %w\n%s", err, out)
	}
	return path, nil
}
