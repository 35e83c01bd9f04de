package gemini

import (
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// readyLook is how often the screen is looked at while gemini starts.
	readyLook = 50 * time.Millisecond
	// readyLooks is after how many looks gemini counts as ready without its input line having been recognised.
	readyLooks = 100
	// drawPause without a change of the screen tells that an earlier conversation is drawn.
	drawPause = time.Second
)

// login is what was told about a missing login.
type login struct{ url string }

// signIn are words of the dialogs that stand where the input line would.
var signIn = []string{
	"How would you like to authenticate", "Enter Gemini API Key", "Enter the authorization code",
}

// lookForReady looks, once the title says ◇, whether the input line is there or a sign-in dialog.
func (d *driver) lookForReady() {
	if d.looking {
		return
	}
	d.looking = true
	d.host.After(readyLook, func() {
		d.looking = false
		if d.state.Ready || !d.waits {
			return
		}
		if !d.Screen(d.host.Rows(), 0, 0) || d.state.Login {
			return // ready, or the screen is followed by its changes
		}
		if d.looks++; d.looks > readyLooks {
			d.ready()
			return
		}
		d.lookForReady()
	})
}

func (d *driver) ready() {
	d.state.Ready, d.state.Login = true, false
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalIdle, Source: runtime.SourceOSC})
}

// Screen reads the start-up screen.
func (d *driver) Screen(rows []string, _, _ int) bool {
	if d.state.Ready {
		return false
	}
	for _, words := range signIn {
		if screen.Has(rows, words) {
			d.needLogin(screen.URL(rows, "https://accounts.google.com/"))
			return true
		}
	}
	// Before its session has begun, gemini loses messages now and then.
	if d.waits && (d.session || !d.hooks) && screen.Has(rows, "Type your message") && d.still(rows) {
		d.ready()
	}
	return !d.state.Ready
}

// still tells whether an earlier conversation is drawn: what is typed before is lost.
func (d *driver) still(rows []string) bool {
	if !d.resumed {
		return true
	}
	if drawn := strings.Join(rows, "\n"); drawn != d.drawn {
		d.drawn, d.since = drawn, d.host.Now()
	}
	return d.host.Now().Sub(d.since) >= drawPause
}

func (d *driver) needLogin(url string) {
	if d.state.Login && (url == "" || url == d.login.url) {
		return
	}
	d.state.Login, d.login.url = true, url
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalLogin, Source: runtime.SourceScreen, URL: url})
}

// hyperlink takes the address of a login from a link, where it is in one piece.
func (d *driver) hyperlink(data string) {
	_, url, ok := strings.Cut(data, ";")
	if ok && !d.state.Ready && strings.HasPrefix(url, "https://accounts.google.com/") {
		d.needLogin(url)
	}
}
