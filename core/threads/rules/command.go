package rules

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// readers are the programs that a command may be made of, with the options, without dashes, by which they would do more
// than read.
var readers = map[string][]string{
	"ls": nil, "cat": nil, "head": nil, "tail": nil, "wc": nil, "pwd": nil, "echo": nil, "stat": nil, "du": nil,
	"cut": nil, "tr": nil, "cmp": nil, "basename": nil, "dirname": nil, "true": nil, "false": nil,
	"grep": nil, "egrep": nil, "fgrep": nil, "diff": nil,
	"rg":   {"pre", "hostname-bin"},
	"find": {"exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls", "files0-from"},
	"git":  {"output", "ext-diff", "textconv", "open-files-in-pager"},
}

// gitReads are the commands of git that only read.
var gitReads = map[string]bool{
	"status": true, "log": true, "diff": true, "show": true, "ls-files": true, "rev-parse": true, "blame": true,
	"shortlog": true, "describe": true,
}

// maxCommand bounds what is looked at; nobody reads more than that either.
const maxCommand = 4096

// onlyReads reports whether a shell tool would run nothing but commands that read files of the workspace. It knows few
// commands, and understands no expansion: what is not surely harmless is not.
func onlyReads(workspace string, input map[string]any) bool {
	if asked, ok := input["dangerouslyDisableSandbox"].(bool); ok && asked {
		return false
	}
	list, ok := paths(input)
	if !ok {
		return false
	}
	for _, p := range list {
		if !within(workspace, p) {
			return false
		}
	}
	command := cmp.Or(input["command"], input["cmd"])
	switch v := command.(type) {
	case string:
		return scriptReads(workspace, v)
	case []any:
		argv, ok := words(v)
		if !ok || len(argv) == 0 {
			return false
		}
		switch path.Base(argv[0]) {
		case "sh", "bash", "zsh":
			return len(argv) == 3 && (argv[1] == "-c" || argv[1] == "-lc") && scriptReads(workspace, argv[2])
		}
		return argvReads(workspace, argv)
	}
	return false
}

// scriptReads judges a line of shell.
func scriptReads(workspace, script string) bool {
	if len(script) > maxCommand {
		return false
	}
	commands, ok := split(script)
	if !ok {
		return false
	}
	for _, argv := range commands {
		if !argvReads(workspace, argv) {
			return false
		}
	}
	return len(commands) > 0
}

// argvReads judges one command.
func argvReads(workspace string, argv []string) bool {
	options, ok := readers[argv[0]]
	if !ok {
		return false
	}
	if argv[0] == "git" && (len(argv) < 2 || !gitReads[argv[1]]) {
		return false
	}
	for _, arg := range argv[1:] {
		if among(options, arg) {
			return false
		}
		if strings.HasPrefix(arg, "-") {
			if strings.ContainsAny(arg, "/~") || strings.Contains(arg, "..") {
				return false // a path that is joined to its option
			}
			continue
		}
		// An empty argument names nothing; a colon or an equals sign may join a path to something else.
		for _, part := range strings.FieldsFunc(arg, func(r rune) bool { return r == ':' || r == '=' }) {
			if !within(workspace, part) && !rangeOfCommits(argv[0], part) {
				return false
			}
		}
	}
	return true
}

// rangeOfCommits reports whether an argument is one like main..work, whose dots do not climb.
func rangeOfCommits(program, arg string) bool {
	return program == "git" && !strings.HasPrefix(arg, "/") && !strings.HasPrefix(arg, "~") && !strings.HasPrefix(arg, "..") &&
		!strings.Contains(arg, "../") && !strings.Contains(arg, "/..")
}

// among reports whether an argument may be one of some options. GNU programs and git take any beginning of a long one,
// and find writes long ones with a single dash.
func among(options []string, arg string) bool {
	name, dashed := strings.CutPrefix(arg, "-")
	name, long := strings.CutPrefix(name, "-")
	name, _, _ = strings.Cut(name, "=")
	if !dashed || name == "" || len(name) == 1 && !long {
		return false
	}
	return slices.ContainsFunc(options, func(option string) bool { return strings.HasPrefix(option, name) })
}

// split divides a line of shell into commands of words. It returns false for everything that the shell would expand,
// redirect or run within.
func split(script string) ([][]string, bool) {
	var commands [][]string
	var argv []string
	var word strings.Builder
	inWord := false
	endWord := func() {
		if inWord {
			argv = append(argv, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() bool {
		endWord()
		commands = append(commands, argv)
		ok := len(argv) > 0
		argv = nil
		return ok
	}
	for i := 0; i < len(script); i++ {
		switch b := script[i]; b {
		case ' ', '\t':
			endWord()
		case '\'', '"':
			end := strings.IndexByte(script[i+1:], b)
			if end < 0 {
				return nil, false
			}
			quoted := script[i+1 : i+1+end]
			if b == '"' && strings.ContainsAny(quoted, "$`\\!") || strings.ContainsAny(quoted, "\n\r\x00") {
				return nil, false
			}
			word.WriteString(quoted)
			inWord = true
			i += end + 1
		case '|', '&', ';':
			twice := i+1 < len(script) && script[i+1] == b
			if b == '&' && !twice || b == ';' && twice {
				return nil, false
			}
			if twice {
				i++
			}
			if !endCommand() {
				return nil, false
			}
		default:
			if strings.IndexByte("$`\\<>(){}[]*?!#~^%\n\r\x00", b) >= 0 {
				return nil, false
			}
			word.WriteByte(b)
			inWord = true
		}
	}
	endWord()
	if len(argv) > 0 {
		commands = append(commands, argv)
	}
	return commands, true
}
