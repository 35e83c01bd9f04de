package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// identified returns the identity of a state directory, which it makes where there is none.
func identified(t *testing.T, dir string) string {
	t.Helper()
	agents := filepath.Join(dir, "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	owner, err := identityOf(dir, agents)
	if err != nil || labelValue(owner) != owner || owner == "" {
		t.Fatalf("the identity is %q, %v", owner, err)
	}
	return owner
}

// TestIdentity is the identity of a state directory: its own wherever it is moved to, and of no copy, nor of what is made in its place.
func TestIdentity(t *testing.T) {
	base := t.TempDir()
	first, moved, other := filepath.Join(base, "first"), filepath.Join(base, "moved"), filepath.Join(base, "copy")
	owner := identified(t, first)
	if again := identified(t, first); again != owner {
		t.Errorf("it was %s, and is %s", owner, again)
	}
	if err := os.CopyFS(other, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	copied := identified(t, other)
	if copied == owner || identified(t, other) != copied {
		t.Errorf("a copy of %s is %s, and then %s", owner, copied, identified(t, other))
	}
	if err := os.Rename(first, moved); err != nil {
		t.Fatal(err)
	}
	if again := identified(t, moved); again != owner {
		t.Errorf("once it is moved, %s is %s", owner, again)
	}
	for range 8 { // a file system may give the same inode to the next directory, which gets back what was in the first
		before := identified(t, moved)
		kept, err := os.ReadFile(filepath.Join(moved, identityFile))
		if err := errors.Join(err, os.RemoveAll(moved), os.Mkdir(moved, 0o700), os.WriteFile(filepath.Join(moved, identityFile), kept, 0o600)); err != nil {
			t.Fatal(err)
		}
		if now, err := placeOf(moved); err != nil || now.Born == 0 {
			t.Skipf("the file system does not know when a directory was made: %v", err)
		}
		if identified(t, moved) == before {
			t.Fatal("a directory has the identity of one that was removed")
		}
	}
}

// overlay mounts a file system of a name below base until the test ends: with what was in it before, and with another number of its device
// where that of the last time is in use. It returns the directory, and what takes it away.
func overlay(t *testing.T, base, name string) (dir string, unmount func()) {
	t.Helper()
	at := filepath.Join(base, name)
	for _, one := range []string{"lower", "upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(at, one), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dir = filepath.Join(at, "root")
	if err := unix.Mount("overlay", dir, "overlay", 0, fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", at, at, at)); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	unmount = sync.OnceFunc(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	t.Cleanup(unmount)
	return dir, unmount
}

// TestIdentityMountedAgain mounts the file system of a state directory again, which has another number of its device then, as a volume has
// that follows its service to another node: the directory is known all the same.
func TestIdentityMountedAgain(t *testing.T) {
	base := t.TempDir()
	dir, unmount := overlay(t, base, "state")
	owner := identified(t, dir)
	unmount()
	_, _ = overlay(t, base, "other") // it gets the number that is free again
	dir, _ = overlay(t, base, "state")
	if again := identified(t, dir); again != owner {
		t.Errorf("mounted again, %s is %s", owner, again)
	}
}

// TestIdentityOfEarlierVersion opens a state directory of a version that stored no identity: where it has agents they stay its own.
func TestIdentityOfEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agents", "a.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(agent), 0o700), os.WriteFile(agent, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	earlier, err := local.Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if owner := identified(t, dir); owner != earlier {
		t.Errorf("it was %s, and is %s", earlier, owner)
	}
	if err := os.Remove(agent); err != nil {
		t.Fatal(err)
	}
	if owner := identified(t, dir); owner != earlier {
		t.Errorf("without its agents it was %s, and is %s", earlier, owner)
	}
}

// TestIdentityDamaged damages the identity of a state directory: no other one is taken, and the error names the file.
func TestIdentityDamaged(t *testing.T) {
	dir := t.TempDir()
	identified(t, dir)
	for _, text := range []string{"{", "{}", `{"owner": "a/b"}`} {
		if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := identityOf(dir, filepath.Join(dir, "agents"))
		if e := runtime.AsError(err); e == nil || e.Code != runtime.CodeInvalidArgument || !strings.Contains(e.Message, identityFile) || e.Hint == "" {
			t.Errorf("%s is taken: %+v", text, e)
		}
	}
	// As the hint has it, for good.
	if err := os.WriteFile(filepath.Join(dir, identityFile), []byte(`{"owner": "0123456789abcdef"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if owner := identified(t, dir); owner != "0123456789abcdef" {
			t.Errorf("the owner that a person wrote is %s", owner)
		}
	}
}
