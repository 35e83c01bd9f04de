package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/threads/rules"
)

const workspace = "/srv/ws/w1"

// The prompts as the adapters of the CLIs make them.
const (
	options       = `,"options":[{"id":"allow","label":"Allow"},{"id":"deny","label":"Deny"}]}`
	optionsAlways = `,"options":[{"id":"allow","label":"Allow"},{"id":"allow_always","label":"Allow, and do not ask again for this"},{"id":"deny","label":"Deny"}]}`
)

func approval(tool, input string) string {
	return `{"id":"p1","kind":"approval","text":"` + tool + `: it","tool":"` + tool + `","input":` + input + options
}

func command(tool, line string) string {
	quoted, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	return approval(tool, `{"command":`+string(quoted)+`}`)
}

func prompt(t testing.TB, raw string) rules.Prompt {
	t.Helper()
	p, err := rules.ReadPrompt(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return p
}

func TestPresets(t *testing.T) {
	const asked = ""
	for _, tt := range []struct {
		name, prompt                               string
		readonly, standard, permissive, autonomous string
	}{
		{"ClaudeBash", `{"id":"p1","kind":"approval","text":"Bash: touch x","tool":"Bash","input":{"command":"touch x","description":"make x"}` + optionsAlways,
			"deny", asked, asked, "allow"},
		{"ClaudeReadingBash", `{"id":"p1","kind":"approval","text":"Bash: git log -3 | head","tool":"Bash","input":{"command":"git log -3 | head"}` + optionsAlways,
			asked, asked, "allow", "allow"},
		{"ClaudeNoSandbox", approval("Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`), "deny", asked, asked, "allow"},
		{"ClaudeWrite", approval("Write", `{"file_path":"/srv/ws/w1/a.go","content":"x"}`), "deny", asked, "allow", "allow"},
		{"ClaudeWriteOutside", approval("Write", `{"file_path":"/srv/ws/w10/a.go","content":"x"}`), "deny", asked, asked, "allow"},
		{"ClaudeWriteClimbs", approval("Write", `{"file_path":"/srv/ws/w1/../w2/a.go"}`), "deny", asked, asked, "allow"},
		{"ClaudeEditHook", approval("Edit", `{"file_path":"/srv/ws/w1/.git/hooks/post-commit"}`), "deny", asked, asked, "allow"},
		{"ClaudeEditSettings", approval("Edit", `{"file_path":"/srv/ws/w1/.claude/settings.json"}`), "deny", asked, asked, "allow"},
		{"ClaudeEditWithoutPath", approval("Edit", `{}`), "deny", asked, asked, "allow"},
		{"ClaudeEditOddPath", approval("Edit", `{"file_path":["/etc/passwd"]}`), "deny", asked, asked, "allow"},
		{"ClaudeNotebook", approval("NotebookEdit", `{"notebook_path":"/srv/ws/w1/a.ipynb"}`), "deny", asked, "allow", "allow"},
		{"ClaudeRead", approval("Read", `{"file_path":"/srv/ws/w1/a.go"}`), asked, asked, "allow", "allow"},
		{"ClaudeReadOutside", approval("Read", `{"file_path":"/etc/passwd"}`), asked, asked, asked, "allow"},
		{"ClaudeGrep", approval("Grep", `{"pattern":"/api/.*"}`), asked, asked, "allow", "allow"},
		{"ClaudeGlobOutside", approval("Glob", `{"pattern":"/etc/**"}`), asked, asked, asked, "allow"},
		{"ClaudeFetch", approval("WebFetch", `{"url":"https://x.test"}`), asked, asked, asked, "allow"},
		{"ClaudePlan", approval("ExitPlanMode", `{"plan":"do it"}`), "deny", asked, asked, "allow"},
		{"ClaudeMCP", approval("mcp__db__query", `{"sql":"drop"}`), asked, asked, asked, "allow"},
		{"ClaudeQuestion", `{"id":"p1","kind":"question","text":"Which?","tool":"AskUserQuestion","input":{"questions":[]},"options":[{"id":"1","label":"Red"}]}`,
			asked, asked, asked, asked},

		{"CodexBash", command("Bash", "touch x"), "deny", asked, asked, "allow"},
		{"CodexList", approval("Bash", `{"command":["ls","-l"]}`), asked, asked, "allow", "allow"},
		{"CodexShell", approval("Bash", `{"command":["bash","-lc","cat a.go | wc -l"]}`), asked, asked, "allow", "allow"},
		{"CodexShellWrites", approval("Bash", `{"command":["bash","-lc","cat a.go > b.go"]}`), "deny", asked, asked, "allow"},
		{"CodexShellMore", approval("Bash", `{"command":["bash","-lc","ls","x"]}`), "deny", asked, asked, "allow"},
		{"CodexWorkdir", approval("Bash", `{"command":["ls"],"workdir":"/etc"}`), "deny", asked, asked, "allow"},
		{"CodexPatch", approval("apply_patch", `{"command":"*** Begin Patch\n*** Update File: a.go\n@@\n-x\n+y\n*** End Patch"}`), "deny", asked, "allow", "allow"},
		{"CodexPatchOutside", approval("apply_patch", `{"command":"*** Begin Patch\n*** Update File: a.go\n*** Move to: ../b.go\n"}`), "deny", asked, asked, "allow"},
		{"CodexPatchWithoutFiles", approval("apply_patch", `{"command":"ls"}`), "deny", asked, asked, "allow"},
		{"CodexQuestion", `{"id":"p1","kind":"question","text":"Which?","tool":"request_user_input","options":[{"id":"1","label":"a"}]}`,
			asked, asked, asked, asked},

		{"GeminiShell", command("run_shell_command", "rm x"), "deny", asked, asked, "allow"},
		{"GeminiShellReads", approval("run_shell_command", `{"command":"ls -l","directory":"sub"}`), asked, asked, "allow", "allow"},
		{"GeminiShellElsewhere", approval("run_shell_command", `{"command":"ls -l","dir_path":"../x"}`), "deny", asked, asked, "allow"},
		{"GeminiWrite", approval("write_file", `{"file_path":"a.txt","content":"x"}`), "deny", asked, "allow", "allow"},
		{"GeminiReplace", approval("replace", `{"file_path":"/home/x/.bashrc"}`), "deny", asked, asked, "allow"},
		{"GeminiRead", approval("read_file", `{"absolute_path":"/srv/ws/w1/x"}`), asked, asked, "allow", "allow"},
		{"GeminiReadMany", approval("read_many_files", `{"include":["src/**","/etc/*"]}`), asked, asked, asked, "allow"},
		{"GeminiPlan", approval("exit_plan_mode", `{"plan_path":"x"}`), "deny", asked, asked, "allow"},
		{"GeminiQuestion", `{"id":"p1","kind":"question","text":"Which?","tool":"ask_user"}`, asked, asked, asked, asked},

		{"UnknownTool", `{"id":"p1","kind":"approval","text":"The agent asks for an approval: see its terminal."` + options,
			asked, asked, asked, "allow"},
		{"WithoutOptions", `{"id":"p1","kind":"approval","text":"Bash: rm x","tool":"Bash","input":{"command":"rm x"}}`,
			"deny", asked, asked, "allow"},
		{"OtherOptions", `{"id":"p1","kind":"approval","text":"?","options":[{"id":"proceed"}]}`, asked, asked, asked, asked},
		{"Login", `{"id":"p1","kind":"login","text":"Sign in","url":"https://x.test"}`, asked, asked, asked, asked},
		{"OtherKind", `{"id":"p1","kind":"survey","text":"?"}`, asked, asked, asked, asked},
		{"Nothing", `{}`, asked, asked, asked, asked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := prompt(t, tt.prompt)
			for preset, want := range map[string]string{
				"readonly": tt.readonly, "standard": tt.standard, "permissive": tt.permissive, "autonomous": tt.autonomous,
				"": tt.standard, "unheard-of": asked,
			} {
				d, ok := (&rules.Rules{}).Decide(preset, workspace, p)
				got := d.Answer
				if got != want || ok != (want != "") {
					t.Errorf("%s: %q, %v, want %q", preset, got, ok, want)
				}
			}
		})
	}
}

func TestReadingCommands(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": true, "ls -la src": true, "pwd && ls; cat a || true": true, "cat 'a b' \"c\"": true, "grep -rn 'a\\.b$' src | head -5": true,
		"git status": true, "git diff main..work -- a.go": true, "git diff main...work": true, "git show HEAD:a.go": true,
		"find . -name '*.go' -type f": true, "rg -n todo": true, "git log --oneline -5": true, "cat /srv/ws/w1/a": true, "ls;": true,
		"echo hello": true, "grep -e a -o b": true,

		"": false, " ": false, ";": false, "ls ;; ls": false, "ls &": false, "ls & rm x": false, "| ls": false, "ls | | ls": false,
		"rm x": false, "ls && rm x": false, "ls | tee x": false, "cat a > b": false, "cat < /etc/passwd": false, "cat <(ls)": false,
		"echo $(rm x)": false, "echo `rm x`": false, "echo $HOME": false, "echo \"$(rm x)\"": false, "echo \"a\\\"$x\"": false,
		"cat ~/.ssh/id_rsa": false, "cat /etc/passwd": false, "cat ../x": false, "cat a/../../x": false, "cat '/etc/passwd'": false,
		"cat {/etc/passwd,x}": false, "cat *": false, "ls\nrm x": false, "ls 'a\nb'": false, "'ls": false, "\"ls": false, "ls \\; rm x": false,
		"grep -f/etc/passwd x": false, "grep --file=/etc/passwd x": false, "diff --to-file=../x a": false, "cat a:/etc/x": false,
		"find . -exec rm {} ;": false, "find . -exec rm x": false, "find . -delete": false, "find . -del": false, "find . -fprintf x": false, "find . -ok x": false,
		"rg --pre=sh x": false, "rg --pre sh x": false, "git -C /x status": false, "git push": false, "git": false, "git -c a=b status": false,
		"git diff --output=x": false, "git diff --outp=x": false, "git log --o=x": false, "git diff --ext-diff": false, "git show --textconv": false,
		"git branch -D x": false, "FOO=bar ls": false, "./ls": false, "/bin/ls": false, "sudo ls": false, "sh -c ls": false, "env": false,
		"if true": false, "! ls": false, "ls # x": false, "(ls)": false, strings.Repeat("ls ", 3000): false, "ls \x00": false,
		"git diff ../x": false, "git show HEAD:../x": false, "git diff --no-index /etc/passwd a": false,
	} {
		d, _ := (*rules.Rules)(nil).Decide("permissive", workspace, prompt(t, command("Bash", line)))
		got := d.Answer
		if (got == "allow") != want {
			t.Errorf("%q: %q, want allowed to be %v", line, got, want)
		}
	}
}

// Without a known workspace only relative paths are inside it.
func TestUnknownWorkspace(t *testing.T) {
	for path, want := range map[string]string{"a.go": "allow", "/a.go": "", "/": ""} {
		for _, ws := range []string{"", "relative", "/"} {
			d, _ := (*rules.Rules)(nil).Decide("permissive", ws, prompt(t, approval("Write", `{"file_path":"`+path+`"}`)))
			got := d.Answer
			if got != want {
				t.Errorf("%q in %q: %q, want %q", path, ws, got, want)
			}
		}
	}
}

func TestRules(t *testing.T) {
	bash := `{"id":"p1","kind":"approval","text":"Bash: git push","tool":"Bash","input":{"command":"git push","description":"list files","env":{"A":["secret"]}}` + optionsAlways
	question := `{"id":"p1","kind":"question","text":"Which colour?","tool":"AskUserQuestion","input":{"questions":[]},"options":[{"id":"1","label":"Red"},{"id":"2","label":"Blue"}]}`
	mcp := approval("mcp__db__query", `{"statement":"select 1","n":[1,"x"]}`)
	type list = []core.AutoAnswerRule
	for _, tt := range []struct {
		name   string
		rules  list
		preset string
		prompt string
		want   string // "": people are asked
	}{
		{"None", nil, "standard", bash, ""},
		{"Any", list{{Answer: "allow"}}, "standard", bash, "allow"},
		{"Option", list{{Answer: "allow_always"}}, "standard", bash, "allow_always"},
		{"NoSuchOption", list{{Answer: "maybe"}}, "standard", bash, ""},
		{"NoSuchOptionEndsIt", list{{Answer: "maybe"}, {Answer: "allow"}}, "autonomous", bash, ""},
		{"FirstCounts", list{{Answer: "deny"}, {Answer: "allow"}}, "standard", bash, "deny"},
		{"RuleBeforePreset", list{{Tool: "Bash", Match: "git push", Answer: "deny"}}, "autonomous", bash, "deny"},
		{"PresetBehindRules", list{{Tool: "Write", Answer: "deny"}}, "autonomous", bash, "allow"},
		{"Preset", list{{Preset: "readonly", Answer: "deny"}, {Preset: "standard", Answer: "allow"}}, "standard", bash, "allow"},
		{"EmptyPresetIsStandard", list{{Preset: "standard", Answer: "allow"}}, "", bash, "allow"},
		{"OtherPreset", list{{Preset: "permissive", Answer: "allow"}}, "standard", bash, ""},
		{"Kind", list{{Kind: "question", Answer: "1"}, {Kind: "approval", Answer: "deny"}}, "standard", bash, "deny"},
		{"Tool", list{{Tool: "B*", Answer: "allow"}}, "standard", bash, "allow"},
		{"ToolWhole", list{{Tool: "Bas", Answer: "allow"}}, "standard", bash, ""},
		{"ToolCase", list{{Tool: "bash", Answer: "allow"}}, "standard", bash, ""},
		{"ToolQuestionMark", list{{Tool: "Bas?", Answer: "allow"}}, "standard", bash, "allow"},
		{"ToolMetaIsPlain", list{{Tool: "B.sh", Answer: "allow"}}, "standard", bash, ""},
		{"ToolClass", list{{Tool: "[AB]ash", Answer: "allow"}}, "standard", bash, "allow"},
		{"ToolEscape", list{{Tool: `\Bash`, Answer: "allow"}}, "standard", bash, "allow"},
		{"ToolWithSlash", list{{Tool: "db*", Answer: "allow"}}, "standard", approval("db/query", "{}"), "allow"},
		{"ToolSlashIsOne", list{{Tool: "db/query", Answer: "allow"}}, "standard", approval("db/query", "{}"), "allow"},
		{"OtherKind", list{{Kind: "survey", Answer: "a"}}, "standard", `{"kind":"survey","options":[{"id":"a"}]}`, "a"},
		{"ToolOfMCP", list{{Tool: "mcp__*__query", Answer: "allow"}}, "standard", mcp, "allow"},
		{"MatchText", list{{Match: "^Bash: git push$", Answer: "allow"}}, "standard", bash, "allow"},
		{"MatchCommand", list{{Match: "^git push$", Answer: "allow"}}, "standard", bash, "allow"},
		{"MatchNotDescription", list{{Match: "^list files$", Answer: "allow"}}, "standard", bash, ""},
		{"DenyMatchesDescription", list{{Match: "^list files$", Answer: "deny"}}, "standard", bash, "deny"},
		{"DenyMatchesNumber", list{{Match: `^9007199254740993$`, Answer: "deny"}, {Answer: "allow"}}, "standard", approval("pay", `{"command":"x","to":[{"account":9007199254740993}]}`), "deny"},
		{"DenyMatchesNoOtherNumber", list{{Match: `^9007199254740993$`, Answer: "deny"}, {Answer: "allow"}}, "standard", approval("pay", `{"command":"x","to":[{"account":9007199254740992}]}`), "allow"},
		{"AllowMatchesNoHiddenNumber", list{{Match: `^7$`, Answer: "allow"}}, "standard", approval("pay", `{"command":"x","to":7}`), ""},
		{"DenyMatchesDeep", list{{Match: "^secret$", Answer: "deny"}}, "standard", bash, "deny"},
		{"DenyMatchesDeeper", list{{Match: "^secret$", Answer: "deny"}, {Answer: "allow"}}, "standard", approval("pay", `{"command":"x","to":`+strings.Repeat("[", 90)+`"secret"`+strings.Repeat("]", 90)+`}`), "deny"},
		{"MatchAnyInputWithoutSubject", list{{Match: "^select 1$", Answer: "allow"}}, "standard", mcp, "allow"},
		{"MatchNothing", list{{Match: "rm", Answer: "allow"}}, "standard", bash, ""},
		{"Question", list{{Kind: "question", Match: "colour", Answer: "2"}}, "standard", question, "2"},
		{"QuestionTakesNoAllow", list{{Answer: "allow"}}, "autonomous", question, ""},
		{"LoginNever", list{{Answer: "allow"}}, "autonomous", `{"kind":"login","options":[{"id":"allow"}]}`, ""},
		{"MatchList", list{{Match: "^rm -rf x$", Answer: "deny"}}, "autonomous", approval("Bash", `{"command":["rm","-rf","x"]}`), "deny"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compiled, problems := rules.Compile(tt.rules, "policy.autoAnswer")
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got, ok := compiled.Decide(tt.preset, workspace, prompt(t, tt.prompt))
			if got.Answer != tt.want || ok != (tt.want != "") {
				t.Errorf("%+v, %v, want %q", got, ok, tt.want)
			}
			if ok && !got.Preset && !strings.HasPrefix(got.Rule, "policy.autoAnswer[") || got.Preset && got.Rule == "" {
				t.Errorf("%+v does not say which rule it is of", got)
			}
		})
	}
}

func TestCompileProblems(t *testing.T) {
	_, problems := rules.Compile([]core.AutoAnswerRule{
		{Answer: "allow"},
		{Preset: "lax", Kind: "login", Tool: strings.Repeat("x", 201), Match: "a(", Answer: " "},
		{Kind: "A survey", Match: strings.Repeat("x", 2001), Answer: strings.Repeat("x", 201)},
		{Match: `(?=x)`, Answer: "deny"},
		{Tool: "a[", Answer: "deny"},
		{Kind: strings.Repeat("x", 5000), Answer: "deny"},
	}, "policy.autoAnswer")
	want := []string{
		`policy.autoAnswer[1].preset: "lax" is not a preset; use one of readonly, standard, permissive, autonomous, or leave it out for all`,
		`policy.autoAnswer[1].kind: a login cannot be answered by a rule; use approval or question, or leave it out`,
		`policy.autoAnswer[1].tool: is longer than 200 bytes; use a shorter glob, * stands for any characters`,
		"policy.autoAnswer[1].match: is not a regular expression (RE2): missing closing ): `a(`",
		`policy.autoAnswer[1].answer: is missing; use allow, deny, or the id of an option`,
		`policy.autoAnswer[2].kind: "A survey" is not a kind of prompt; use approval or question, or leave it out`,
		`policy.autoAnswer[2].match: is longer than 2000 bytes; use several rules`,
		`policy.autoAnswer[2].answer: is longer than 200 bytes; use allow, deny, or the id of an option`,
		"policy.autoAnswer[3].match: is not a regular expression (RE2): invalid or unsupported Perl syntax: `(?=`",
		`policy.autoAnswer[4].tool: "a[" is not a glob: a [ without its ], or a \ at the end`,
		`policy.autoAnswer[5].kind: "` + strings.Repeat("x", 200) + `" is not a kind of prompt; use approval or question, or leave it out`,
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r, problems := rules.Compile(make([]core.AutoAnswerRule, 101), "x"); r != nil || len(problems) != 1 || problems[0].Path != "x" {
		t.Errorf("too many rules: %v, %v", r, problems)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("permissive", "B*", "git", "allow", command("Bash", "git log | head"))
	f.Add("readonly", "", "^x$", "2", `{"kind":"question","text":"x","options":[{"id":"2"}]}`)
	f.Add("autonomous", "?", "(", "deny", approval("apply_patch", `{"command":["*** Add File: ../x"],"path":7}`))
	f.Fuzz(func(t *testing.T, preset, tool, match, answer, raw string) {
		compiled, problems := rules.Compile([]core.AutoAnswerRule{{Tool: tool, Match: match, Answer: answer}}, "r")
		if (compiled == nil) != (len(problems) > 0) {
			t.Fatalf("%v, %v", compiled, problems)
		}
		p, err := rules.ReadPrompt(json.RawMessage(raw))
		if err != nil {
			return
		}
		d, ok := compiled.Decide(preset, workspace, p)
		got := d.Answer
		if ok != (got != "") {
			t.Fatalf("%q, %v", got, ok)
		}
		if !ok {
			return
		}
		offered := len(p.Options) == 0 && p.Kind == "approval" && (got == "allow" || got == "deny")
		for _, o := range p.Options {
			offered = offered || o.ID == got
		}
		if !offered || p.Kind == "login" {
			t.Fatalf("%q is not offered by %s", got, raw)
		}
	})
}

// No command that is let through holds what a shell would expand, redirect or run within.
func FuzzReadingCommand(f *testing.F) {
	for _, s := range []string{"ls -l | head", "cat 'a' \"b\"", "git show HEAD:a", "find . -name x", "ls\\", "a;;b", "grep \"x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		p := rules.Prompt{Kind: "approval", Tool: "Bash", Input: map[string]any{"command": line}}
		if got, _ := (*rules.Rules)(nil).Decide("permissive", workspace, p); got.Answer != "allow" {
			return
		}
		var bare strings.Builder // what stands outside single quotes
		for i, part := range strings.Split(line, "'") {
			if i%2 == 0 {
				bare.WriteString(part)
			}
		}
		if !strings.Contains(line, "\"") && strings.ContainsAny(bare.String(), "$`<>(){}*\\\n") {
			t.Fatalf("%q is allowed", line)
		}
		if strings.Contains(line, "/etc/") && !strings.Contains(line, "a/etc/") && strings.HasPrefix(line, "cat /etc/") {
			t.Fatalf("%q is allowed", line)
		}
	})
}
