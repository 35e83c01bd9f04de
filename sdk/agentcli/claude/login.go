package claude

import (
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// readyLook is how often the screen is looked at while claude starts.
	readyLook = 50 * time.Millisecond
	// readyLooks is after how many looks claude counts as ready without its composer having been recognised.
	readyLooks = 60
	// foundLooks is the same without its SessionStart, which may have been lost when it was taken over.
	foundLooks = 200
	// loginLooks is how many looks a claude for which no credential was found may take to say that it has no login.
	loginLooks = 300
)

// login is what the driver does about a missing login.
type login struct {
	unknown bool // no credential was found

	begun bool // /login was typed
	chose bool // the first method was chosen
	told  string
	done  bool // "Press Enter to continue" was answered
	looks int
}

// lookForReady waits, after the first signs of life, until the composer is drawn: what is typed earlier may be
// lost, and a missing login shows only there.
func (d *driver) lookForReady() {
	if d.looking {
		return
	}
	d.looking = true
	d.host.After(readyLook, func() {
		d.looking = false
		if d.state.Ready {
			return
		}
		d.Screen(d.host.Rows(), 0, 0)
		if d.state.Ready || d.state.Login {
			return
		}
		d.login.looks++
		if d.mayLackLogin(d.host.Rows()) {
			d.lookForReady()
			return
		}
		begun := d.session && d.login.looks > readyLooks || d.found && d.login.looks > foundLooks
		if begun && d.title == titleIdle {
			d.ready()
			return
		}
		d.lookForReady()
	})
}

func (d *driver) ready() {
	if d.state.Ready {
		return
	}
	if len(d.state.Requests) > 0 { // of the start
		d.resolve(0, "")
	}
	d.state.Ready, d.state.Login = true, false
	d.look(func() {}) // what the transcript has by now is of earlier turns
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalIdle, Source: runtime.SourceOSC})
}

// Screen reads the start-up screen, the screens of a login, and what stands there later in the composer's place.
func (d *driver) Screen(rows []string, _, _ int) bool {
	if d.state.Ready {
		d.lookForDialog(rows)
		return true
	}
	switch {
	case screen.Has(rows, "Login successful"):
		if !d.login.done {
			d.login.done = true
			d.press(composer.Enter)
		}
	case screen.Has(rows, "Paste code here"):
		d.needLogin(screen.URL(rows, "https://"))
	case screen.Has(rows, "Select login method"):
		d.needLogin("")
		if d.login.begun && !d.login.chose {
			d.login.chose = true
			d.press(composer.Enter) // the first one: a subscription
		}
	case screen.Has(rows, "Not logged in"):
		d.needLogin("")
		if d.title == titleIdle && d.session && !d.login.begun {
			d.login.begun = true
			d.type2("/login", composer.Enter)
		}
	case d.state.Login && !screen.Has(rows, "for shortcuts"):
		// The line in which "Not logged in" would stand makes room for other things, too.
	case d.mayLackLogin(rows):
		d.lookForReady()
	case d.title == titleIdle && d.session && composerDrawn(rows):
		d.ready()
	case !d.state.Login:
		d.lookForDialog(rows) // what claude asks before it starts, such as whether to use an MCP server of the project
	}
	return true
}

// mayLackLogin reports whether "Not logged in" may still come: for its first seconds claude 2.1.332 shows a hint in that place.
func (d *driver) mayLackLogin(rows []string) bool {
	return d.login.unknown && !d.state.Login && d.login.looks < loginLooks && screen.Has(rows, "· /effort")
}

func composerDrawn(rows []string) bool {
	for i, row := range rows {
		if strings.HasPrefix(row, "❯") && i > 0 && strings.HasPrefix(rows[i-1], "──") {
			return true
		}
	}
	return false
}

func (d *driver) needLogin(url string) {
	if d.state.Login && (url == "" || url == d.login.told) {
		return
	}
	d.state.Login = true
	d.login.told = url
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceScreen, URL: url})
}

// hyperlink takes the address of a login from a link, where it is in one piece.
func (d *driver) hyperlink(data string) {
	_, url, ok := strings.Cut(data, ";")
	if ok && !d.state.Ready && strings.Contains(url, "/oauth/authorize") {
		d.needLogin(url)
	}
}

func (d *driver) press(key string) {
	if t, ok := d.host.(agentcli.Typist); ok {
		t.Type([]agentcli.Step{{Write: []byte(key)}})
	}
}

// type2 types a command, and confirms it once its completion is drawn.
func (d *driver) type2(text, key string) {
	if t, ok := d.host.(agentcli.Typist); ok {
		t.Type([]agentcli.Step{{Write: []byte(text), Wait: 300 * time.Millisecond}, {Write: []byte(key)}})
	}
}
