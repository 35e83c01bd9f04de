package codex

import (
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/hook"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/setting"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Version is the codex that this adapter was measured with. Others are driven the same way.
const Version = "0.171.0"

// program is the command of the CLI.
const program = "codex"

const installHint = "install it with: npm install -g @openai/codex"

// waitForever is the time in seconds that codex gives a hook; the driver answers each one at once.
const waitForever = 24 * 3600

// events are the hooks that the driver understands.
var events = []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "SubagentStop", "Stop"}

// networkPatience is how long codex may wait for a network before its turn is given up: by itself it never does.
const networkPatience = 2 * time.Minute

type adapter struct {
	patience time.Duration
}

// New makes the adapter.
func New() agentcli.Adapter { return adapter{patience: networkPatience} }

func (adapter) Type() string { return "codex" }

// Command implements agentcli.Commander.
func (adapter) Command() string { return program }

func (adapter) Plan(spec *runtime.Spec, room agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	preset, err := setting.ApprovalOf(spec)
	if err != nil {
		return agentcli.Plan{}, err
	}
	provider, err := provider(spec, room)
	if err != nil {
		return agentcli.Plan{}, err
	}
	found, err := setting.Find(room, program, installHint)
	if err != nil {
		return agentcli.Plan{}, err
	}
	plan := agentcli.Plan{
		Path: native(room, found), Mounts: mounts(room, preset), ReadOnly: room.Contained && preset == setting.Readonly,
		Env: map[string]string{"HOME": room.Home},
	}
	if life.Resume != "" {
		plan.SessionID = life.Resume
		plan.Args = append(plan.Args, "resume", life.Resume)
	}
	plan.Args = append(plan.Args, "--no-alt-screen")
	for _, c := range config(room, preset) {
		plan.Args = append(plan.Args, "-c", c)
	}
	for _, c := range provider {
		plan.Args = append(plan.Args, "-c", c)
	}
	if len(room.Hook) > 0 {
		plan.Args = append(plan.Args, "--dangerously-bypass-hook-trust")
		for _, event := range events {
			plan.Args = append(plan.Args, "-c", "hooks."+event+"=[{hooks=[{type=\"command\",command="+
				quote(hook.Command(room.Hook, event))+",timeout="+strconv.Itoa(waitForever)+"}]}]")
		}
	}
	return plan, nil
}

func config(room agentcli.Room, preset setting.Approval) []string {
	c := []string{
		"check_for_update_on_startup=false",
		"analytics.enabled=false",
		"features.daemon_auto_start=false",
		"features.plugins=false",
		"features.apps=false",
		"features.remote_plugin=false",
		"features.default_mode_request_user_input=true",
		"projects={" + quote(room.Workdir) + "={trust_level=\"trusted\"}}",
	}
	return append(c, sandbox(room, preset)...)
}

// publicURL is where a key without OPENAI_BASE_URL is for.
const publicURL = "https://api.openai.com/v1"

// provider makes a gateway of one's own codex's model provider. The key stays in the environment. A key alone is
// taken as well: codex by itself would ask somebody to log in and to choose it.
func provider(spec *runtime.Spec, room agentcli.Room) ([]string, error) {
	var c []string
	if model := setting.Lookup(spec, room, "OPENAI_MODEL"); model != "" {
		c = append(c, "model="+quote(model))
	}
	url, key := setting.Lookup(spec, room, "OPENAI_BASE_URL"), setting.Lookup(spec, room, "OPENAI_API_KEY")
	switch {
	case url == "" && key == "":
		return c, nil
	case url == "":
		url = publicURL
	case key == "":
		err := runtime.Errorf(runtime.CodeAuthRequired, "OPENAI_BASE_URL is set, and there is no credential for it")
		err.Field, err.Hint = "env", "set OPENAI_API_KEY in the agent's environment"
		return nil, err
	}
	return append(c,
		`model_provider="gateway"`,
		`model_providers.gateway={name="gateway",base_url=`+quote(url)+`,wire_api="responses",env_key="OPENAI_API_KEY",`+
			`requires_openai_auth=false,supports_websockets=false}`), nil
}

// native looks for the program behind the script that npm installs, which saves a node process.
func native(room agentcli.Room, found string) string {
	dir := path.Dir(found)
	for _, arch := range []struct{ pkg, target string }{
		{"codex-linux-x64", "x86_64-unknown-linux-musl"}, {"codex-linux-arm64", "aarch64-unknown-linux-musl"},
	} {
		bin := path.Join(arch.pkg, "vendor", arch.target, "bin", "codex")
		for _, modules := range []string{
			"../@openai", // node_modules/.bin
			"../lib/node_modules/@openai/codex/node_modules/@openai", // a global installation
			"../lib/node_modules/@openai",
		} {
			if p, err := room.LookPath(path.Join(dir, modules, bin)); err == nil {
				return p
			}
		}
	}
	return found
}

// quote writes a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\u` + strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16))) + strconv.FormatInt(int64(r), 16))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
