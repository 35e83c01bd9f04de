package rules

import (
	"path"
	"slices"
	"strings"
)

// within reports whether a path lies in the workspace, as it is written: relative ones do unless they climb. No file is
// looked at, so a symbolic link that leaves the workspace is not seen.
func within(workspace, p string) bool {
	if p == "" || strings.HasPrefix(p, "~") || strings.ContainsAny(p, "\x00\n") || slices.Contains(strings.Split(p, "/"), "..") {
		return false
	}
	if !path.IsAbs(p) {
		return true
	}
	if !path.IsAbs(workspace) {
		return false
	}
	root := path.Clean(workspace)
	p = path.Clean(p)
	return root != "/" && (p == root || strings.HasPrefix(p, root+"/"))
}

// obeyed are names of files and directories, in lower case, whose content programs obey.
var obeyed = map[string]bool{
	".git": true, ".gitmodules": true, ".gitconfig": true, ".gitattributes": true, ".wardroom": true,
	".claude": true, ".codex": true, ".gemini": true, ".agents": true, ".mcp.json": true, ".vscode": true, ".idea": true,
	".devcontainer": true, ".husky": true, ".envrc": true, ".npmrc": true, ".yarnrc": true, ".yarnrc.yml": true,
	".pre-commit-config.yaml": true, ".bashrc": true, ".bash_profile": true, ".profile": true, ".zshrc": true,
	".zshenv": true, ".ssh": true, ".ripgreprc": true,
}

// plainFile reports whether no element of a path is one that programs obey.
func plainFile(p string) bool {
	for _, element := range strings.Split(p, "/") {
		if obeyed[strings.ToLower(strings.TrimRight(element, ". "))] {
			return false
		}
	}
	return true
}
