package config

import "time"

const (
	thirtyDays = int64(30 * 24 * time.Hour)
	tenYears   = int64(3650 * 24 * time.Hour)
)

// threadFields are those of threads.
var threadFields = []*field{
	{
		key: "threads.root", ref: func(c *Config) any { return &c.Threads.Root }, path: true,
		doc: "Directory of workspaces and of mirrors of repositories. Empty: the directory workspaces in store.path. No two servers may share it, and dumps do not hold it. " +
			"A runtime whose workdirs are limited must list it.",
	},
	{
		key: "threads.maxThreads", ref: func(c *Config) any { return &c.Threads.MaxThreads }, min: 1, max: 100_000, live: true,
		doc: "Threads that are not over. Beyond that, new ones are refused with 429.",
	},
	{
		key: "threads.maxQueuedInputs", ref: func(c *Config) any { return &c.Threads.MaxQueuedInputs }, min: 1, max: 1_000_000, live: true,
		doc: "Messages that wait for the agent of one thread. Beyond that, new ones are refused with 429.",
	},
	{
		key: "threads.idleTimeout", ref: func(c *Config) any { return &c.Threads.IdleTimeout },
		min: int64(time.Second), max: thirtyDays, live: true,
		doc: "Time without activity after which a thread is idle, unless its policy says otherwise; after three times that it is stopped.",
	},
	{
		key: "threads.timeout", ref: func(c *Config) any { return &c.Threads.Timeout }, max: 12 * thirtyDays, live: true,
		doc: "How long a thread may live, unless its policy says otherwise. 0: as long as it takes.",
	},
	{
		key: "threads.maxRestarts", ref: func(c *Config) any { return &c.Threads.MaxRestarts }, max: 100, live: true,
		doc: "How often an agent that was lost is started again with its session, unless the policy of its thread says otherwise.",
	},
	{
		key: "threads.turnRetries", ref: func(c *Config) any { return &c.Threads.TurnRetries }, max: 100, live: true,
		doc: "How often a message is given again whose turn failed in a way that may pass (the model is overloaded or away), unless the policy of its thread says otherwise.",
	},
	{
		key: "threads.turnRetryDelay", ref: func(c *Config) any { return &c.Threads.TurnRetryDelay },
		min: int64(100 * time.Millisecond), max: int64(time.Hour), live: true,
		doc: "How long it waits before the first of them; doubled each time, up to 10 minutes.",
	},
	{
		key: "threads.waitAlert", ref: func(c *Config) any { return &c.Threads.WaitAlert }, max: thirtyDays, live: true,
		doc: "How long a thread, or a managed agent without one, may wait for people until a system.alert tells of it, once for each thing that it waits for. 0: it never does.",
	},
	{
		key: "threads.summarizeAfterTurns", ref: func(c *Config) any { return &c.Threads.SummarizeAfterTurns }, max: 10_000, live: true,
		doc: "Turns after which a summary is written, unless the policy of the thread says otherwise. 0: only at the end.",
	},
	{
		key: "threads.spawnsAtOnce", ref: func(c *Config) any { return &c.Threads.SpawnsAtOnce }, min: 1, max: 1000, live: true,
		doc: "Threads that are being prepared and started at the same time. More wait for their turn.",
	},
	{
		key: "threads.autoAnswer", ref: func(c *Config) any { return &c.Threads.AutoAnswer }, live: true,
		doc: "Rules that answer prompts of agents without people, after those of a thread's policy: a list of {preset, kind, tool, match, answer}, where the first that " +
			"fits counts. preset is the approvalPreset it holds for, kind that of the prompt (approval or question), tool a glob on the name of the tool, match a regular " +
			"expression on the text of the prompt and the input of the tool; each may be left out. answer is allow, deny or the id of an option.",
	},

	{
		key: "threads.workspaces.ttl", ref: func(c *Config) any { return &c.Threads.Workspaces.TTL },
		min: int64(time.Minute), max: tenYears, live: true,
		doc: "How long a workspace is kept once its thread is over. One that holds commits which were not pushed, or changes, stays longer.",
	},
	{
		key: "threads.workspaces.reserveTtl", ref: func(c *Config) any { return &c.Threads.Workspaces.ReserveTTL },
		min: int64(time.Minute), max: tenYears, live: true,
		doc: "How long the workspace of a preparation waits for its thread.",
	},
	{
		key: "threads.workspaces.maxCount", ref: func(c *Config) any { return &c.Threads.Workspaces.MaxCount }, min: 1, max: 1_000_000, live: true,
		doc: "Workspaces on disk. Beyond that, new ones are refused with 429.",
	},
	{
		key: "threads.workspaces.maxBytes", ref: func(c *Config) any { return &c.Threads.Workspaces.MaxBytes }, min: mib, live: true,
		doc: "Size that a workspace may have when it is checked out.",
	},
	{
		key: "threads.workspaces.maxTotalBytes", ref: func(c *Config) any { return &c.Threads.Workspaces.MaxTotalBytes }, min: mib, live: true,
		doc: "Size of all workspaces together. Beyond that, new ones are refused with 429.",
	},
	{
		key: "threads.workspaces.maxReleasedBytes", ref: func(c *Config) any { return &c.Threads.Workspaces.MaxReleasedBytes }, live: true,
		doc: "Size of the workspaces whose thread is over together. Beyond that the oldest of them go, whatever ttl says, but for those that " +
			"hold commits which were not pushed, or changes. 0: any size.",
	},
	{
		key: "threads.workspaces.fetchTimeout", ref: func(c *Config) any { return &c.Threads.Workspaces.FetchTimeout },
		min: int64(time.Second), max: int64(24 * time.Hour), live: true,
		doc: "How long it may take to get a repository, or what is new in it.",
	},
	{
		key: "threads.workspaces.checkoutTimeout", ref: func(c *Config) any { return &c.Threads.Workspaces.CheckoutTimeout },
		min: int64(time.Second), max: int64(24 * time.Hour), live: true,
		doc: "How long it may take to check a workspace out.",
	},
	{
		key: "threads.workspaces.allowedUrls", ref: func(c *Config) any { return &c.Threads.Workspaces.AllowedURLs }, check: checkGlob, live: true,
		doc: "Globs of the git URLs that requests may name, such as https://git.example.com/*. Empty: every https, ssh and file URL. Those in threads.repositories are allowed anyway.",
	},
	{
		key: "threads.workspaces.identity.name", ref: func(c *Config) any { return &c.Threads.Workspaces.Identity.Name }, check: checkPerson, live: true,
		doc: "Name of the author of commits in workspaces.",
	},
	{
		key: "threads.workspaces.identity.email", ref: func(c *Config) any { return &c.Threads.Workspaces.Identity.Email }, check: checkPerson, live: true,
		doc: "Mail address of the author of commits in workspaces.",
	},

	{
		key: "threads.repositories.*.url", in: func(c *Config, n string) any { return &repositoryOf(c, n).URL }, check: checkGitURL, live: true,
		doc: "Its git URL: https, ssh or file. It holds no password.",
	},
	{
		key: "threads.repositories.*.branch", in: func(c *Config, n string) any { return &repositoryOf(c, n).Branch }, check: checkBranch, live: true,
		doc: "Branch to start from when a request names none. Empty: the default of the repository.",
	},
	{
		key: "threads.repositories.*.username", in: func(c *Config, n string) any { return &repositoryOf(c, n).Username }, live: true,
		doc: "User to fetch and push as, for an https URL.",
	},
	{
		key: "threads.repositories.*.password", in: func(c *Config, n string) any { return &repositoryOf(c, n).Password }, live: true,
		doc: "Password or access token, best as a reference to the environment. It is never shown, and never on disk in a workspace.",
	},
	{
		key: "threads.repositories.*.passwordFile", in: func(c *Config, n string) any { return &repositoryOf(c, n).PasswordFile }, path: true, live: true,
		doc: "File that holds it, instead of password. It is read at the start and at a reload, and only its owner may read it.",
	},
	{
		key: "threads.repositories.*.sshKeyFile", in: func(c *Config, n string) any { return &repositoryOf(c, n).SSHKeyFile }, path: true, live: true,
		doc: "Private key for an ssh URL. Empty: those of the ssh agent and of the service's user.",
	},

	{
		key: "threads.finish.commit", ref: func(c *Config) any { return &c.Threads.Finish.Commit }, live: true,
		doc: "Allow a thread to have what is not committed at its end committed.",
	},
	{
		key: "threads.finish.push", ref: func(c *Config) any { return &c.Threads.Finish.Push }, live: true,
		doc: "Allow a thread to have its work pushed. Nothing is ever overwritten there.",
	},
	{
		key: "threads.finish.branches", ref: func(c *Config) any { return &c.Threads.Finish.Branches }, check: checkGlob, live: true,
		doc: "Globs of the branches that may be pushed to. Empty: none.",
	},

	{
		key: "threads.memory.maxDecisions", ref: func(c *Config) any { return &c.Threads.Memory.MaxDecisions }, max: 100, live: true,
		doc: "Decisions of its execution that a new thread is told.",
	},
	{
		key: "threads.memory.maxExperiences", ref: func(c *Config) any { return &c.Threads.Memory.MaxExperiences }, max: 100, live: true,
		doc: "Experiences of earlier threads that a new thread is told.",
	},
	{
		key: "threads.memory.maxContext", ref: func(c *Config) any { return &c.Threads.Memory.MaxContext }, min: kib, max: mib, live: true,
		doc: "Largest size of the memory file of a workspace.",
	},
	{
		key: "threads.memory.keep", ref: func(c *Config) any { return &c.Threads.Memory.Keep }, min: int64(time.Hour), max: tenYears, live: true,
		doc: "How long an experience is kept.",
	},
	{
		key: "threads.memory.maxCount", ref: func(c *Config) any { return &c.Threads.Memory.MaxCount }, min: 1, max: 10_000_000, live: true,
		doc: "Experiences that are kept. Beyond that, the oldest go.",
	},
}
