package claude

import (
	"bytes"
	"errors"
	"io/fs"
	"path"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Version is the claude that this adapter was measured with. Others are driven the same way.
const Version = "2.1.332"

// program is the command of the CLI.
const program = "claude"

const installHint = "install it with: npm install -g @anthropic-ai/claude-code"

// backgroundOff keeps claude from working behind a turn that is over: the agents that it starts are a part of the turn. Who set it, to
// 0 as well, has it so.
const backgroundOff = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

// waitForever is the time in seconds that claude gives a hook; the driver ends each one itself.
const waitForever = 7 * 24 * 3600

// events are the hooks that the driver understands.
var events = []string{
	"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
	"PermissionRequest", "Stop", "StopFailure", "SubagentStop", "SessionEnd", "Elicitation", "ElicitationResult",
}

type adapter struct{}

// New makes the adapter.
func New() agentcli.Adapter { return adapter{} }

func (adapter) Type() string { return "claude" }

// Command implements agentcli.Commander.
func (adapter) Command() string { return program }

func (adapter) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	preset, err := setting.ApprovalOf(spec)
	if err != nil {
		return agentcli.Plan{}, err
	}
	if len(room.Hook) == 0 {
		return agentcli.Plan{}, runtime.Errorf(runtime.CodeUnimplemented, "claude tells its state through hooks, and this runtime has none")
	}
	key := setting.Lookup(spec, room, "ANTHROPIC_API_KEY")
	if err := checkCredential(spec, room, key); err != nil {
		return agentcli.Plan{}, err
	}
	bin, err := setting.Find(room, program, installHint)
	if err != nil {
		return agentcli.Plan{}, err
	}
	configDir := setting.Lookup(spec, room, "CLAUDE_CONFIG_DIR")
	if configDir == "" {
		configDir = path.Join(room.Home, ".claude")
	}
	plan := agentcli.Plan{
		Path: bin,
		Args: []string{"--settings", setting.JSON(settings(room, preset)), "--permission-mode", mode(preset)},
		Env: map[string]string{
			"HOME":              room.Home,
			"CLAUDE_CONFIG_DIR": configDir,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":             "1",
			"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
			"DISABLE_UPDATES":         "1",
			"DISABLE_AUTOUPDATER":     "1",
			"DISABLE_TELEMETRY":       "1",
			"DISABLE_ERROR_REPORTING": "1",
		},
		SessionID:    life.SessionID,
		LoginUnknown: loginUnknown(spec, room, configDir),
	}
	if setting.Lookup(spec, room, backgroundOff) == "" {
		plan.Env[backgroundOff] = "1"
	}
	if preset == setting.Autonomous {
		// claude refuses to bypass permissions as root unless it is told that something else confines it. The
		// runtime does.
		plan.Env["IS_SANDBOX"] = "1"
	}
	switch {
	case life.Resume != "" && (life.Moved || !lost(room, configDir, life.Resume)):
		plan.SessionID = life.Resume
		plan.Args = append(plan.Args, "--resume", life.Resume)
	case life.SessionID != "":
		plan.Args = append(plan.Args, "--session-id", life.SessionID)
	}
	if setting.Inside(room, configDir) {
		name := path.Join(configDir, ".claude.json")
		file, err := setting.Merged(room, name, onboarding(room, name, key))
		if err != nil {
			return agentcli.Plan{}, err
		}
		plan.Files = append(plan.Files, file)
	}
	return plan, nil
}

// lost reports whether a session surely has no conversation to resume, which makes claude refuse to start: it writes
// its transcript a little late, and may have been killed in its first turn.
func lost(room agentcli.Room, configDir, session string) bool {
	name := transcriptOf(configDir, room.Workdir, session)
	if room.ReadFile == nil || name == "" {
		return false
	}
	transcript, err := room.ReadFile(name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !bytes.Contains(transcript, []byte(`"type":"user"`))
}

// checkCredential refuses a start that cannot succeed: a gateway of one's own, to which no login of the vendor's
// helps, without a credential for it.
func checkCredential(spec *runtime.Spec, room agentcli.Room, key string) error {
	if setting.Lookup(spec, room, "ANTHROPIC_BASE_URL") == "" || key != "" ||
		setting.Lookup(spec, room, "ANTHROPIC_AUTH_TOKEN") != "" ||
		setting.Lookup(spec, room, "CLAUDE_CODE_OAUTH_TOKEN") != "" {
		return nil
	}
	if room.ReadFile != nil {
		for _, name := range []string{".claude/.credentials.json", ".claude/settings.json"} {
			if _, err := room.ReadFile(path.Join(room.Home, name)); !errors.Is(err, fs.ErrNotExist) {
				return nil // a login, or perhaps a helper that brings the key
			}
		}
	}
	err := runtime.Errorf(runtime.CodeAuthRequired, "ANTHROPIC_BASE_URL is set, and there is no credential for it")
	err.Field, err.Hint = "env", "set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN in the agent's environment"
	return err
}

// loginUnknown reports whether no credential is where claude looks for one. Of files that cannot be looked for it is not known, and
// false.
func loginUnknown(spec *runtime.Spec, room agentcli.Room, configDir string) bool {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
	} {
		if setting.Lookup(spec, room, name) != "" {
			return false
		}
	}
	for _, name := range []string{".credentials.json", "settings.json"} {
		if room.ReadFile == nil {
			return false
		}
		if _, err := room.ReadFile(path.Join(configDir, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// settings are given on the command line, which leaves the operator's own settings files as they are.
func settings(room agentcli.Room, preset setting.Approval) map[string]any {
	hooks := map[string]any{}
	for _, event := range events {
		command := map[string]any{"type": "command", "command": hook.Command(room.Hook, event), "timeout": waitForever}
		hooks[event] = []any{map[string]any{"hooks": []any{command}}}
	}
	s := map[string]any{"hooks": hooks, "skipDangerousModePermissionPrompt": true}
	if preset == setting.Readonly {
		s["permissions"] = map[string]any{"deny": []any{"Edit", "Write", "NotebookEdit"}}
	}
	return s
}

func mode(preset setting.Approval) string {
	switch preset {
	case setting.Readonly:
		return "dontAsk"
	case setting.Permissive:
		return "acceptEdits"
	case setting.Autonomous:
		return "bypassPermissions"
	}
	return "default"
}

// onboarding answers the screens of a first start, and that of the first one of a newer version. Each key is one screen.
func onboarding(room agentcli.Room, name, key string) map[string]any {
	state := map[string]any{
		"hasCompletedOnboarding": true,
		"lastOnboardingVersion":  Version,
		"projects": map[string]any{room.Workdir: map[string]any{
			"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
		}},
	}
	if key != "" {
		// claude asks before it uses a key from the environment, and knows approved ones by their end.
		state["customApiKeyResponses"] = map[string]any{"approved": []any{key[max(0, len(key)-20):]}}
	}
	if older(room, name) {
		// claude offers its new way to draw as often as that, before it starts.
		state["fullscreenUpsellSeenCount"] = 3
	}
	return state
}

// older reports whether a state was begun by a claude that drew in the old way: newer ones note the version of their first start.
func older(room agentcli.Room, name string) bool {
	if room.ReadFile == nil {
		return false
	}
	data, err := room.ReadFile(name)
	return err == nil && bytes.Contains(data, []byte(`"firstStartTime"`)) && !bytes.Contains(data, []byte(`"firstStartVersion"`))
}
