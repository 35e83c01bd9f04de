package workspace_test

import (
	"testing"

	"github.com/wardroom/wardroom/core/workspace"
)

func TestHost(t *testing.T) {
	for text, want := range map[string]string{
		"https://Git.example.com/team/app.git": "git.example.com", "ssh://git@git.example.com:2222/app": "git.example.com:2222",
		"git@git.example.com:team/app.git": "git.example.com", "file:///srv/git/app.git": "", "app": "", "": "",
	} {
		if got := workspace.Host(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
