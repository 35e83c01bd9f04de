package dialog

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// keyGap lets a CLI redraw between two keys.
	keyGap = 150 * time.Millisecond
	// standLimit is how long an answer waits for its dialog to be drawn; a key that comes earlier lands in the
	// line below. What takes longer is typed blindly.
	standLimit = 3 * time.Second
	// reactLimit is how long a CLI may take to react to an answer before it is typed again, once.
	reactLimit = 1500 * time.Millisecond
)

// Keys is the way of an answer that is given by keys: it waits until its dialog stands on the screen, is typed,
// and is typed once more if the dialog stays. It is used from the session's goroutine only.
type Keys struct {
	Host agentcli.Host
	// Delay is how long a dialog takes to be drawn, for hosts that type nothing later.
	Delay time.Duration

	choice  string
	once    bool // it is not typed again
	late    bool // the CLI has not reacted to it in time: a further answer is welcome
	waiting []agentcli.Step
	open    func() bool
	cancel  func()
}

// Choice is the answer that was given last, while its dialog is there; or empty.
func (k *Keys) Choice() string { return k.choice }

// Give begins an answer, and returns what of it is typed at once. Open reports whether the dialog is still there.
// NO_PROMPT when another answer is on its way.
func (k *Keys) Give(choice string, steps []agentcli.Step, standing bool, open func() bool) ([]agentcli.Step, error) {
	return k.give(choice, steps, standing, false, open)
}

// GiveOnce is Give of an answer that takes its time, and is not typed again.
func (k *Keys) GiveOnce(choice string, steps []agentcli.Step, standing bool, open func() bool) ([]agentcli.Step, error) {
	return k.give(choice, steps, standing, true, open)
}

func (k *Keys) give(choice string, steps []agentcli.Step, standing, once bool, open func() bool) ([]agentcli.Step, error) {
	if err := k.begin(choice, open); err != nil {
		return nil, err
	}
	k.once = once
	if standing {
		k.again(steps)
		return steps, nil
	}
	if _, ok := k.Host.(agentcli.Typist); !ok {
		return append([]agentcli.Step{{Wait: k.Delay}}, steps...), nil
	}
	k.waiting = steps
	k.cancel = k.Host.After(standLimit, k.Stands)
	return nil, nil
}

// Once is Give for a dialog that stands, of which only the screen says when it is gone: that may be seen later than the CLI
// took the keys, so they are not typed again. Until then, or until the CLI is late, another answer is NO_PROMPT.
func (k *Keys) Once(choice string, steps []agentcli.Step, open func() bool) ([]agentcli.Step, error) {
	return k.GiveOnce(choice, steps, true, open)
}

// begin takes an answer, unless one is on its way to a dialog that is still there.
func (k *Keys) begin(choice string, open func() bool) error {
	if k.choice != "" && !k.late && k.open() {
		return runtime.Errorf(runtime.CodeNoPrompt, "the prompt is being answered already")
	}
	k.Stop()
	k.choice, k.open = choice, open
	return nil
}

// Stands reports that the dialog is drawn.
func (k *Keys) Stands() {
	typist, ok := k.Host.(agentcli.Typist)
	if k.waiting == nil || !ok {
		return
	}
	steps := k.waiting
	k.waiting = nil
	k.cancel()
	typist.Type(steps)
	k.again(steps)
}

// again types the steps a second time if the dialog stays, unless they are typed once.
func (k *Keys) again(steps []agentcli.Step) {
	if k.once {
		k.cancel = k.Host.After(reactLimit, func() { k.late = true })
		return
	}
	typist, ok := k.Host.(agentcli.Typist)
	if !ok {
		return
	}
	k.cancel = k.Host.After(reactLimit, func() {
		if k.open() {
			k.late = true
			typist.Type(steps)
		}
	})
}

// Stop ends the answer's way: the dialog is gone.
func (k *Keys) Stop() {
	if k.cancel != nil {
		k.cancel()
	}
	k.choice, k.once, k.late, k.waiting, k.open, k.cancel = "", false, false, nil, nil, nil
}
