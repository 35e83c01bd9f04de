package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

// trap is a program that leaves a mark when it runs.
type trap struct {
	t      testing.TB
	marks  string
	script string
}

func newTrap(t testing.TB) *trap {
	t.Helper()
	dir := t.TempDir()
	p := &trap{t: t, marks: filepath.Join(dir, "marks"), script: filepath.Join(dir, "trap")}
	text := "#!/bin/sh\necho \"$0 $*\" >> " + p.marks + "\ncat\n"
	if err := os.WriteFile(p.script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// sprung fails the test when the program ran.
func (p *trap) sprung(when string) {
	p.t.Helper()
	if text, err := os.ReadFile(p.marks); err == nil {
		p.t.Fatalf("%s ran a program: %s", when, text)
	}
}

// hostileConfig returns a configuration by which an agent could have our git run its program.
func hostileConfig(program string) string {
	return "[core]\n\tfsmonitor = " + program + "\n\thooksPath = /tmp\n\tsshCommand = " + program + "\n\tpager = " + program +
		"\n\teditor = " + program + "\n\tgitProxy = " + program + "\n\taskPass = " + program + "\n\talternateRefsCommand = " + program +
		"\n[alias]\n\tlog = !" + program + "\n\tdiff = !" + program + "\n[diff]\n\texternal = " + program +
		"\n[diff \"evil\"]\n\tcommand = " + program + "\n\ttextconv = " + program +
		"\n[filter \"evil\"]\n\tclean = " + program + "\n\tsmudge = " + program + "\n\tprocess = " + program + "\n\trequired = true\n" +
		"[merge \"evil\"]\n\tdriver = " + program + "\n[gpg]\n\tprogram = " + program + "\n[commit]\n\tgpgSign = true\n[credential]\n\thelper = !" + program +
		"\n[url \"ext::" + program + "\"]\n\tinsteadOf = file://\n[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n" +
		"[remote \"origin\"]\n\turl = ext::" + program + "\n\tuploadpack = " + program + "\n\treceivepack = " + program + "\n\tvcs = evil\n[uploadpack]\n\tpackObjectsHook = " + program + "\n"
}

const evilAttributes = "* filter=evil diff=evil merge=evil\n"

// use does everything that runs git in a workspace.
func use(t testing.TB, r *rig, src *source, w *core.Workspace, p *trap, when string) {
	t.Helper()
	write(t, filepath.Join(w.Path, "work.txt"), when+"\n")
	if err := r.WriteContext(t.Context(), w.ID, w.ThreadID, []core.ContextFile{{Path: ".wardroom/m.md", Content: "m"}}); err != nil {
		t.Errorf("%s: write: %v", when, err)
	}
	changes, err := r.InspectWorkspace(t.Context(), w.ID)
	if err != nil || changes.Uncommitted == 0 {
		t.Errorf("%s: inspect: %+v, %v", when, changes, err)
	}
	p.sprung(when + ": inspect")
	artifacts, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: true}, when)
	if err != nil || len(artifacts) == 0 {
		t.Errorf("%s: finish: %v, %v", when, artifacts, err)
	}
	p.sprung(when + ": finish")
	src.write("other.txt", when)
	src.commit(when)
	other := r.provision("other", src.spec())
	p.sprung(when + ": provision of another workspace")
	if _, err := r.PruneWorkspaces(t.Context(), core.WorkspacePrune{IDs: []string{other.ID}}); err != nil {
		t.Errorf("%s: prune: %v", when, err)
	}
	p.sprung(when + ": prune")
}

func TestHostileRepository(t *testing.T) {
	p := newTrap(t)
	src := newSource(t)
	src.write(".gitattributes", evilAttributes)
	src.write(".gitconfig", hostileConfig(p.script))
	src.write("config", hostileConfig(p.script))
	src.write("HEAD", "ref: refs/heads/main\n") // reads like a bare repository
	src.write("objects/x", "")
	src.write("refs/x", "")
	src.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::"+p.script+"\n\tupdate = !"+p.script+"\n")
	src.commit("hostile")
	r := newRig(t)
	w := r.provision("x", src.spec())
	p.sprung("provision")
	use(t, r, src, w, p, "hostile repository")
}

// Hooks of the template directory, and of the repository that is copied, do not come along.
func TestHostileHooks(t *testing.T) {
	p := newTrap(t)
	src := newSource(t)
	templates := t.TempDir()
	for _, hook := range []string{"post-checkout", "pre-commit", "pre-push", "reference-transaction", "post-index-change", "update", "fsmonitor-watchman", "pre-auto-gc", "post-commit"} {
		for _, dir := range []string{filepath.Join(templates, "hooks"), filepath.Join(src.dir, ".git", "hooks")} {
			write(t, filepath.Join(dir, hook), "#!/bin/sh\nexec "+p.script+" "+hook+"\n")
			if hook == "update" || hook == "reference-transaction" {
				continue // those of the remote are the remote's matter
			}
			if err := os.Chmod(filepath.Join(dir, hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("GIT_TEMPLATE_DIR", templates)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
	t.Setenv("GIT_CONFIG_VALUE_0", p.script)
	t.Setenv("GIT_EXTERNAL_DIFF", p.script)
	t.Setenv("GIT_DIR", "/nonexistent")
	r := newRig(t)
	w := r.reserve("x", core.WorkspaceSpec{Repo: src.url()})
	if _, err := r.ProvisionWorkspace(t.Context(), w.ID); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "pre-push", "post-index-change", "update"} {
		path := filepath.Join(r.mirror(), "hooks", hook)
		write(t, path, "#!/bin/sh\nexec "+p.script+" "+hook+"\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(w.Path, "work.txt"), "x\n")
	if _, err := r.InspectWorkspace(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if _, err := r.FinishWorkspace(t.Context(), w.ID, core.ThreadFinish{Commit: true, Push: true}, "m"); err != nil {
		t.Error(err)
	}
	p.sprung("a workspace with hooks all around")
}

// What an agent writes into the mirror is put back before git reads it.
func TestHostileMirror(t *testing.T) {
	for name, attack := range map[string]func(t testing.TB, r *rig, w *core.Workspace, program string){
		"config": func(t testing.TB, r *rig, _ *core.Workspace, program string) {
			write(t, filepath.Join(r.mirror(), "config"), hostileConfig(program))
			write(t, filepath.Join(r.mirror(), "info/attributes"), evilAttributes)
		},
		"config link": func(t testing.TB, r *rig, _ *core.Workspace, program string) {
			evil := filepath.Join(t.TempDir(), "evil")
			write(t, evil, hostileConfig(program))
			_ = os.Remove(filepath.Join(r.mirror(), "config"))
			if err := os.Symlink(evil, filepath.Join(r.mirror(), "config")); err != nil {
				t.Fatal(err)
			}
		},
		"config directory": func(t testing.TB, r *rig, _ *core.Workspace, _ string) {
			_ = os.Remove(filepath.Join(r.mirror(), "config"))
			write(t, filepath.Join(r.mirror(), "config/x"), "x")
		},
		"worktree config": func(t testing.TB, r *rig, w *core.Workspace, program string) {
			r.agentGit(w, "config", "extensions.worktreeConfig", "true")
			write(t, filepath.Join(r.mirror(), "worktrees", w.ID, "config.worktree"), hostileConfig(program))
			write(t, filepath.Join(r.mirror(), "config.worktree"), hostileConfig(program))
			write(t, filepath.Join(w.Path, ".gitattributes"), evilAttributes)
		},
		"commondir elsewhere": func(t testing.TB, r *rig, w *core.Workspace, program string) {
			evil := t.TempDir()
			runGit(t, "", nil, "init", "-q", "--bare", evil)
			write(t, filepath.Join(evil, "config"), hostileConfig(program))
			write(t, filepath.Join(r.mirror(), "worktrees", w.ID, "commondir"), evil+"\n")
			write(t, filepath.Join(r.mirror(), "commondir"), evil+"\n")
		},
		"own .git": func(t testing.TB, _ *rig, w *core.Workspace, program string) {
			_ = os.Remove(filepath.Join(w.Path, ".git"))
			runGit(t, w.Path, nil, "init", "-q")
			write(t, filepath.Join(w.Path, ".git/config"), hostileConfig(program))
			write(t, filepath.Join(w.Path, ".gitattributes"), evilAttributes)
		},
		"nested repository": func(t testing.TB, r *rig, w *core.Workspace, program string) {
			nested := filepath.Join(w.Path, "nested")
			runGit(t, w.Path, nil, "init", "-q", "nested")
			runGit(t, nested, nil, "commit", "-q", "--allow-empty", "-m", "x")
			r.agentGit(w, "add", "nested")
			r.agentGit(w, "commit", "-q", "-m", "a link to it")
			write(t, filepath.Join(nested, ".git/config"), hostileConfig(program))
			write(t, filepath.Join(nested, ".git/hooks/post-index-change"), "#!/bin/sh\n"+program+"\n")
			write(t, filepath.Join(nested, "x"), "x")
		},
		"configured filter": func(t testing.TB, r *rig, w *core.Workspace, program string) {
			r.agentGit(w, "config", "filter.evil.clean", program)
			r.agentGit(w, "config", "core.fsmonitor", program)
			write(t, filepath.Join(w.Path, ".gitattributes"), evilAttributes)
		},
		"home": func(t testing.TB, r *rig, _ *core.Workspace, program string) {
			write(t, filepath.Join(r.root, "private/home/.gitconfig"), hostileConfig(program))
			write(t, filepath.Join(r.root, "private/home/git/config"), hostileConfig(program))
			write(t, filepath.Join(r.root, "private/home/git/attributes"), evilAttributes)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTrap(t)
			src := newSource(t)
			r := newRig(t)
			w := r.provision("x", src.spec())
			attack(t, r, w, p.script)
			_ = os.Remove(p.marks) // the agent's own git may have run it
			use(t, r, src, w, p, name)
			if name == "config" && !strings.Contains(r.log.String(), "put back") {
				t.Error("nobody was told that the configuration was changed")
			}
		})
	}
}

// Refs that an agent moved in the shared mirror do not decide where others begin.
func TestPoisonedRefs(t *testing.T) {
	src := newSource(t)
	r := newRig(t)
	w := r.provision("x", src.spec())
	write(t, filepath.Join(w.Path, "evil.txt"), "x")
	r.agentGit(w, "add", "-A")
	r.agentGit(w, "commit", "-q", "-m", "evil")
	evil := strings.TrimSpace(r.agentGit(w, "rev-parse", "HEAD"))
	r.agentGit(w, "update-ref", "refs/remotes/origin/main", evil)
	r.agentGit(w, "replace", w.BaseCommit, evil)
	other := r.provision("y", src.spec())
	if other.BaseCommit != w.BaseCommit || exists(filepath.Join(other.Path, "evil.txt")) {
		t.Error("another workspace began at the commit of an agent")
	}
}
