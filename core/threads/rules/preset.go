package rules

import (
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// use is what a tool does.
type use int

const (
	useUnknown use = iota
	useRead        // looks at files
	useEdit        // changes files
	useRun         // runs commands
	usePlan        // leaves the mode in which nothing is changed
)

// uses are the tools of the CLIs that Wardroom drives.
var uses = map[string]use{
	// claude
	"Read": useRead, "Glob": useRead, "Grep": useRead, "LS": useRead, "NotebookRead": useRead,
	"Edit": useEdit, "MultiEdit": useEdit, "Write": useEdit, "NotebookEdit": useEdit,
	"Bash": useRun, "ExitPlanMode": usePlan, // codex calls its shell Bash as well
	// codex
	"apply_patch": useEdit, "shell": useRun, "local_shell": useRun, "shell_command": useRun, "exec_command": useRun,
	"unified_exec": useRun, "write_stdin": useRun,
	// gemini
	"read_file": useRead, "read_many_files": useRead, "list_directory": useRead, "glob": useRead,
	"search_file_content": useRead, "grep_search": useRead,
	"write_file": useEdit, "replace": useEdit, "edit": useEdit,
	"run_shell_command": useRun, "exit_plan_mode": usePlan,
}

// byPreset is what a preset answers by itself, or "". Questions are never answered.
//
// The presets also set how the CLIs start, which keeps most prompts from being asked. What is asked nevertheless:
// readonly denies what would change something, so that nobody has to and the agent can go on without it; standard
// leaves everything to people; permissive allows to look at and edit files of the workspace and to run commands that
// only read; autonomous allows everything.
func byPreset(preset, workspace string, p Prompt) string {
	if p.Kind != wire.PromptApproval {
		return ""
	}
	u := uses[p.Tool]
	switch preset {
	case Readonly:
		switch {
		case u == useRun && onlyReads(workspace, p.Input): // the CLI had a reason to ask, which people judge
		case u == useEdit || u == useRun || u == usePlan:
			return Deny
		}
	case Permissive:
		if u == useRead && readsWithin(workspace, p) || u == useEdit && editsWithin(workspace, p.Input) ||
			u == useRun && onlyReads(workspace, p.Input) {
			return Allow
		}
	case Autonomous:
		return Allow
	}
	return ""
}

// pathKeys are the inputs of tools that name files or directories.
var pathKeys = []string{"file_path", "path", "dir_path", "absolute_path", "notebook_path", "directory", "workdir", "cwd"}

// paths returns the paths that an input names, and false when one of them is no text.
func paths(input map[string]any) ([]string, bool) {
	var out []string
	for _, key := range pathKeys {
		switch v := input[key].(type) {
		case nil:
		case string:
			out = append(out, v)
		default:
			return nil, false
		}
	}
	return out, true
}

// readsWithin reports whether a tool looks only at files of the workspace. One that names no path looks at where it runs.
func readsWithin(workspace string, p Prompt) bool {
	list, ok := paths(p.Input)
	if !ok {
		return false
	}
	keys := []string{"include", "glob", "paths"}
	if p.Tool == "Glob" || p.Tool == "glob" { // of the others it is no path
		keys = append(keys, "pattern")
	}
	for _, key := range keys {
		switch v := p.Input[key].(type) {
		case nil:
		case string:
			list = append(list, v)
		case []any:
			more, ok := words(v)
			if !ok {
				return false
			}
			list = append(list, more...)
		default:
			return false
		}
	}
	for _, name := range list {
		if !within(workspace, name) {
			return false
		}
	}
	return true
}

// editsWithin reports whether a tool changes only files of the workspace that are plain: what programs obey when they
// merely start there, such as hooks and settings, is not.
func editsWithin(workspace string, input map[string]any) bool {
	list, ok := paths(input)
	if !ok {
		return false
	}
	for _, key := range []string{"command", "input", "patch"} {
		switch v := input[key].(type) {
		case nil:
		case string:
			list = append(list, patched(v)...)
		case []any:
			parts, ok := words(v)
			if !ok {
				return false
			}
			for _, part := range parts {
				list = append(list, patched(part)...)
			}
		default:
			return false
		}
	}
	for _, p := range list {
		if !within(workspace, p) || !plainFile(p) {
			return false
		}
	}
	return len(list) > 0
}

// patched returns the paths that a patch of codex changes.
func patched(patch string) []string {
	var out []string
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if p, ok := strings.CutPrefix(line, head); ok {
				out = append(out, strings.TrimSpace(p))
			}
		}
	}
	return out
}
