package codex

import (
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
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
	if t, ok := d.host.(agentcli.Typist); ok {
		t.Type([]agentcli.Step{{Write: []byte(composer.Enter)}})
	}
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
