package agentcli

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// declared is the adapter of an agent type that an operator declared: any command that prints a prompt. It
// has no signals, so its driver reads the terminal: see declaredDriver.
type declared struct {
	name    string
	t       runtime.DeclaredType
	pattern *regexp.Regexp // nil: the first quiet moment
}

var (
	_ Adapter   = (*declared)(nil)
	_ Commander = (*declared)(nil)
)

// newDeclared checks a declaration. INVALID_SPEC names the field.
func newDeclared(name string, t runtime.DeclaredType) (*declared, error) {
	if !validID.MatchString(name) {
		return nil, runtime.Invalid("type", "%q is not the name of a type: 1 to 64 letters, digits, _ and -", name)
	}
	if strings.TrimSpace(t.Command) == "" || strings.ContainsRune(t.Command, 0) {
		return nil, runtime.Invalid("declared.command", "the type %s needs a command", name)
	}
	for _, arg := range t.Args {
		if strings.ContainsRune(arg, 0) {
			return nil, runtime.Invalid("declared.args", "an argument of the type %s holds a NUL byte", name)
		}
	}
	if strings.ContainsAny(t.Exit, "\r\n") {
		return nil, runtime.Invalid("declared.exit", "the exit line of the type %s is more than one line", name)
	}
	if err := checkEnv("declared.env", t.Env); err != nil {
		return nil, err
	}
	d := &declared{name: name, t: t}
	if t.Ready.Pattern != "" {
		pattern, err := regexp.Compile(t.Ready.Pattern)
		if err != nil {
			return nil, runtime.Invalid("declared.ready.pattern", "is not a regular expression: %s", err)
		}
		d.pattern = pattern
	}
	return d, nil
}

// Type implements Adapter.
func (d *declared) Type() string { return d.name }

// Command implements Commander.
func (d *declared) Command() string { return d.t.Command }

// Plan implements Adapter.
func (d *declared) Plan(_ *runtime.Spec, room Room, _ Life) (Plan, error) {
	path := d.t.Command
	if room.LookPath != nil {
		found, err := room.LookPath(d.t.Command)
		if err != nil {
			return Plan{}, err
		}
		path = found
	}
	return Plan{
		Path: path, Args: slices.Clone(d.t.Args), Env: maps.Clone(d.t.Env), ReadyTimeout: time.Duration(d.t.Ready.Timeout),
	}, nil
}

// NewDriver implements Adapter.
func (d *declared) NewDriver(_ Plan, _ Room, h Host) Driver {
	t, _ := h.(terminalHost) // every session's is one
	idle := cmp.Or(max(time.Duration(d.t.Idle), 0), defaultIdle)
	return &declaredDriver{h: t, pattern: d.pattern, idle: idle, asked: d.t.Idle > 0, exit: d.t.Exit}
}
