package codex

import (
	"os"
	"path"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
)

// sandbox returns the configuration of a preset: where codex may write, and whether it asks for more.
func sandbox(room agentcli.Room, preset setting.Approval) []string {
	network, policy := preset == setting.Permissive, `approval_policy="on-request"`
	if network || preset == setting.Readonly {
		policy = `approval_policy="never"`
	}
	g := room.Git
	if strings.ContainsAny(g.Dir+g.Common, patterns) {
		g = agentcli.Git{}
	}
	switch {
	case preset == setting.Autonomous:
		return []string{`sandbox_mode="danger-full-access"`, `approval_policy="never"`}
	case preset == setting.Readonly && len(room.Shut) == 0:
		return []string{`sandbox_mode="read-only"`, policy}
	case preset == setting.Readonly:
		files := append([]string{`":root"="read"`}, shutOut(room)...)
		return []string{`default_permissions="wardroom"`, "permissions.wardroom={filesystem={" + strings.Join(files, ",") + "}}", policy}
	case g.Dir == "" && len(room.Shut) == 0:
		c := []string{`sandbox_mode="workspace-write"`, policy}
		if network {
			c = append(c, "sandbox_workspace_write.network_access=true")
		}
		return c
	}
	return append(profile(room, g, network), policy)
}

// patterns are the characters that make a path a pattern to codex.
const patterns = "*?[]{}"

// mounts reports whether codex runs its commands in its sandbox, which is made of mounts.
func mounts(preset setting.Approval) bool { return preset != setting.Autonomous }

// shutOut returns the entries that shut the directories of the room out of the sandbox. Nothing is opened again in what
// is shut where a command leaves the sandbox with somebody's leave, which codex runs without those all the same; so
// where the agent's own directories lie in one, what lies beside them is shut, as it is at this moment.
func shutOut(room agentcli.Room) (entries []string) {
	keep := []string{room.Home, room.Workdir, room.Temp}
	if room.Git.Linked() {
		keep = append(keep, room.Git.Common)
	}
	if len(room.Hook) > 0 {
		keep = append(keep, room.Hook[0])
	}
	var walk func(dir string)
	walk = func(dir string) {
		leads := false
		for _, kept := range keep {
			if kept == dir {
				return
			}
			leads = leads || strings.HasPrefix(kept, dir+"/")
		}
		if !leads {
			if _, err := os.Lstat(dir); err == nil && !strings.ContainsAny(dir, patterns) {
				entries = append(entries, quote(dir)+`="none"`)
			}
			return
		}
		list, err := os.ReadDir(dir)
		if err != nil {
			return // the CLI's user is ours, and cannot read it either
		}
		for _, entry := range list {
			if entry.IsDir() || entry.Type().IsRegular() {
				walk(path.Join(dir, entry.Name()))
			}
		}
	}
	for _, dir := range room.Shut {
		walk(dir)
	}
	return entries
}

// profile returns the permissions of codex's workspace-write sandbox, with what git needs for commits, branches and tags
// beside the work directory, which that sandbox shuts out. Hooks and configuration, which git runs and obeys outside of the
// sandbox as well, stay read-only, and so does what would make git look for them elsewhere; other work trees and submodules
// have their own. What the room shuts is not there at all.
func profile(room agentcli.Room, g agentcli.Git, network bool) []string {
	const read, write = `"read"`, `"write"`
	work := []string{`"."=` + write, `".codex"=` + read, `".agents"=` + read}
	files := []string{`":root"=` + read, `":tmpdir"=` + write, `":slash_tmp"=` + write}
	allow := func(dir, access string, names ...string) {
		for _, name := range names {
			files = append(files, quote(path.Join(dir, name))+"="+access)
		}
	}
	switch {
	case g.Dir == "":
		work = append(work, `".git"=`+read)
	case g.Linked():
		work = append(work, `".git"=`+read)
		allow(g.Dir, write, ".")
		allow(g.Dir, read, "commondir", "gitdir", "config.worktree")
		allow(g.Common, write, "objects", "refs", "logs")
	default:
		work = append(work, `".git"=`+write)
		for _, name := range []string{"hooks", "config", "config.worktree", "worktrees", "modules"} {
			work = append(work, quote(".git/"+name)+"="+read)
		}
	}
	files = append(files, shutOut(room)...)
	files = append(files, `":workspace_roots"={`+strings.Join(work, ",")+"}")
	p := "filesystem={" + strings.Join(files, ",") + "}"
	if network {
		p += ",network={enabled=true}"
	}
	return []string{`default_permissions="wardroom"`, "permissions.wardroom={" + p + "}"}
}
