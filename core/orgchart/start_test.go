package orgchart_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// Each command of the CLI has this package inside, and nearly none reads a verdict: what that takes is made when it is needed.
func TestStartIsCheap(t *testing.T) {
	const most = 256 << 10 // bytes
	command := exec.Command(os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line := regexp.MustCompile(`(?m)^init \S+/core/orgchart @.* (\d+) bytes, `).FindSubmatch(out)
	if line == nil {
		return // nothing was to be done
	}
	if n, err := strconv.Atoi(string(line[1])); err != nil || n > most {
		t.Errorf("the start took %d bytes, more than %d: %v", n, most, err)
	}
}
