package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
)

func TestAutoAnswerRules(t *testing.T) {
	c := mustParse(t, "threads: {autoAnswer: [{tool: 'Bash*', match: ^git, answer: allow}, {kind: question, answer: '2'}]}")
	want := []core.AutoAnswerRule{{Tool: "Bash*", Match: "^git", Answer: "allow"}, {Kind: "question", Answer: "2"}}
	if got := c.Threads.AutoAnswer; !reflect.DeepEqual(got, want) {
		t.Errorf("rules %+v, want %+v", got, want)
	}
}

// A later file replaces the rules, and joins the repositories.
func TestThreadsOfDropIns(t *testing.T) {
	c, err := config.Parse([]config.File{
		{Name: "/w.yaml", Data: []byte("threads: {autoAnswer: [{answer: allow}], repositories: {a: {url: 'https://h/a'}}}")},
		{Name: "/conf.d/x.yaml", Data: []byte("threads: {autoAnswer: [{answer: deny}], repositories: {a: {branch: b}, c: {url: 'file:///c'}}}")},
	}, config.Options{Lookup: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Threads.AutoAnswer; len(got) != 1 || got[0].Answer != "deny" {
		t.Errorf("rules %+v", got)
	}
	want := map[string]*config.Repository{"a": {URL: "https://h/a", Branch: "b"}, "c": {URL: "file:///c"}}
	if got := c.Threads.Repositories; !reflect.DeepEqual(got, want) {
		t.Errorf("repositories %+v", got)
	}
}

func TestChangesOfThreads(t *testing.T) {
	prev := mustParse(t, "threads: {root: /a, repositories: {a: {url: 'https://h/a', password: one}}}")
	next := mustParse(t, "threads: {root: /b, autoAnswer: [{answer: deny}], repositories: {a: {url: 'https://h/a', password: two}, b: {url: 'file:///b'}}}")
	want := []config.Change{
		{Key: "threads.repositories.b", Old: "absent", New: "declared", Reloaded: true},
		{Key: "threads.root", Old: "/a", New: "/b"},
		{Key: "threads.autoAnswer", Old: "", New: "[{answer: deny}]", Reloaded: true},
		{Key: "threads.repositories.a.password", Old: "***", New: "***", Reloaded: true},
		{Key: "threads.repositories.b.url", Old: "", New: "file:///b", Reloaded: true},
	}
	if got := config.Changes(prev, next); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %+v", got)
	}
	merged := prev.With(next)
	if got := merged.Threads.Root; got != "/a" {
		t.Errorf("a reload moves the workspaces to %s", got)
	}
	if got := merged.Threads.Repositories["a"].Password.Reveal(); got != "two" {
		t.Errorf("the password is %q after a reload", got)
	}
}

func TestBoundsOfRules(t *testing.T) {
	for text, want := range map[string]string{
		"[" + strings.Repeat("{answer: allow},", 101) + "]":           "threads.autoAnswer",
		"[{answer: allow, tool: " + strings.Repeat("x", 201) + "}]":   "threads.autoAnswer[0].tool",
		"[{answer: allow, match: " + strings.Repeat("x", 2001) + "}]": "threads.autoAnswer[0].match",
		"[{answer: " + strings.Repeat("x", 201) + "}]":                "threads.autoAnswer[0].answer",
	} {
		_, err := parse("threads: {autoAnswer: " + text + "}")
		if problems := config.Problems(err); len(problems) != 1 || problems[0].Key != want {
			t.Errorf("problems %v, want one of %s", problems, want)
		}
	}
}

func TestValidateThreadsInCode(t *testing.T) {
	c := config.Default()
	c.Threads.AutoAnswer = []core.AutoAnswerRule{{Answer: "allow"}, {Preset: "none", Answer: "allow"}}
	c.Threads.Repositories = map[string]*config.Repository{"a": {}, "B": {URL: "https://h/b"}}
	var keys []string
	for _, p := range config.Problems(c.Validate()) {
		keys = append(keys, p.Key)
	}
	want := []string{"threads.repositories.B", "threads.autoAnswer[1].preset", "threads.repositories.a.url"}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("problems of %v, want %v", keys, want)
	}
}
