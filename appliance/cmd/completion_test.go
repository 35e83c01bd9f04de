package cmd_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// namesForShells serves agents with these names, which a shell would run if it took them for words of its own.
func namesForShells(t *testing.T, names ...string) (url string) {
	t.Helper()
	var rows []string
	for i, name := range names {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprintf(`{"id":"agent_%s%d","name":%s,"status":"connected","healthy":true}`, newest[:25], i, text))
	}
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/agents" {
			say(w, 200, `{"agents":[],"total":0}`)
			return
		}
		say(w, 200, fmt.Sprintf(`{"agents":[%s],"total":%d}`, strings.Join(rows, ","), len(rows)))
	})
}

// Of names that a shell reads as more than a word the ids are offered.
func TestCompletionOfWordsForShells(t *testing.T) {
	for _, name := range []string{
		"a b", "a$(b)", "a`b`", "a;b", "a'b", `a"b`, `a\b`, "a|b", "a&b", "a<b", "a>b", "a(b", "a{b", "a*", "a?", "a[b", "a!b", "#a", "~a", "-a", "--all", "a\tb",
		"a\nb", "a\x1b[31m", "a\u202eb", "a=~b", "",
	} {
		r := execute(t, namesForShells(t, name), "__complete", "agent", "get", "")
		if r.expect(t, 0); !strings.HasPrefix(r.stdout.String(), "agent_"+newest[:25]+"0\t") || strings.Count(r.stdout.String(), "\n") != 2 {
			t.Errorf("%q: %q", name, r.stdout.String())
		}
	}
	for _, name := range []string{"a", "a-b_c.d", "a:b", "a,b@c%d+e/f", "échelle", "日本", "k=v"} {
		r := execute(t, namesForShells(t, name), "__complete", "agent", "get", "")
		if r.expect(t, 0); !strings.HasPrefix(r.stdout.String(), name+"\tagent_") {
			t.Errorf("%q: %q", name, r.stdout.String())
		}
	}
}

// scriptFor returns the script for a shell, and skips the test where the shell is not installed.
func scriptFor(t *testing.T, shell string) (program, script string) {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		t.Skip(err)
	}
	r := execute(t, "", "completion", shell)
	r.expect(t, 0)
	script = filepath.Join(t.TempDir(), "wardroom."+shell)
	if err := os.WriteFile(script, []byte(r.stdout.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return program, script
}

// A completion in fish has the words as they were typed, and runs nothing that stands in quotes.
func TestCompletionInFish(t *testing.T) {
	fish, script := scriptFor(t, "fish")
	dir := t.TempDir()
	url := namesForShells(t, "k=v", "échelle", "two words")
	complete := func(line string) string {
		cmd := exec.Command(fish, "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line)
		cmd.Env, cmd.Dir = append(os.Environ(), "WARDROOM_SERVER="+url, "AT="+url, "HOME="+dir), dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"wardroom sched":                                   "schedule\t",
		"wardroom execution list --status co":              "completed\n",
		"wardroom agent list --output=j":                   "--output=json\n",
		"wardroom agent get k":                             "k=v\tagent_",
		"wardroom agent get é":                             "échelle\tagent_",
		"wardroom agent get agent_":                        "\ttwo words",
		"wardroom --token-file ~/key agent get k":          "k=v\tagent_",
		"wardroom --token-file $HOME/key agent get k":      "k=v\tagent_",
		"wardroom --server $AT agent get k":                "k=v\tagent_",
		"wardroom --server=$AT agent get k":                "k=v\tagent_",
		`wardroom --server "$AT" agent get k`:              "k=v\tagent_",
		`wardroom run triage --input '{"a": 1}' --output `: "jsonpath=",
	} {
		if got := complete(line); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for _, quoted := range []string{"'(touch ran)'", "'$(touch ran)'", "'a; touch ran;'", `"a;touch ran;"`, "'a\n(touch ran)'", `a\;touch\ ran\;`} {
		complete("wardroom agent send ada " + quoted + " --idem")
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Fatalf("%s was run", quoted)
		}
	}
}

// A completion in zsh offers values of the server with what they are, and runs nothing that stands in quotes.
func TestCompletionInZsh(t *testing.T) {
	zsh, script := scriptFor(t, "zsh")
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	url := namesForShells(t, "k:v", "1`touch${IFS}"+ran+"`1")
	rc := "PS1='ready '\nautoload -U compinit\ncompinit -u -D\nsource " + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sitDownWith(t, exec.Command(zsh, "-i"), []string{"WARDROOM_SERVER=" + url, "TERM=dumb", "ZDOTDIR=" + dir, "HOME=" + dir, "LC_ALL=C.UTF-8"})
	p.sees("ready ")
	p.types("wardroom sched\t")
	p.sees("schedule")
	p.types("\x15wardroom agent get k\t")
	p.sees("k:v")
	p.types("\x15wardroom agent send ada '$(touch " + ran + ")' --idem\t")
	p.sees("--idempotency-key")
	p.types("\x15echo $((40+2))\n")
	p.sees("42", "ready ")
	p.types("exit\n")
	<-p.exit
	if _, err := os.Stat(ran); err == nil {
		t.Errorf("what stands in quotes, or a name, was run; shown was %q", p.text())
	}
}

// What begins alike is put on the command line unquoted by bash, and the next completion evaluates that: nothing of it is run.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	url := namesForShells(t, "1`touch${IFS}"+ran+"`1", "1`touch${IFS}"+ran+"`2")
	// A stand-in for what the package bash-completion has: the words as bash splits them.
	const words = `_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }` + "\n"
	file := filepath.Join(dir, "rc")
	if err := os.WriteFile(file, []byte(words+"PS1='ready '\nset +o history\nsource <(wardroom completion bash)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := sitDownWith(t, exec.Command(bash, "--noprofile", "--rcfile", file, "-i"), []string{"WARDROOM_SERVER=" + url, "TERM=dumb", "INPUTRC=/dev/null"})
	p.sees("ready ")
	p.types("wardroom agent get \t")
	p.sees("get ", "1") // of an id, or of a name
	p.types("\t\t")
	p.types("\x15echo $((40+2))\n")
	p.sees("42", "ready ")
	p.types("exit\n")
	<-p.exit
	if _, err := os.Stat(ran); err == nil {
		t.Errorf("a name was run; shown was %q", p.text())
	}
}
