package cmd

import "testing"

// TestServiceEnvironment reads what systemd reads.
func TestServiceEnvironment(t *testing.T) {
	t.Setenv("OURS", "process")
	find := environmentOver([]byte("# comment=1\n; other=1\nOURS=file\nPLAIN=a=b \nQUOTED=\"a b\"\n  SINGLE='x'\nEMPTY=\nbroken\nHALF=\"a\n"))
	for name, want := range map[string]string{"OURS": "process", "PLAIN": "a=b", "QUOTED": "a b", "SINGLE": "x", "EMPTY": "", "HALF": `"a`} {
		if got, ok := find(name); !ok || got != want {
			t.Errorf("%s is %q, %v", name, got, ok)
		}
	}
	for _, name := range []string{"comment", "# comment", "other", "broken", "NONE"} {
		if _, ok := find(name); ok {
			t.Errorf("there is %s", name)
		}
	}
}
