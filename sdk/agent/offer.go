package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

const (
	// maxTasks is the most that a server takes of an agent.
	maxTasks = 10000
	// maxAsked bounds how many capabilities an agent remembers that a server may still refuse.
	maxAsked = 16
)

// offer holds what the agent registers with, and may change while it runs. Agent.mu guards it.
type offer struct {
	capabilities []string
	maxTasks     int
	status       string // "" means that heartbeats tell it from the load
	reason       string

	// asked holds the capabilities of the last registration that was taken, and those of the updates since that were not
	// refused; the last are in force. An update is not answered unless it is refused.
	asked   []asked
	updates int // counts the updates, for the ids of their frames
}

// asked are capabilities that a server was offered.
type asked struct {
	id           string // of the frame of their update; "" if there was none
	capabilities []string
}

func newOffer(capabilities []string, maxTasks int) offer {
	return offer{capabilities: capabilities, maxTasks: maxTasks, asked: []asked{{capabilities: capabilities}}}
}

// nextID makes the id of an update's frame.
func (o *offer) nextID() string {
	o.updates++
	return "offer-" + strconv.Itoa(o.updates)
}

// change replaces the capabilities. id is that of the update.
func (o *offer) change(capabilities []string, id string) {
	o.capabilities = capabilities
	if len(o.asked) == maxAsked {
		o.asked = slices.Delete(o.asked, 0, 1)
	}
	o.asked = append(o.asked, asked{id: id, capabilities: capabilities})
}

// refused takes back the capabilities of an update, and returns whether there was such an update.
func (o *offer) refused(id string) bool {
	i := slices.IndexFunc(o.asked, func(a asked) bool { return a.id == id })
	if id == "" || i < 0 || len(o.asked) == 1 {
		return false
	}
	o.asked = slices.Delete(o.asked, i, i+1)
	o.capabilities = o.asked[len(o.asked)-1].capabilities
	return true
}

// fallBack returns to the capabilities of the last registration that was taken, and returns whether others were offered since.
func (o *offer) fallBack() bool {
	if len(o.asked) == 1 {
		return false
	}
	o.asked = o.asked[:1]
	o.capabilities = o.asked[0].capabilities
	return true
}

// SetStatus tells the server a status (protocol.StatusHealthy, StatusBusy, StatusDraining) and why. It stays,
// over reconnects too, until it is changed; "" returns to a status that follows the load. Another word is logged and
// changes nothing.
func (a *Agent) SetStatus(status, reason string) {
	switch status {
	case "", protocol.StatusHealthy, protocol.StatusBusy, protocol.StatusDraining:
	default:
		a.opts.Logger.Warn("agent keeps its status: no server takes the new one", "agent", a.ID(), "status", fmt.Sprintf("%.64q", status))
		return
	}
	a.update(func(o *offer, _ string) protocol.StatusUpdate {
		o.status, o.reason = status, reason
		status = cmp.Or(status, protocol.StatusHealthy)
		return protocol.StatusUpdate{Status: status, Reason: reason}
	})
}

// SetCapabilities replaces what the agent offers. An empty list, or one with an empty entry, is logged and changes
// nothing; so is what the server refuses, such as capabilities that the token does not allow: the agent returns to those
// before. To take no tasks for a while, see SetStatus with protocol.StatusDraining. An agent that hosts threads may have
// none of its own, see Options.Handler.
func (a *Agent) SetCapabilities(capabilities []string, reason string) {
	capabilities, err := a.opts.capabilities(capabilities)
	if err != nil {
		a.opts.Logger.Warn("agent keeps its capabilities: no server takes the new ones", "agent", a.ID(), "error", err)
		return
	}
	a.update(func(o *offer, id string) protocol.StatusUpdate {
		o.change(capabilities, id)
		return protocol.StatusUpdate{Capabilities: capabilities, Reason: reason}
	})
}

// SetMaxConcurrentTasks changes how many handlers run at once; n below 1 counts as 1, and above 10000, the most that a
// server takes, as 10000. Handlers that run are left alone.
func (a *Agent) SetMaxConcurrentTasks(n int, reason string) {
	n = min(max(n, 1), maxTasks)
	a.ledger.resize(n)
	a.update(func(o *offer, _ string) protocol.StatusUpdate {
		o.maxTasks = n
		return protocol.StatusUpdate{MaxTasks: &n, Reason: reason}
	})
}

// update changes the offer and tells the server, if there is a session; the next registration tells it anyway. change gets
// the id of the update's frame.
func (a *Agent) update(change func(o *offer, id string) protocol.StatusUpdate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := a.offer.nextID()
	u := change(&a.offer, id)
	if a.online != nil {
		pushFrame(a.online, protocol.TypeStatusUpdate, id, u)
	}
}

// attach makes out the outbox of the present session, and tells what its registration, r, did not: a status, and what was
// changed since it was sent.
func (a *Agent) attach(out *outbox, r *protocol.Register) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.online = out
	o := &a.offer
	o.asked = []asked{{capabilities: r.Capabilities}}
	// Each in a frame of its own: what the server refuses takes nothing else with it.
	if o.status != "" {
		pushFrame(out, protocol.TypeStatusUpdate, o.nextID(), protocol.StatusUpdate{Status: o.status, Reason: o.reason})
	}
	if n := o.maxTasks; n != r.Config.MaxConcurrentTasks {
		pushFrame(out, protocol.TypeStatusUpdate, o.nextID(), protocol.StatusUpdate{MaxTasks: &n})
	}
	if !slices.Equal(o.capabilities, r.Capabilities) {
		id := o.nextID()
		o.change(o.capabilities, id)
		pushFrame(out, protocol.TypeStatusUpdate, id, protocol.StatusUpdate{Capabilities: o.capabilities})
	}
}

func (a *Agent) detach() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.online = nil
}

// refused takes back what a server refused of the offer. What it drops or cannot decide at present stays: the next
// registration offers it again.
func (a *Agent) refused(id string, e protocol.Error) bool {
	if !permanentCodes[e.Code] {
		return false
	}
	a.mu.Lock()
	back := a.offer.refused(id)
	a.mu.Unlock()
	if back {
		a.opts.Logger.Warn("agent keeps its capabilities: the server refused the new ones", "agent", a.ID(), "code", e.Code, "message", e.Message)
	}
	return back
}

// fallsBack reports whether a registration that was refused may be taken without the capabilities that were offered since the
// last, and prepares that.
func (a *Agent) fallsBack(refused *ConnectError) bool {
	if refused.Status != 0 || refused.Code == "" {
		return false // by an upgrade, which knows of no offer
	}
	a.mu.Lock()
	back := a.offer.fallBack()
	a.mu.Unlock()
	if back {
		a.opts.Logger.Warn("agent returns to its capabilities of before: the server refused the new ones", "agent", a.ID(),
			"code", refused.Code, "message", refused.Message)
	}
	return back
}
