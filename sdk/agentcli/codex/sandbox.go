package codex

import (
	"path"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
)

// sandbox returns the configuration of a preset: where codex may write, and whether it asks for more.
func sandbox(room agentcli.Room, preset setting.Approval) []string {
	if room.Contained {
		return contained(preset)
	}
	switch preset {
	case setting.Readonly:
		return []string{`sandbox_mode="read-only"`, `approval_policy="never"`}
	case setting.Autonomous:
		return []string{`sandbox_mode="danger-full-access"`, `approval_policy="never"`}
	}
	network, policy := preset == setting.Permissive, `approval_policy="on-request"`
	if network {
		policy = `approval_policy="never"`
	}
	if !strings.ContainsAny(room.Git.Dir+room.Git.Common+room.Temp, "*?[]{}") { // these would be patterns
		return append(profile(room, network), policy)
	}
	c := []string{`sandbox_mode="workspace-write"`, "sandbox_workspace_write.exclude_slash_tmp=true", policy}
	if network {
		c = append(c, "sandbox_workspace_write.network_access=true")
	}
	return c
}

// contained is the configuration of a preset where the room is the sandbox: codex makes none of its own, and
// needs to ask for less. That nothing is written is the launcher's matter (Plan.ReadOnly).
func contained(preset setting.Approval) []string {
	policy := `approval_policy="never"`
	if preset == setting.Standard {
		policy = `approval_policy="on-request"`
	}
	return []string{`sandbox_mode="danger-full-access"`, policy}
}

// mounts reports whether codex runs its commands in its sandbox, which is made of mounts.
func mounts(room agentcli.Room, preset setting.Approval) bool {
	return !room.Contained && preset != setting.Autonomous
}

// reserved are the names that codex shuts out of every folder that may be written in, unless told otherwise: where there is
// none, it makes an empty directory, which stays when it is killed.
var reserved = []string{".git", ".codex", ".agents", ".aws"}

// profile returns the permissions of codex's workspace-write sandbox, with what git needs for commits, branches and tags
// beside the work directory, which that sandbox shuts out. Temporary files are those of the room: an empty .git that stayed in
// the host's /tmp would be taken for a repository by everything below. Hooks and configuration, which git runs and obeys outside of the
// sandbox as well, stay read-only, and so does what would make git look for them elsewhere; other work trees and submodules
// have their own.
func profile(room agentcli.Room, network bool) []string {
	const read, write = `"read"`, `"write"`
	work := []string{`"."=` + write, `".codex"=` + read, `".agents"=` + read}
	files := []string{`":root"=` + read}
	allow := func(dir, access string, names ...string) {
		for _, name := range names {
			files = append(files, quote(path.Join(dir, name))+"="+access)
		}
	}
	if room.Temp != "" {
		allow(room.Temp, write, ".")
		allow(room.Temp, write, reserved...)
	}
	g := room.Git
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
	files = append(files, `":workspace_roots"={`+strings.Join(work, ",")+"}")
	p := "filesystem={" + strings.Join(files, ",") + "}"
	if network {
		p += ",network={enabled=true}"
	}
	return []string{`default_permissions="wardroom"`, "permissions.wardroom={" + p + "}"}
}
