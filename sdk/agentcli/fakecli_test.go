package agentcli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// oscSignal is the command with which the fake CLI tells its driver what to signal.
const oscSignal = 7777

// fakeType is an agent type whose CLI is a function of the test, and whose driver only passes on.
type fakeType struct {
	mu      sync.Mutex
	drivers []*fakeDriver
	confirm bool // the driver has something to type when a message was not taken
	undrawn int  // so many answers wait for a dialog that is not drawn
	ready   time.Duration
	life    agentcli.Life
	session string
	longest int // bytes of a message; 0: any
	forgot  []string
}

func (f *fakeType) Type() string { return "fake" }

func (f *fakeType) Plan(_ *runtime.Spec, _ agentcli.Room, life agentcli.Life) (agentcli.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.life = life
	return agentcli.Plan{Path: "/bin/fake", ReadyTimeout: f.ready, SessionID: f.session}, nil
}

func (f *fakeType) NewDriver(_ agentcli.Plan, _ agentcli.Room, h agentcli.Host) agentcli.Driver {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &fakeDriver{f: f, h: h}
	f.drivers = append(f.drivers, d)
	return d
}

func (f *fakeType) lastLife() agentcli.Life {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.life
}

type fakeDriver struct {
	f     *fakeType
	h     agentcli.Host
	Seen  int
	saved []byte
}

func (d *fakeDriver) MaxMessage() int {
	if d.f.longest > 0 {
		return d.f.longest
	}
	return 1 << 20
}

func (d *fakeDriver) Forget(text string) {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	d.f.forgot = append(d.f.forgot, text)
}

func (d *fakeDriver) OSC(code int, data []byte) {
	if code != oscSignal {
		return
	}
	d.Seen++
	var s agentcli.Signal
	if err := json.Unmarshal(data, &s); err != nil {
		panic(err)
	}
	d.h.Signal(s)
}

func (d *fakeDriver) Hook(call *agentcli.HookCall) {
	var s agentcli.Signal
	if json.Unmarshal(call.Payload, &s) == nil {
		d.h.Signal(s)
	}
	call.Answer([]byte("{}"))
}

func (d *fakeDriver) Screen([]string, int, int) bool { return false }

func (d *fakeDriver) Submit(text string) []agentcli.Step {
	return []agentcli.Step{
		{Write: []byte("\x15")}, {Write: []byte("\x1b[200~" + text + "\x1b[201~"), Wait: 2 * time.Millisecond}, {Write: []byte("\r")},
	}
}

func (d *fakeDriver) Confirm() []agentcli.Step {
	if d.f.confirm {
		return []agentcli.Step{{Write: []byte("\r")}}
	}
	return nil
}

// InputLine reads what a fakeCLI that draws shows.
func (d *fakeDriver) InputLine(rows []string) (string, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		if text, ok := strings.CutPrefix(rows[i]+" ", "> "); ok { // rows end before the space of an empty line
			return strings.TrimSuffix(text, " "), true
		}
	}
	return "", false
}

func (d *fakeDriver) ClearLine() []agentcli.Step { return []agentcli.Step{{Write: []byte("\x15")}} }

func (d *fakeDriver) Answer(p *runtime.Prompt, a runtime.Answer) ([]agentcli.Step, error) {
	d.f.mu.Lock()
	defer d.f.mu.Unlock()
	if d.f.undrawn > 0 {
		d.f.undrawn--
		return nil, nil
	}
	return []agentcli.Step{{Write: []byte("answer " + p.ID + " " + a.Choice + a.Text + "\r")}}, nil
}

func (d *fakeDriver) Exit() []agentcli.Step { return []agentcli.Step{{Write: []byte("\x15/exit\r")}} }

func (d *fakeDriver) Save() []byte { return fmt.Appendf(nil, `{"seen":%d}`, d.Seen) }

func (d *fakeDriver) Load(state []byte) { d.saved = slices.Clone(state) }

// signal prints what the driver shall signal.
func (p *process) signal(s agentcli.Signal) {
	if s.Source == "" {
		s.Source = runtime.SourceOSC
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	p.print(fmt.Sprintf("\x1b]%d;%s\x07", oscSignal, data))
}

func (p *process) kind(kinds ...agentcli.SignalKind) {
	for _, k := range kinds {
		p.signal(agentcli.Signal{Kind: k})
	}
}

// fakeCLI is a CLI with a composer: it edits a line, and what is submitted goes to turn.
type fakeCLI struct {
	mu       sync.Mutex
	got      []string                     // what was submitted
	ignore   int                          // so many times Enter does nothing
	turn     func(p *process, msg string) // nil: an answered turn
	silent   bool                         // never says that it is ready
	draws    bool                         // shows its line
	frozen   chan struct{}                // reads nothing until it is closed; nil: reads
	line     strings.Builder
	exitCode int
}

func (c *fakeCLI) messages() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// answered is a turn that ends at once.
func answered(p *process, msg string) {
	p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
	p.print("working\r\n")
	p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: "ANSWER[" + msg + "]"})
}

func (c *fakeCLI) run(p *process) {
	if !c.silent {
		p.kind(agentcli.SignalIdle)
	}
	var input string
	for {
		c.mu.Lock()
		frozen := c.frozen
		c.mu.Unlock()
		if frozen != nil {
			<-frozen
		}
		more, ok := p.read()
		if !ok {
			p.mu.Lock()
			p.exit.Code = 137
			p.mu.Unlock()
			return
		}
		input += more
		for input != "" {
			if strings.HasPrefix(input, "\x1b[200~") {
				text, rest, ok := strings.Cut(input[6:], "\x1b[201~")
				if !ok {
					break
				}
				c.line.WriteString(text)
				input = rest
				continue
			}
			key := input[0]
			input = input[1:]
			switch key {
			case '\x15':
				c.line.Reset()
			case '\r':
				if !c.enter(p) {
					return
				}
			default:
				c.line.WriteByte(key)
			}
		}
		if c.draws {
			p.print("\r\n> " + c.line.String())
		}
	}
}

// enter submits the line; false at the end.
func (c *fakeCLI) enter(p *process) bool {
	c.mu.Lock()
	if c.ignore > 0 {
		c.ignore--
		c.mu.Unlock()
		return true
	}
	msg, turn := c.line.String(), c.turn
	c.line.Reset()
	if msg != "" && msg != "/exit" {
		c.got = append(c.got, msg)
	}
	c.mu.Unlock()
	switch {
	case msg == "/exit":
		p.mu.Lock()
		p.exit.Code = c.exitCode
		p.mu.Unlock()
		return false
	case msg == "":
	case turn != nil:
		turn(p, msg)
	default:
		answered(p, msg)
	}
	return true
}

// fake opens a runtime with one fake CLI that is ready.
func fake(t testing.TB, c *fakeCLI, change func(*agentcli.Options)) (*rig, *fakeType) {
	t.Helper()
	f := &fakeType{}
	g := open(t, newLauncher(t, c.run), func(o *agentcli.Options) {
		o.Adapters = []agentcli.Adapter{f}
		if change != nil {
			change(o)
		}
	})
	return g, f
}
