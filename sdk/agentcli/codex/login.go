package codex

import (
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// login is what the driver does about a missing login.
type login struct {
	seen bool
	told string
}

// signIn reports the sign-in screen, and chooses its first method, which shows an address. A person may go back
// with Escape and choose another.
func (d *driver) signIn() {
	if d.login.seen {
		return
	}
	d.login.seen = true
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceScreen})
	d.chooseLogin(loginTries)
}

// A menu that was just drawn may drop what is typed into it: the choice is made again, up to so many times.
const (
	signInMenu = "Sign in with ChatGPT"
	loginTries = 5
	loginAgain = 3 * time.Second
)

// chooseLogin chooses the first method, and again for as long as the menu stays without an address.
func (d *driver) chooseLogin(tries int) {
	t, ok := d.host.(agentcli.Typist)
	if !ok || tries == 0 {
		return
	}
	t.Type([]agentcli.Step{{Write: []byte(composer.Enter)}})
	d.host.After(loginAgain, func() {
		if d.login.told == "" && !d.state.Ready && screen.Has(d.host.Rows(), signInMenu) {
			d.chooseLogin(tries - 1)
		}
	})
}

// hyperlink takes the address of a login from the link around it: on the screen it is broken over lines.
func (d *driver) hyperlink(data string) {
	_, url, ok := strings.Cut(data, ";")
	if !ok || d.state.Ready || url == d.login.told || !strings.Contains(url, "/oauth/authorize") {
		return
	}
	d.login.told, d.login.seen = url, true
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceOSC, URL: url})
}
