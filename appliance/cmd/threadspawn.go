package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

// threadFlags are the flags of thread spawn and thread prepare.
type threadFlags struct {
	spec      client.ThreadSpec
	workspace client.WorkspaceSpec
	finish    client.ThreadFinish
	from      string
	objective string
	env       []string
	envFile   string
	files     []string
	rules     []string
	metadata  []string
	idle      time.Duration
	lifetime  time.Duration
	restarts  int
	retries   int
}

func (f *threadFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "begin with what thread prepare -o json printed to `FILE`; - is stdin; other flags win")
	flags.StringVar(&f.spec.ExecutionID, "execution", "", "execution it belongs to (default new: one of its own)")
	flags.StringVar(&f.spec.Name, "name", "", "name of the thread (default from role and objective)")
	flags.StringVar(&f.spec.AgentType, "type", "", "claude, codex, gemini, or a type of the server's configuration")
	flags.StringVar(&f.spec.Role, "role", "", "what it is to be, such as implementer")
	flags.StringVar(&f.objective, "objective", "", "what it is to do: TEXT, @FILE, or - for stdin")
	flags.StringVar(&f.workspace.Repo, "repo", "", "git URL, or a short name of the server's configuration (default an empty folder)")
	flags.StringVar(&f.workspace.Branch, "branch", "", "branch, tag or commit to begin with (default the repository's)")
	flags.StringVar(&f.workspace.WorkBranch, "work-branch", "", "branch to work on (default one of its own)")
	flags.StringVar(&f.workspace.WorkspaceID, "workspace", "", "workspace that a prepare reserved, or whose thread is over")
	flags.IntVar(&f.workspace.Depth, "depth", 0, "commits of history (default all)")
	flags.StringVar(&f.workspace.Filter, "filter", "", "partial clone: blob:none, tree:0 or blob:limit=SIZE")
	flags.BoolVar(&f.workspace.Submodules, "submodules", false, "check submodules out as well")
	flags.StringVar(&f.spec.Preparation.ApprovalPreset, "approval", "", "readonly, standard, permissive or autonomous (default standard)")
	flags.StringArrayVar(&f.env, "env", nil, "K=V for its environment, or K to pass on this command's own; may be repeated")
	flags.StringVar(&f.envFile, "env-file", "", "file of K=V lines for its environment; - is stdin")
	flags.StringArrayVar(&f.files, "file", nil, "PATH=@LOCAL or PATH=TEXT: a file for the workspace; may be repeated")
	flags.DurationVar(&f.idle, "idle", 0, "time without activity after which it is idle; stopped after three times that")
	flags.DurationVar(&f.lifetime, "lifetime", 0, "end it after this long")
	flags.IntVar(&f.spec.Policy.SummarizeAfterTurns, "summarize", 0, "a summary each N turns")
	flags.IntVar(&f.spec.Policy.CompleteAfterTurns, "complete-after", 0, "complete after N turns (default when the agent says so)")
	flags.IntVar(&f.restarts, "restarts", 0, "how often a lost agent comes back (default the server's)")
	flags.IntVar(&f.retries, "retries", 0, "how often a message is given again whose turn failed in a way that may pass (default the server's)")
	flags.Int64Var(&f.spec.Policy.MaxTokens, "max-tokens", 0, "stop it once its turns took so many tokens")
	flags.Float64Var(&f.spec.Policy.MaxCost, "max-cost", 0, "stop it once its turns cost so many US dollars")
	flags.IntVar(&f.spec.Policy.MaxTurns, "max-turns", 0, "stop it after N turns")
	flags.BoolVar(&f.finish.Commit, "commit", false, "at its end, commit what is not")
	flags.StringVar(&f.finish.Message, "message", "", "message of that commit (default the objective)")
	flags.BoolVar(&f.finish.Push, "push", false, "at its end, push its work")
	flags.StringVar(&f.finish.Branch, "push-branch", "", "branch to push to (default the name of the work branch)")
	flags.StringArrayVar(&f.rules, "auto-answer", nil, `rule that answers prompts, as JSON such as '{"tool":"Bash","match":"^git status$","answer":"allow"}'; may be repeated`)
	flags.StringVar(&f.spec.Runtime, "runtime", "", "runtime to start it on (default the first that is ready); connected is a connected agent")
	flags.StringVar(&f.spec.AgentID, "agent", "", "connected agent that is to host it")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "key=value kept with the thread; may be repeated")
}

// threadRequest makes the request of the flags, and checks what can be checked here.
func (c *cli) threadRequest(cmd *cobra.Command, f *threadFlags) (client.ThreadSpec, error) {
	var spec client.ThreadSpec
	if f.from != "" {
		data, err := c.readFile(f.from)
		if err != nil {
			return spec, err
		}
		if spec, err = readThread("--from", data); err != nil {
			return spec, err
		}
	}
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	set(&spec.ExecutionID, f.spec.ExecutionID)
	spec.ExecutionID = cmp.Or(spec.ExecutionID, core.NewExecution)
	set(&spec.Name, f.spec.Name)
	set(&spec.AgentType, f.spec.AgentType)
	set(&spec.Role, f.spec.Role)
	set(&spec.Runtime, f.spec.Runtime)
	set(&spec.AgentID, f.spec.AgentID)
	if given("objective") {
		text, err := c.textFlag(cmd, "objective", f.objective)
		if err != nil {
			return spec, err
		}
		spec.Objective = text
	}
	if err := c.preparationFlags(cmd, f, &spec.Preparation); err != nil {
		return spec, err
	}
	if err := policyFlags(cmd, f, &spec.Policy); err != nil {
		return spec, err
	}
	err := addMetadata(cmd, &spec.Metadata, f.metadata)
	return spec, err
}

// readThread reads the JSON of a thread that a flag gave. A member that threads do not have is refused, as the server refuses it:
// one that is misspelt would leave the thread without what it was to have.
func readThread(flag string, data []byte) (client.ThreadSpec, error) {
	var spec client.ThreadSpec
	err := checkObject(data)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&spec)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		err = fmt.Errorf("%s: cannot be of the type %s", kind.Field, kind.Value)
	}
	if err != nil {
		why, hint := strings.TrimPrefix(err.Error(), "json: "), "make it with `wardroom thread prepare -o json`"
		if member, ok := strings.CutPrefix(why, "unknown field "); ok {
			hint = "if a server printed " + member + ", this wardroom may be older than that server: see `wardroom version`; else mend or remove it"
		}
		return spec, &usageError{message: fmt.Sprintf("%s: not the JSON of a thread: %s", flag, why), hint: hint}
	}
	// What the server added it adds again, as things are then.
	delete(spec.Metadata, "memoryContext")
	spec.Preparation.ContextFiles = slices.DeleteFunc(spec.Preparation.ContextFiles, func(f client.ContextFile) bool {
		return f.Path == core.ThreadMemoryPath
	})
	return spec, nil
}

// set takes a value over unless it is empty.
func set(target *string, value string) {
	if value != "" {
		*target = value
	}
}

// ofApproval is the flag of the approval presets.
var ofApproval = oneOf("approval", []string{"readonly", "standard", "permissive", "autonomous"})

func (c *cli) preparationFlags(cmd *cobra.Command, f *threadFlags, p *client.ThreadPreparation) error {
	set(&p.ApprovalPreset, f.spec.Preparation.ApprovalPreset)
	if err := checkWord(cmd, ofApproval, p.ApprovalPreset); err != nil {
		return err
	}
	if f.workspace.Depth < 0 {
		return usagef(cmd, "--depth must not be negative")
	}
	if f.workspace != (client.WorkspaceSpec{}) {
		if p.Workspace == nil {
			p.Workspace = &client.WorkspaceSpec{}
		}
		w := p.Workspace
		if f.workspace.Repo != "" && f.workspace.Repo != w.Repo {
			*w = client.WorkspaceSpec{} // what was prepared is of another repository
		}
		set(&w.Repo, f.workspace.Repo)
		set(&w.Branch, f.workspace.Branch)
		set(&w.WorkBranch, f.workspace.WorkBranch)
		set(&w.WorkspaceID, f.workspace.WorkspaceID)
		set(&w.Filter, f.workspace.Filter)
		w.Depth = max(w.Depth, f.workspace.Depth)
		w.Submodules = w.Submodules || f.workspace.Submodules
	}
	env, err := c.environment(cmd, f.envFile, f.env)
	if err != nil {
		return err
	}
	if len(env) > 0 {
		p.Env = env
	}
	for _, pair := range f.files {
		file, err := c.contextFile(cmd, pair)
		if err != nil {
			return err
		}
		p.ContextFiles = append(p.ContextFiles, file)
	}
	return nil
}

// contextFile reads PATH=@LOCAL or PATH=TEXT.
func (c *cli) contextFile(cmd *cobra.Command, pair string) (client.ContextFile, error) {
	path, value, ok := strings.Cut(pair, "=")
	if !ok || path == "" {
		return client.ContextFile{}, usagef(cmd, "--file wants PATH=@LOCAL or PATH=TEXT, not %q", shorten(pair, 60))
	}
	if local, isFile := strings.CutPrefix(value, "@"); isFile {
		data, err := c.readFile(local)
		if err != nil {
			return client.ContextFile{}, err
		}
		if !utf8.Valid(data) {
			return client.ContextFile{}, &usageError{message: local + ": not text in UTF-8"}
		}
		value = string(data)
	}
	return client.ContextFile{Path: path, Content: value}, nil
}

func policyFlags(cmd *cobra.Command, f *threadFlags, p *client.ThreadPolicy) error {
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	for name, d := range map[string]time.Duration{"idle": f.idle, "lifetime": f.lifetime} {
		if given(name) && d < time.Millisecond {
			return usagef(cmd, "--%s must be at least 1ms", name)
		}
	}
	for name, n := range map[string]int{"summarize": f.spec.Policy.SummarizeAfterTurns, "complete-after": f.spec.Policy.CompleteAfterTurns, "restarts": f.restarts} {
		if n < 0 {
			return usagef(cmd, "--%s must not be negative", name)
		}
	}
	if given("idle") {
		p.IdleTimeoutMs = f.idle.Milliseconds()
	}
	if given("lifetime") {
		p.TimeoutMs = f.lifetime.Milliseconds()
	}
	if given("summarize") {
		p.SummarizeAfterTurns = f.spec.Policy.SummarizeAfterTurns
	}
	if given("complete-after") {
		p.CompleteAfterTurns = f.spec.Policy.CompleteAfterTurns
	}
	if given("restarts") {
		p.MaxRestarts = &f.restarts
	}
	if given("retries") {
		p.TurnRetries = &f.retries
	}
	if given("max-tokens") {
		p.MaxTokens = f.spec.Policy.MaxTokens
	}
	if given("max-cost") {
		p.MaxCost = f.spec.Policy.MaxCost
	}
	if given("max-turns") {
		p.MaxTurns = f.spec.Policy.MaxTurns
	}
	switch {
	case f.finish == (client.ThreadFinish{}):
	case f.finish.Message != "" && !f.finish.Commit:
		return usagef(cmd, "--message goes with --commit")
	case f.finish.Branch != "" && !f.finish.Push:
		return usagef(cmd, "--push-branch goes with --push")
	default:
		p.Finish = &f.finish
	}
	for _, text := range f.rules {
		var rule client.AutoAnswerRule
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&rule); err != nil || decoder.More() {
			return usagef(cmd, `--auto-answer wants a JSON object of preset, kind, tool, match and answer, such as {"tool":"Bash","answer":"allow"}`)
		}
		p.AutoAnswer = append(p.AutoAnswer, rule)
	}
	return nil
}

// textFlag reads the value of a flag: text, @FILE, or - for stdin.
func (c *cli) textFlag(cmd *cobra.Command, name, value string) (string, error) {
	data, read, err := c.readValue(name, value)
	if err != nil {
		return "", err
	}
	if read != name {
		value = strings.TrimRight(string(data), "\r\n")
	}
	if strings.TrimSpace(value) == "" {
		return "", usagef(cmd, "--%s is empty", name)
	}
	return value, nil
}

func (c *cli) threadSpawn() *cobra.Command {
	var flags threadFlags
	var follow bool
	var key string
	cmd := &cobra.Command{
		Use:   "spawn --type TYPE --objective TEXT",
		Short: "Start a thread: an agent with an objective in a workspace of its own",
		Long: "Start a thread: an agent with an objective in a workspace of its own. It goes on by itself until it is\n" +
			"done, fails or is stopped. With --follow the command shows what happens and ends with the thread.",
		Example: "  wardroom thread spawn --type claude --repo app --objective @task.md --follow\n" +
			"  wardroom thread spawn --type codex --repo https://git.example.com/app.git --branch main \\\n" +
			"      --objective 'Fix the flaky test' --commit --push\n" +
			"  wardroom thread prepare --repo app --objective @task.md -o json | \\\n" +
			"      wardroom thread spawn --from - --type gemini",
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := c.threadRequest(cmd, &flags)
			if err != nil {
				return err
			}
			if spec.AgentType == "" {
				return usagef(cmd, "--type is missing")
			}
			if spec.IdempotencyKey = key; key == "" {
				spec.IdempotencyKey = client.NewIdempotencyKey()
			}
			return c.spawnThread(cmd, spec, follow)
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&key, "idempotency-key", "", "the same key starts one thread only (default a fresh one)")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show what happens until it is over")
	return cmd
}

func (c *cli) spawnThread(cmd *cobra.Command, spec client.ThreadSpec, follow bool) error {
	return c.startThread(cmd, follow, func(ctx context.Context, api *client.Client) (*client.Thread, error) {
		return api.SpawnThread(ctx, spec)
	})
}

// startThread shows a thread that start starts, or follows it.
func (c *cli) startThread(cmd *cobra.Command, follow bool, start func(context.Context, *client.Client) (*client.Thread, error)) error {
	var thread *client.Thread
	err := c.call(cmd, func(ctx context.Context, api *client.Client) error {
		var err error
		thread, err = start(ctx, api)
		return err
	})
	if err != nil {
		return err
	}
	if follow {
		return c.watchThreads(cmd, watchedThreads{executionID: thread.ExecutionID, thread: thread.ID, after: "0"})
	}
	return c.show(thread.Body, func(s *screen) {
		threadScreen(s, thread)
		s.line("")
		s.line("watch it with `wardroom thread watch %s`", clean(thread.ID))
	})
}
