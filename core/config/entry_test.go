package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/config"
)

func TestEntryDefaults(t *testing.T) {
	c := mustParse(t, `
plugins: {pen: }
runtimes: {local: {plugin: a}, docker: {plugin: b}, kubernetes: {plugin: c}, pen: {plugin: pen}}
agentTypes: {shell: {command: bash}}
`)
	if p := c.Plugins.Entries["pen"]; p == nil || !p.Enabled || p.Required || !p.Config.IsZero() {
		t.Errorf("plugin %+v", p)
	}
	for name, want := range map[string]int{"local": 10, "docker": 20, "kubernetes": 30, "pen": 100} {
		if got := c.Runtimes[name].Priority; got != want {
			t.Errorf("priority of %s is %d, want %d", name, got, want)
		}
	}
	want := &config.AgentType{Command: "bash", Ready: config.Ready{Timeout: time.Minute}}
	if got := c.AgentTypes["shell"]; !reflect.DeepEqual(got, want) {
		t.Errorf("agent type %+v", got)
	}
}

func TestEnv(t *testing.T) {
	c := mustParse(t, "plugins: {pen: {env: {B: 010, A: yes, C: ''}}}")
	vars := c.Plugins.Entries["pen"].Env
	if got := vars.Names(); !reflect.DeepEqual(got, []string{"A", "B", "C"}) {
		t.Errorf("names %v", got)
	}
	if got, want := vars.Reveal(), map[string]string{"A": "yes", "B": "010", "C": ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
}

func TestChangesOfEntries(t *testing.T) {
	prev := mustParse(t, "plugins: {a: {env: {A: x}}, gone: {required: true}}\nruntimes: {r: {url: 'http://h', token: t}}")
	next := mustParse(t, "plugins: {a: {env: {A: y}}, new: {}}\nruntimes: {r: {url: 'http://h', token: u}}")
	want := []config.Change{
		{Key: "plugins.gone", Old: "declared", New: "absent", Reloaded: true},
		{Key: "plugins.new", Old: "absent", New: "declared", Reloaded: true},
		{Key: "plugins.a.env", Old: "A=***", New: "A=***"},
		{Key: "plugins.gone.required", Old: "true", New: "false", Reloaded: true},
		{Key: "runtimes.r.token", Old: "***", New: "***"},
	}
	if got := config.Changes(prev, next); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %+v", got)
	}
	if got := config.Changes(next, next); len(got) != 0 {
		t.Errorf("changes to itself %+v", got)
	}
}

func TestValidateEntriesInCode(t *testing.T) {
	c := config.Default()
	c.Plugins.Entries = map[string]*config.Plugin{
		"dir": {Enabled: true}, "Big": {Enabled: true},
		"pen": {Kind: "ink", SHA256: "abc", Required: true, Env: config.Env{"1": config.NewSecret(canary)}},
	}
	c.Runtimes = map[string]*config.Runtime{"r": {}, "s": {Plugin: "../x", Priority: -1}}
	c.AgentTypes = map[string]*config.AgentType{"codex": {Command: "x", Idle: time.Second, Ready: config.Ready{Timeout: time.Second}}}
	var keys []string
	err := c.Validate()
	for _, p := range config.Problems(err) {
		keys = append(keys, p.Key)
	}
	want := "plugins.Big plugins.dir agentTypes.codex plugins.pen.kind plugins.pen.sha256 plugins.pen.env runtimes.s.plugin runtimes.s.priority " +
		"plugins.pen.required runtimes.r.plugin"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("problems of %s\nwant        %s", got, want)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error shows a secret: %v", err)
	}
}
