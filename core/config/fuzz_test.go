package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// Whatever the text: no panic, an error names at least one problem, and what was accepted validates and
// survives being shown and read again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.good.yaml", "testdata/*.bad.yaml"} {
		for _, path := range glob(f, pattern) {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data, []byte("log: {level: debug}"))
		}
	}
	f.Add([]byte("a: &a [*a]"), []byte("? ? ? :"))
	f.Add([]byte("plugins: {a: {config: {b: [1, -0.0, 1e3, ~, {c: '${HOST}', d: ${PORT}}]}, env: {A: ${TRICKY}}}}"), []byte("plugins: {a: {config: {b: {c: 1}}}}"))
	f.Add([]byte("runtimes: {r: {url: 'http://h', token: 1}}"), []byte("agentTypes: {x: {command: c, ready: {pattern: '.*'}}}"))
	f.Add([]byte("server: {listen: \"${HOST}\\0\"}"), []byte("store: {path: '$$${A:-}$'}"))
	f.Add([]byte("threads: {autoAnswer: [{tool: 'a*', answer: '$${x'}, {answer: allow}]}"), []byte("threads: {repositories: {a: {url: 'u@h:p', branch: b}}}"))
	f.Add([]byte(oneEndpoint), []byte("webhooks: {endpoints: [{url: 'https://h', events: ['*'], secret: '${HOST}', filters: {metadata: {a: '$${b'}}}]}"))
	f.Fuzz(func(t *testing.T, main, dropIn []byte) {
		files := []config.File{{Name: "/etc/w/wardroom.yaml", Data: main}, {Name: "/etc/w/conf.d/x.yaml", Data: dropIn}}
		c, err := config.Parse(files, config.Options{Lookup: testEnv})
		if err != nil {
			problems := config.Problems(err)
			if len(problems) == 0 || c != nil {
				t.Fatalf("%v with %d problems, config %v", err, len(problems), c)
			}
			for _, p := range problems {
				if p.Reason == "" || p.File == "" {
					t.Fatalf("a problem without a place or a reason: %+v", p)
				}
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		shown, err := config.Show(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := config.Parse([]config.File{{Name: "/shown.yaml", Data: shown}}, config.Options{Lookup: noEnv})
		if err != nil {
			t.Fatalf("what Show printed is refused: %v\n%s", err, shown)
		}
		for _, change := range config.Changes(c, again) {
			if !strings.Contains(change.Old, "***") { // a secret comes back as ***
				t.Fatalf("what Show printed reads as something else: %+v\n%s", change, shown)
			}
		}
	})
}
