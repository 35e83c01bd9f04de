package cmd

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core/config"
)

// engineSocket is where the runtime for containers looks for its engine.
const engineSocket = "/var/run/docker.sock"

var (
	variableName      = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	variableReference = regexp.MustCompile(`^\$\{([A-Z][A-Z0-9_]*)\}$`)
)

// foundRuntime is a place for agents as setup finds it on this machine.
type foundRuntime struct {
	Name      string   `json:"name"`
	Installed bool     `json:"installed"` // its plugin
	Lacks     []string `json:"lacks"`     // for agents to run there, and what to do about it
}

func (r foundRuntime) String() string {
	if len(r.Lacks) == 0 {
		return "runtime " + r.Name + ": it has what agents need"
	}
	return "runtime " + r.Name + " lacks: " + strings.Join(r.Lacks, "; ")
}

// findRuntimes looks for what each runtime needs.
func (s *setup) findRuntimes(ctx context.Context) []foundRuntime {
	lacks := map[string][]string{"local": localLacks(), "docker": dockerLacks(ctx, engineSocket, serviceUser), "kubernetes": nil}
	if os.Getenv("KUBERNETES_SERVICE_HOST") == "" && !exists(filepath.Join(filepath.Dir(s.path), "kubeconfig")) && s.currentCluster() == setupNone {
		lacks["kubernetes"] = []string{"a kubeconfig of the cluster, such as " + filepath.Join(filepath.Dir(s.path), "kubeconfig")}
	}
	found := make([]foundRuntime, 0, len(lacks))
	for _, name := range []string{"local", "docker", "kubernetes"} {
		r := foundRuntime{Name: name, Installed: installedPlugin(s.others, "runtime-"+name), Lacks: lacks[name]}
		if !r.Installed {
			r.Lacks = slices.Insert(r.Lacks, 0, "its plugin: install the package wardroom-runtime-"+name)
		}
		if r.Lacks == nil {
			r.Lacks = []string{}
		}
		found = append(found, r)
	}
	return found
}

// offers reports whether the plugin of a runtime is installed.
func (s *setup) offers(name string) bool {
	return slices.ContainsFunc(s.found, func(r foundRuntime) bool { return r.Name == name && r.Installed })
}

func (s *setup) showFound() error {
	for _, r := range s.found {
		if _, err := fmt.Fprintln(s.c.deps.Stderr, clean(r.String())); err != nil {
			return err
		}
	}
	return nil
}

// localLacks returns what agents of this machine lack.
func localLacks() (lacks []string) {
	if _, err := exec.LookPath("git"); err != nil {
		lacks = append(lacks, "git, for threads with a repository: install git 2.36 or newer")
	}
	if found, missing := codingTools(); len(found) == 0 {
		lacks = append(lacks, "a coding tool: install one of "+strings.Join(missing, ", ")+" on the PATH, or declare another program in agentTypes")
	}
	return lacks
}

// codingTools returns which of the built-in types' programs are on the PATH.
func codingTools() (found, missing []string) {
	for _, name := range []string{"claude", "codex", "gemini"} {
		if _, err := exec.LookPath(name); err == nil {
			found = append(found, name)
		} else {
			missing = append(missing, name)
		}
	}
	return found, missing
}

// serviceUser is who the packages run the service as.
const serviceUser = "wardroom"

// dockerLacks returns what agents in containers lack: an engine that answers, and the right of the service to use it.
func dockerLacks(ctx context.Context, socket, who string) []string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if !exists(socket) {
		return []string{"an engine at " + socket + ": install and start docker, or set runtimes.docker.config.socket"}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil && !os.IsPermission(err) {
		return []string{"an engine that answers at " + socket + ": systemctl start docker"}
	}
	if err == nil {
		_ = conn.Close() // nothing was said
	}
	if group, ok := foreignSocket(socket, who); ok {
		return []string{"the right of the service to use " + socket + ": usermod -aG " + group + " " + who + ", and restart it"}
	}
	return nil
}

// missingPlugins returns those that the configuration uses and that are not installed.
func (s *setup) missingPlugins(cfg *config.Config) (missing []string) {
	wanted := pluginsOf(cfg)
	for _, name := range wanted {
		if entry := cfg.Plugins.Entries[name]; (entry == nil || entry.Path == "") && !installedPlugin(cfg, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// pluginsOf returns all plugins that a configuration has run.
func pluginsOf(cfg *config.Config) (names []string) {
	for _, r := range cfg.Runtimes {
		names = append(names, r.Plugin)
	}
	provider, _ := cfg.Security.Secrets.Plugin()
	names = append(slices.AppendSeq(names, maps.Keys(cfg.Plugins.Entries)), provider, "audit-"+cfg.Security.Audit.Destination)
	names = slices.DeleteFunc(names, func(name string) bool { return cfg.PluginUser(name) == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// packageOf returns the package that a plugin of ours comes in.
func packageOf(plugin string) string {
	for _, group := range []string{"secrets", "audit"} {
		if strings.HasPrefix(plugin, group+"-") {
			return "wardroom-" + group
		}
	}
	return "wardroom-" + plugin
}

// installedPlugin reports whether a plugin lies where the server looks for them.
func installedPlugin(cfg *config.Config, name string) bool {
	dir, _, err := pluginDir(cfg.Plugins.Dir, "")
	return err == nil && exists(filepath.Join(dir, name))
}
