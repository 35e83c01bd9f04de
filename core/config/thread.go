package config

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// Threads is everything about managed threads. All but Root may change while the process runs.
type Threads struct {
	// Directory of workspaces and of mirrors of repositories. Empty: the directory workspaces in store.path. No two
	// servers may share it, and dumps do not hold it. A runtime whose workdirs are limited must list it.
	Root string `json:"root" check:"path" reload:"restart"`
	// Threads that are not over. Beyond that, new ones are refused with 429.
	MaxThreads int `json:"maxThreads" default:"100" check:"min=1,max=100000"`
	// Messages that wait for the agent of one thread. Beyond that, new ones are refused with 429.
	MaxQueuedInputs int `json:"maxQueuedInputs" default:"20000" check:"min=1,max=1000000"`
	// Time without activity after which a thread is idle, unless its policy says otherwise; after three times that it
	// is stopped.
	IdleTimeout time.Duration `json:"idleTimeout" default:"1h" check:"min=1s,max=30d"`
	// How long a thread may live, unless its policy says otherwise. 0: as long as it takes.
	Timeout time.Duration `json:"timeout" check:"min=0s,max=360d"`
	// How often an agent that was lost is started again with its session, unless the policy of its thread says
	// otherwise.
	MaxRestarts int `json:"maxRestarts" default:"3" check:"min=0,max=100"`
	// How often a message is given again whose turn failed in a way that may pass (the model is overloaded or away),
	// unless the policy of its thread says otherwise.
	TurnRetries int `json:"turnRetries" default:"3" check:"min=0,max=100"`
	// How long it waits before the first of them; doubled each time, up to 10 minutes.
	TurnRetryDelay time.Duration `json:"turnRetryDelay" default:"10s" check:"min=100ms,max=1h"`
	// How long a thread, or a managed agent without one, may wait for people until a system.alert tells of it, once
	// for each thing that it waits for. 0: it never does.
	WaitAlert time.Duration `json:"waitAlert" default:"30m" check:"min=0s,max=30d"`
	// Turns after which a summary is written, unless the policy of the thread says otherwise. 0: only at the end.
	SummarizeAfterTurns int `json:"summarizeAfterTurns" check:"min=0,max=10000"`
	// Threads that are being prepared and started at the same time. More wait for their turn.
	SpawnsAtOnce int `json:"spawnsAtOnce" default:"4" check:"min=1,max=1000"`
	// Rules that answer prompts of agents without people, after those of a thread's policy: a list of {preset, kind,
	// tool, match, answer}, where the first that fits counts. preset is the approvalPreset it holds for, kind that of
	// the prompt (approval or question), tool a glob on the name of the tool, match a regular expression on the text
	// of the prompt and the input of the tool; each may be left out. answer is allow, deny or the id of an option.
	AutoAnswer []core.AutoAnswerRule `json:"autoAnswer" check:"max=100" each:"One rule."`
	// The directories that threads work in.
	Workspaces Workspaces `json:"workspaces"`
	// Short names of git repositories, with what it takes to get at them.
	Repositories map[string]*Repository `json:"repositories" entry:"a repository" each:"One repository, under the name that requests use."`
	// What a thread may do with its workspace when it completes, if its policy asks for it.
	Finish Finish `json:"finish"`
	// What threads leave for later ones, and how much of it those get.
	Memory Memory `json:"memory"`
}

// Workspaces bounds the directories that threads work in.
type Workspaces struct {
	// How long a workspace is kept once its thread is over. One that holds commits which were not pushed, or changes,
	// stays longer.
	TTL time.Duration `json:"ttl" default:"168h" check:"min=1m,max=3650d"`
	// How long the workspace of a preparation waits for its thread.
	ReserveTTL time.Duration `json:"reserveTtl" default:"1h" check:"min=1m,max=3650d"`
	// Workspaces on disk. Beyond that, new ones are refused with 429.
	MaxCount int `json:"maxCount" default:"500" check:"min=1,max=1000000"`
	// Size that a workspace may have when it is checked out.
	MaxBytes int64 `json:"maxBytes" default:"10GiB" check:"size,min=1MiB"`
	// Size of all workspaces together. Beyond that, new ones are refused with 429.
	MaxTotalBytes int64 `json:"maxTotalBytes" default:"100GiB" check:"size,min=1MiB"`
	// Size of the workspaces whose thread is over together. Beyond that the oldest of them go, whatever ttl says, but
	// for those that hold commits which were not pushed, or changes. 0: any size.
	MaxReleasedBytes int64 `json:"maxReleasedBytes" check:"size,min=0"`
	// How long it may take to get a repository, or what is new in it.
	FetchTimeout time.Duration `json:"fetchTimeout" default:"5m" check:"min=1s,max=1d"`
	// How long it may take to check a workspace out.
	CheckoutTimeout time.Duration `json:"checkoutTimeout" default:"10m" check:"min=1s,max=1d"`
	// Globs of the git URLs that requests may name, such as https://git.example.com/*. Empty: every https, ssh and
	// file URL. Those in threads.repositories are allowed anyway.
	AllowedURLs []string `json:"allowedUrls" check:"is=glob"`
	// Who commits are by.
	Identity Identity `json:"identity"`
}

// Identity is the author of commits.
type Identity struct {
	// Name of the author of commits in workspaces.
	Name string `json:"name" default:"Wardroom" check:"is=person"`
	// Mail address of the author of commits in workspaces.
	Email string `json:"email" default:"wardroom@localhost" check:"is=person"`
}

// Repository is a git repository under a short name.
type Repository struct {
	// Its git URL: https, ssh or file. It holds no password.
	URL string `json:"url" check:"is=gitUrl" missing:"give the git URL that this name stands for"`
	// Branch to start from when a request names none. Empty: the default of the repository.
	Branch string `json:"branch" check:"is=branch"`
	// User to fetch and push as, for an https URL.
	Username string `json:"username"`
	// Password or access token, best as a reference to the environment. It is never shown, and never on disk in a
	// workspace.
	Password Secret `json:"password"`
	// File that holds it, instead of password. It is read at the start and at a reload, and only its owner may read
	// it.
	PasswordFile string `json:"passwordFile" check:"path"`
	// Private key for an ssh URL. Empty: those of the ssh agent and of the service's user.
	SSHKeyFile string `json:"sshKeyFile" check:"path"`
}

// Finish is what threads may do with their workspaces at their end.
type Finish struct {
	// Allow a thread to have what is not committed at its end committed.
	Commit bool `json:"commit" default:"true"`
	// Allow a thread to have its work pushed. Nothing is ever overwritten there.
	Push bool `json:"push"`
	// Globs of the branches that may be pushed to. Empty: none.
	Branches []string `json:"branches" default:"wardroom/*" check:"is=glob"`
}

// Memory bounds what is kept of threads, and what of it the memory files of new ones hold.
type Memory struct {
	// Decisions of its execution in the memory file of a new thread.
	MaxDecisions int `json:"maxDecisions" default:"5" check:"min=0,max=100"`
	// Experiences of earlier threads in the memory file of a new thread.
	MaxExperiences int `json:"maxExperiences" default:"4" check:"min=0,max=100"`
	// Largest size of the memory file of a workspace.
	MaxContext int64 `json:"maxContext" default:"16KiB" check:"size,min=1KiB,max=1MiB"`
	// How long an experience is kept.
	Keep time.Duration `json:"keep" default:"8760h" check:"min=1h,max=3650d"`
	// Experiences that are kept. Beyond that, the oldest go.
	MaxCount int `json:"maxCount" default:"100000" check:"min=1,max=10000000"`
}
