package gemini

import (
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/failure"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/screen"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

const (
	// startLook is how often the screen is looked at while gemini starts, and endLook while a turn ends.
	startLook = 50 * time.Millisecond
	endLook   = 10 * time.Millisecond
	// startPause without a change of the screen tells that gemini has begun: it loses what is typed before. drawPause
	// does where it draws an earlier conversation.
	startPause = 400 * time.Millisecond
	drawPause  = time.Second
	// drawMost is how long a screen may go on changing before that is taken for its way.
	drawMost = 15 * time.Second
	// foundWait is how long the SessionStart is waited for of a gemini that was taken over while it started.
	foundWait = 10 * time.Second
)

// login is what was reported about a missing login.
type login struct{ url string }

// signIn are words of the dialogs that stand where the input line would.
var signIn = []string{
	"How would you like to authenticate", "Enter Gemini API Key", "Enter the authorization code",
}

func asksForLogin(rows []string) bool {
	return slices.ContainsFunc(signIn, func(words string) bool { return screen.Has(rows, words) })
}

// loggedOut takes that gemini wants a login where it had one.
func (d *driver) loggedOut(said string) {
	if d.state.Turn {
		d.ended(agentcli.Signal{
			Kind: agentcli.SignalTurnEnd, Source: runtime.SourceScreen,
			TurnOutcome: runtime.TurnOutcome{Error: failure.Of(wire.TurnLoginRequired, said)},
		})
	}
	d.state.Ready = false
	d.look(d.host.Rows())
}

// lookLater looks at the screen later, and once: an earlier look takes the place of a later one.
func (d *driver) lookLater(after time.Duration) {
	at := d.host.Now().Add(after)
	if d.looks != nil {
		if !at.Before(d.lookAt) {
			return
		}
		d.looks()
	}
	d.lookAt = at
	d.looks = d.host.After(after, func() {
		d.looks = nil
		d.look(d.host.Rows())
	})
}

// Screen reads the screen: whether the composer is there, or a dialog in its place.
func (d *driver) Screen(rows []string, _, _ int) bool {
	d.look(rows)
	return true
}

func (d *driver) look(rows []string) {
	row := composerAt(rows)
	if !d.state.Ready && d.starts(rows, row) {
		return
	}
	if row < 0 {
		d.stands(rows)
		return
	}
	d.seen = time.Time{}
	if d.state.Dialog != nil {
		d.dialogGone()
	}
	if d.state.Turn {
		d.seeCut(rows)
		d.atComposer(rows, row)
	}
}

// starts reads the start-up screen, and reports whether there is nothing else to see.
func (d *driver) starts(rows []string, row int) bool {
	if row < 0 && asksForLogin(rows) {
		d.needLogin(screen.URL(rows, "https://accounts.google.com/"))
		return true
	}
	// Before its session has begun, gemini loses messages now and then.
	switch {
	case d.title == 0:
		return true
	case row >= 0 && d.hasBegun() && d.still(rows):
		d.dialogGone()
		d.ready()
		return true
	}
	d.lookLater(startLook)
	return row >= 0
}

// hasBegun reports whether gemini's session has begun, as far as can be known.
func (d *driver) hasBegun() bool {
	return d.session || !d.hooks || !d.found.IsZero() && d.host.Now().Sub(d.found) >= foundWait
}

func (d *driver) ready() {
	d.state.Ready, d.state.Login, d.readyAt = true, false, d.host.Now()
	d.host.Signal(agentcli.Signal{Kind: agentcli.SignalIdle, Source: runtime.SourceOSC})
}

// still reports whether gemini has drawn what it begins with: what is typed before is lost.
func (d *driver) still(rows []string) bool {
	now := d.host.Now()
	if d.began.IsZero() {
		d.began = now
	}
	if drawn := strings.Join(rows, "\n"); drawn != d.drawn {
		d.drawn, d.since = drawn, now
	}
	pause := startPause
	if d.resumed {
		pause = drawPause
	}
	return now.Sub(d.since) >= pause && !screen.Has(rows, "Executing Hook") || now.Sub(d.began) >= drawMost
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
