package config_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// everyKeyChanged is a configuration in which each key differs from its default.
func everyKeyChanged(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load("testdata/every-key.good.yaml", config.Options{Lookup: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	// No file may give these beside the names of files, which it has.
	c.Security.MTLS.ServerCertSecret, c.Security.MTLS.ClientCASecret = "wardroom-tls", "vault:wardroom-ca#bundle.pem"
	return c
}

// namesOfEntries are the sections whose keys the operator chooses, with a name that every-key.good.yaml has there.
var namesOfEntries = map[string]string{"plugins": "runtime-local", "runtimes": "local", "agentTypes": "shell", "threads.repositories": "app"}

// entryKey returns the key of an entry without its name: runtimes.url of runtimes.local.url. It is "" for a key of
// no entry, and the section for the entry itself.
func entryKey(key string) string {
	for section := range namesOfEntries {
		rest, ok := strings.CutPrefix(key, section+".")
		if !ok || (section == "plugins" && (rest == "dir" || rest == "stateDir" || rest == "trustedKeys")) {
			continue
		}
		_, name, below := strings.Cut(rest, ".")
		if below {
			return section + "." + name
		}
		return section
	}
	return ""
}

// The packaged file says (reload) beside a key exactly if With takes it over, of what is there already: entries that are new are
// taken over as a whole, but for agent types.
func TestReloadIsWhatTheFileSays(t *testing.T) {
	base := config.Default()
	base.Security.Audit.Destination, base.Security.Secrets.Provider = "cloudwatch", "kubernetes"
	all := config.Changes(base, everyKeyChanged(t))
	data, err := os.ReadFile("../../configs/wardroom.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sample := map[string]string{}
	var static []config.Change
	for _, change := range all {
		key := entryKey(change.Key)
		if key == "" {
			static = append(static, change)
			continue
		}
		if reloaded := !strings.HasPrefix(key, "agentTypes"); change.Reloaded != reloaded {
			t.Errorf("%s is said to be reloaded: %v", change.Key, change.Reloaded)
		}
		if _, isSection := namesOfEntries[key]; !isSection {
			sample[key] = change.Key
		}
	}
	if keys := regexp.MustCompile(`(?m)^ *#  +#[a-zA-Z0-9]+: `).FindAll(data, -1); len(keys) != len(sample) {
		t.Errorf("every-key.good.yaml changes %d keys of entries, of %d: %v", len(sample), len(keys), sample)
	}
	all = static
	if keys := regexp.MustCompile(`(?m)^ *#[a-zA-Z]+:`).FindAll(data, -1); len(keys) != len(all) {
		t.Errorf("every-key.good.yaml changes %d keys of %d", len(all), len(keys))
	}
	// What remains after the reloadable part of the new one was taken over waits for a restart.
	merged := base.With(everyKeyChanged(t))
	var waiting []string
	for _, change := range config.Changes(merged, everyKeyChanged(t)) {
		waiting = append(waiting, change.Key)
	}
	want := config.NeedsRestart(base, everyKeyChanged(t))
	if !reflect.DeepEqual(waiting, want) {
		t.Errorf("With leaves %v, NeedsRestart says %v", waiting, want)
	}
	for _, change := range all {
		if marked := strings.Contains(comment(t, string(data), change.Key), "(reload)"); marked != change.Reloaded {
			t.Errorf("%s: marked (reload) %v, reloaded %v", change.Key, marked, change.Reloaded)
		}
	}
}

// comment returns the lines of the packaged file that describe a key.
func comment(t *testing.T, file, key string) string {
	t.Helper()
	section, name := "", key[strings.LastIndex(key, ".")+1:]
	if at := strings.LastIndex(key, "."); at >= 0 {
		section = key[:at]
		section = section[strings.LastIndex(section, ".")+1:]
	}
	_, rest, ok := strings.Cut(file, section+":\n")
	text, _, found := strings.Cut(rest, "#"+name+": ")
	if !ok || !found {
		t.Fatalf("%s is not in the packaged file", key)
	}
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	from := len(lines)
	for from > 0 && strings.HasPrefix(strings.TrimSpace(lines[from-1]), "# ") {
		from--
	}
	return strings.Join(lines[from:], "\n")
}

func TestNeedsRestart(t *testing.T) {
	prev := mustParse(t, "server: {listen: '127.0.0.1:1'}\nlog: {level: info}\n")
	next := mustParse(t, "server: {listen: '127.0.0.1:2'}\nlog: {level: debug, format: json}\nengine: {maxActive: 5}\n")
	if got, want := config.NeedsRestart(prev, next), []string{"server.listen", "log.format"}; !reflect.DeepEqual(got, want) {
		t.Errorf("NeedsRestart = %v, want %v", got, want)
	}
	if got := config.NeedsRestart(prev, prev); got != nil {
		t.Errorf("NeedsRestart of the same = %v", got)
	}
	want := []config.Change{
		{Key: "server.listen", Old: "127.0.0.1:1", New: "127.0.0.1:2"},
		{Key: "engine.maxActive", Old: "1000", New: "5", Reloaded: true},
		{Key: "log.level", Old: "info", New: "debug", Reloaded: true},
		{Key: "log.format", Old: "auto", New: "json"},
	}
	if got := config.Changes(prev, next); !reflect.DeepEqual(got, want) {
		t.Errorf("Changes = %+v", got)
	}
}

// What is in effect after a reload shares no entry with what was loaded.
func TestWithIsACopy(t *testing.T) {
	next := mustParse(t, "threads: {repositories: {a: {url: 'https://h/a'}}}")
	config.Default().With(next).Threads.Repositories["a"].URL = "https://h/b"
	if got := next.Threads.Repositories["a"].URL; got != "https://h/a" {
		t.Errorf("the configuration changed to %s", got)
	}
}

func TestEmptyListIsNoChange(t *testing.T) {
	if changes := config.Changes(config.Default(), mustParse(t, "server: {cors: {origins: []}}")); len(changes) != 0 {
		t.Errorf("changes %v", changes)
	}
}

// A reload takes over which plugins run, those that are new as a whole, and nothing else of them.
func TestReloadOfPlugins(t *testing.T) {
	for _, test := range []struct{ name, was, is, runs, waits string }{
		{"disabled", "plugins: {audit-pen: {}}", "plugins: {audit-pen: {enabled: false}}", "", ""},
		{"enabled", "plugins: {audit-pen: {enabled: false}}", "plugins: {audit-pen: {}}", "plugins.audit-pen", ""},
		{"gone", "plugins: {audit-pen: {}}", "{}", "", ""},
		{"new", "{}", "plugins: {audit-pen: {kind: audit, config: {a: 1}}}", "plugins.audit-pen", ""},
		{"new by a runtime", "{}", "runtimes: {r: {plugin: audit-pen, priority: 3, config: {a: 1}}}", "runtimes.r.plugin", ""},
		{"new by both", "{}", "plugins: {audit-pen: {config: {a: 1}}}\nruntimes: {r: {plugin: audit-pen}}", "runtimes.r.plugin", ""},
		{
			"a runtime with settings for one that runs", "plugins: {audit-pen: {kind: runtime}}", "plugins: {audit-pen: {kind: runtime}}\nruntimes: {r: {plugin: audit-pen, config: {a: 2}}}",
			"plugins.audit-pen", "runtimes.r,runtimes.r.plugin,runtimes.r.config",
		},
		{"a server", "{}", "runtimes: {r: {url: 'https://far', token: t0ken}}", "", ""},
		{"a destination", "{}", "security: {audit: {enabled: true, destination: splunk, splunk: {host: h, token: t0ken}}}", "", ""},
		{
			"another destination", "security: {audit: {enabled: true, destination: file}}", "security: {audit: {enabled: true, destination: splunk, splunk: {host: h, token: t0ken}}}", "",
			"security.audit.destination,security.audit.splunk.host,security.audit.splunk.token",
		},
		{
			"a destination with an entry", "plugins: {audit-splunk: {}}", "plugins: {audit-splunk: {}}\nsecurity: {audit: {enabled: true, destination: splunk, splunk: {host: h, token: t0ken}}}", "",
			"security.audit.destination,security.audit.splunk.host,security.audit.splunk.token",
		},
		{"a provider", "{}", "security: {secrets: {provider: vault, vault: {address: 'https://v', auth: {method: token}}}}", "", ""},
		{
			"another provider", "security: {secrets: {provider: kubernetes}}", "security: {secrets: {provider: vault, vault: {address: 'https://v'}}}", "",
			"security.secrets.provider,security.secrets.vault.address",
		},
		{"other settings", "plugins: {audit-pen: {}}", "plugins: {audit-pen: {enabled: false, required: false, kind: audit}}", "", "plugins.audit-pen.kind"},
		{
			"disabled by a new entry", "runtimes: {r: {plugin: audit-pen}}", "runtimes: {r: {plugin: audit-pen}}\nplugins: {audit-pen: {enabled: false}}", "", "",
		},
		{
			"gone, and still used", "runtimes: {r: {plugin: audit-pen}}\nplugins: {audit-pen: {kind: runtime}}", "runtimes: {r: {plugin: audit-pen}}",
			"runtimes.r.plugin", "plugins.audit-pen,plugins.audit-pen.kind",
		},
		{"gone with its runtime", "runtimes: {r: {plugin: audit-pen}}", "{}", "runtimes.r.plugin", "runtimes.r,runtimes.r.plugin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			was, is := mustParse(t, test.was), mustParse(t, test.is)
			now := was.With(is)
			if runs := now.PluginUser("audit-pen"); runs != test.runs {
				t.Errorf("it runs by %q, not %q", runs, test.runs)
			}
			if left := config.NeedsRestart(now, is); !slices.Equal(left, config.NeedsRestart(was, is)) {
				t.Errorf("With leaves %v", left)
			}
			if waits := strings.Join(config.NeedsRestart(was, is), ","); waits != test.waits {
				t.Errorf("waits: %s; want %s", waits, test.waits)
			}
		})
	}
}

// A provider of secrets that is referred to cannot be disabled.
func TestDisabledProvider(t *testing.T) {
	for _, text := range []string{
		"plugins: {secrets-pen: {kind: secret, enabled: false}}\nagentTypes: {t: {command: x, ready: {pattern: x}, env: {A: 'secrets-pen:a#b'}}}",
		"security: {secrets: {provider: vault, vault: {address: 'https://v'}}}\nplugins: {secrets-vault: {enabled: false}}\nagentTypes: {t: {command: x, ready: {pattern: x}, env: {A: 'vault:a#b'}}}",
	} {
		_, err := parse(text)
		if err == nil || !strings.Contains(err.Error(), "agentTypes.t.env.A") || !strings.Contains(err.Error(), "enabled is false") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheckMixed: two files that are good by themselves may come to what neither says, since some keys wait for a restart.
func TestCheckMixed(t *testing.T) {
	parse := func(text string) *config.Config {
		t.Helper()
		c, err := config.Parse([]config.File{{Name: "a.yaml", Data: []byte(text)}}, config.Options{Lookup: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const (
		jwt       = "issuer: 'https://id.example', audience: wardroom, jwksUri: 'https://id.example/keys'"
		keys      = "security:\n  authentication: {apiKeys: {enabled: true}}\n  audit: {enabled: true, level: verbose, retention: 2555d}\n"
		encrypted = "  encryption: {atRest: {enabled: true, file: /etc/store.key}, inTransit: {enabled: true, allowLoopback: true}}\n"
		hipaa     = "  compliance: {hipaa: {enabled: true, phi: {encryptionRequired: true}}}\n"
	)
	for name, tt := range map[string]struct{ old, loaded, want string }{
		"everybody an administrator": {
			"security:\n  authentication: {jwt: {enabled: true, " + jwt + ", defaultScopes: [admin]}}\n  rbac: {enabled: true}\n",
			"security:\n  authentication: {jwt: {enabled: true, " + jwt + ", defaultScopes: ['executions:read']}}\n",
			"security.authentication.jwt.defaultScopes: must not hold admin",
		},
		"a profile without its encryption": {keys, keys + encrypted + hipaa, "security.encryption.atRest.enabled: must be true"},
		"its end, and that of encryption":  {keys + encrypted + hipaa, keys, ""},
		"the trail with its destination": {
			strings.Replace(keys, "retention: 2555d", "destination: splunk, splunk: {host: splunk.example, token: x}", 1),
			"security:\n  authentication: {apiKeys: {enabled: true}}\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := parse(tt.old).With(parse(tt.loaded)).CheckMixed()
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "restart the server instead of a reload") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What is in effect after a reload was read from the files of the reload, as backups and status have to know; what those held nothing
// of before counts from then on.
func TestWithFiles(t *testing.T) {
	read := func(files ...config.File) *config.Config {
		t.Helper()
		c, err := config.Parse(files, config.Options{Lookup: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	main, added := config.File{Name: "wardroom.yaml", Data: []byte("log: {level: warn}\n")}, config.File{Name: "conf.d/20.yaml", Data: []byte("log: {access: true}\n")}
	first := config.File{Name: "conf.d/10.yaml"}
	old := read(main, first)
	merged := old.With(read(main, first, added))
	if got := strings.Join(merged.Files(), " "); got != "wardroom.yaml conf.d/10.yaml conf.d/20.yaml" {
		t.Errorf("read from %s", got)
	}
	if got := strings.Join(old.Files(), " "); got != "wardroom.yaml conf.d/10.yaml" {
		t.Errorf("the former one was read from %s", got)
	}
	added.Data = []byte("# log: {access: true}\r\n")
	for _, tt := range []struct {
		next *config.Config
		want string
	}{
		{read(main, first), ""}, {read(main, first, added), "conf.d/20.yaml: holds nothing"}, {read(main), ""},
		{read(config.File{Name: main.Name, Data: []byte("\ufeff \n")}), "wardroom.yaml: holds nothing"},
	} {
		err := merged.CheckEmptied(tt.next)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.next.Files(), err, tt.want)
		}
	}
}
