package gemini

import (
	"path"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Version is the gemini that this adapter was measured with. Others are driven the same way.
const Version = "0.61.0"

// program is the command of the CLI.
const program = "gemini"

const installHint = "install it with: npm install -g @google/gemini-cli (it needs node 20 or later)"

// waitForever is the time in milliseconds that gemini gives a hook; the driver answers each one at once.
const waitForever = 24 * 3600 * 1000

// events are the hooks that the driver understands. Each call costs a process and a line on the screen, so those
// around each request to the model are left out.
var events = []string{"SessionStart", "BeforeAgent", "BeforeTool", "Notification", "AfterTool", "AfterAgent"}

type adapter struct{}

// New makes the adapter.
func New() agentcli.Adapter { return adapter{} }

func (adapter) Type() string { return "gemini" }

// Command implements agentcli.Commander.
func (adapter) Command() string { return program }

func (adapter) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	preset, err := setting.ApprovalOf(spec)
	if err != nil {
		return agentcli.Plan{}, err
	}
	auth, err := authType(spec, room)
	if err != nil {
		return agentcli.Plan{}, err
	}
	if err := checkTrust(spec, room); err != nil {
		return agentcli.Plan{}, err
	}
	bin, err := setting.Find(room, program, installHint)
	if err != nil {
		return agentcli.Plan{}, err
	}
	dir := path.Join(room.Home, ".gemini")
	plan := agentcli.Plan{
		Path: bin,
		Args: []string{"--approval-mode", mode(preset)},
		Env: map[string]string{
			"HOME":                   room.Home,
			"GEMINI_CLI_NO_RELAUNCH": "true",
			// trustedFolders.json has it too; the environment may have gemini read another one.
			"GEMINI_CLI_TRUST_WORKSPACE": "true",
			"NO_BROWSER":                 "true",
		},
	}
	// A session that begins is reported with its first turn: before, gemini has nothing to resume.
	switch {
	case life.Resume != "":
		plan.SessionID = life.Resume
		plan.Args = append(plan.Args, "--resume", life.Resume)
	case life.SessionID != "":
		plan.Args = append(plan.Args, "--session-id", life.SessionID)
	}
	for _, f := range []struct {
		name string
		add  map[string]any
	}{
		{"settings.json", settings(room, auth)},
		{"trustedFolders.json", map[string]any{room.Workdir: "TRUST_FOLDER"}},
	} {
		file, err := setting.Merged(room, path.Join(dir, f.name), f.add)
		if err != nil {
			return agentcli.Plan{}, err
		}
		plan.Files = append(plan.Files, file)
	}
	return plan, nil
}

// checkTrust refuses an environment in which gemini trusts no folder: it calls no hooks there, and would never get ready. INVALID_SPEC.
func checkTrust(spec *runtime.Spec, room agentcli.Room) error {
	if len(room.Hook) == 0 {
		return nil
	}
	bad := ""
	switch {
	case setting.Lookup(spec, room, "GEMINI_RESTRICTED_MODE") == "true":
		bad = "GEMINI_RESTRICTED_MODE=true"
	case spec.Env["GEMINI_CLI_TRUST_WORKSPACE"] == "false": // the room's is replaced
		bad = "GEMINI_CLI_TRUST_WORKSPACE=false"
	default:
		return nil
	}
	err := runtime.Invalid("env", "%s has gemini call no hooks, and without them its state is not known", bad)
	err.Hint = "leave it out of the environment of the agent, and of the runtime that it inherits from"
	return err
}

// authType chooses how gemini signs in by what the environment offers; empty leaves it to gemini and the operator.
func authType(spec *runtime.Spec, room agentcli.Room) (string, error) {
	switch {
	case setting.Lookup(spec, room, "GEMINI_API_KEY") != "":
		return "gemini-api-key", nil
	case setting.Lookup(spec, room, "GOOGLE_GENAI_USE_VERTEXAI") == "true", setting.Lookup(spec, room, "GOOGLE_API_KEY") != "":
		return "vertex-ai", nil
	case setting.Lookup(spec, room, "GOOGLE_GEMINI_BASE_URL") != "":
		err := runtime.Errorf(runtime.CodeAuthRequired, "GOOGLE_GEMINI_BASE_URL is set, and there is no credential for it")
		err.Field, err.Hint = "env", "set GEMINI_API_KEY in the agent's environment"
		return "", err
	}
	return "", nil
}

func settings(room agentcli.Room, auth string) map[string]any {
	security := map[string]any{"folderTrust": map[string]any{"enabled": true}}
	if auth != "" {
		security["auth"] = map[string]any{"selectedType": auth}
	}
	s := map[string]any{
		"security":  security,
		"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
		// The spinner and its phrases redraw the whole screen: 55 kB/s of output, and 12 without them.
		// The title tells the state. By low verbosity gemini tries a model that is not to be had without end; by full it asks
		// after the last of its attempts.
		"ui": map[string]any{
			"errorVerbosity": "full", "hideTips": true, "showSpinner": false, "loadingPhrases": "off", "hideWindowTitle": false, "dynamicWindowTitle": true,
		},
		"ide": map[string]any{"hasSeenNudge": true},
	}
	if len(room.Hook) > 0 {
		hooks := map[string]any{}
		for _, event := range events {
			command := map[string]any{
				"type": "command", "name": "wardroom", "command": hook.Command(room.Hook, event), "timeout": waitForever,
			}
			hooks[event] = []any{map[string]any{"hooks": []any{command}}}
		}
		s["hooks"] = hooks
	}
	return s
}

func mode(preset setting.Approval) string {
	switch preset {
	case setting.Readonly:
		return "plan"
	case setting.Permissive:
		return "auto_edit"
	case setting.Autonomous:
		return "yolo"
	}
	return "default"
}
