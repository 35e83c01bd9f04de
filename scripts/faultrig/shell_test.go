package main

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	sent := []message{{"a", fateSent}, {"b", fateUnknown}, {"c", fateNot}, {"d", fateOpen}, {"e", fateSent}}
	for _, tt := range []struct{ ledger, want string }{
		{"a e", ""},
		{"a b d e", ""},
		{"a b", "lost: message e"},
		{"a a e", "doubled: message a"},
		{"a b b e", "doubled: message b"},
		{"a c e", "told wrongly: message c"},
		{"e a", "order: message e"},
		{"ae", "merged"},
		{"a e x", `merged: the ledger has "x"`},
	} {
		var text []string
		for _, err := range judge(sent, strings.Fields(tt.ledger)) {
			text = append(text, err.Error())
		}
		if got := strings.Join(text, "; "); (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.ledger, got, tt.want)
		}
	}
}

func TestDrawStrikes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	cores, plugins, both := 0, 0, 0
	for range 100 {
		list := drawStrikes(random)
		if !list[0].core {
			t.Fatal("a round in which the core may live: crashes of the plugin would add up to its quarantine")
		}
		for _, s := range list {
			switch {
			case s.core && s.plugin:
				both++
			case s.core:
				cores++
			case s.plugin:
				plugins++
			default:
				t.Fatal("a strike at nothing")
			}
		}
	}
	if cores == 0 || plugins == 0 || both == 0 {
		t.Errorf("%d strikes at the core, %d at the plugin, %d at both", cores, plugins, both)
	}
}

func TestRuntimeCode(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"code":"CONFLICT","details":{"runtimeCode":"BLOCKED"}}}`: "BLOCKED",
		`{"sent":true}`: "", `oops`: "",
	} {
		if got := runtimeCode([]byte(body)); got != want {
			t.Errorf("%s has %q", body, got)
		}
	}
}

func TestShellReport(t *testing.T) {
	var out strings.Builder
	r := shellResult{number: 4, strikes: []strike{{core: true}, {plugin: true}, {core: true, plugin: true}}, counts: map[fate]int{fateSent: 7, fateUnknown: 1}}
	r.print(&out)
	for _, want := range []string{"round   4  ok", "7 messages", "1 of unknown", "kill core +0 ms, plugin +0 ms, plugin and core +0 ms"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q has no %q", out.String(), want)
		}
	}
	r.problems = judge([]message{{"a", fateSent}}, nil)
	out.Reset()
	r.print(&out)
	r.explain(&out, "/dir")
	if !strings.Contains(out.String(), "BROKEN (1)") || !strings.Contains(out.String(), "lost: message a") {
		t.Error(out.String())
	}
}
