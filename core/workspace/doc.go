// Package workspace makes and keeps the directories that threads work in: a bare mirror of each repository, which all
// threads share, and a worktree of it per thread, made with the git command.
//
// It owns everything below its root: mirrors, trees, the branches wardroom/... in the mirrors, the finish actions
// (commit, push), quotas and time to live. It does not own threads, nor what an agent does in its workspace, nor where
// credentials come from. core/threads calls it through core.WorkspaceService, and the appliance makes it.
//
// # On disk
//
//	lock                     flock of the service whose root it is
//	mirrors/<key>            bare repository; key is the hash of URL, depth, filter and format of objects
//	mirrors/<key>.json       what the key stands for
//	mirrors/<key>.lock       flock of whoever fetches
//	mirrors/<key>/worktrees  what git keeps per worktree, under the id of the workspace
//	trees/<id>               the directory of a workspace; it exists only when it is complete
//	notes/<id>.json          the submodules of a workspace
//	notes/<id>.move.json     between which commits a workspace is that is being updated; flock of the git that does it
//	private/                 an empty home, and the script that answers git's questions for credentials
//
// Names with .new- and .gone- are what a crash left over. They go at the next Open, those with .gone- at the next sweep. A mirror
// with .old- is one that was being repaired: it comes back at the next Open. A workspace between two commits is put back to the
// first then, or at its next use; files that an agent wrote meanwhile stay as they are.
//
// # Trust
//
// Agents run as the same user and can write into the mirror. So git runs through one function only (git.go), with a
// fixed environment, and with every setting that could run a program overridden; directories of repositories are
// named, never discovered; and the mirror's configuration is compared with what we wrote before each call, and put
// back. Hooks, filters, external diffs, pagers and editors never run. No credential is written below the root: git asks for
// it through a script that prints what only that one process has in its environment.
package workspace
