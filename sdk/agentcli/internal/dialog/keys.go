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
	waiting []agentcli.Step
	open    func() bool
	cancel  func()
}

// Choice is the answer that is on its way, or empty.
func (k *Keys) Choice() string { return k.choice }

// Give begins an answer, and returns what of it is typed at once. Open tells whether the dialog is still there.
// NO_PROMPT when another answer is on its way.
func (k *Keys) Give(choice string, steps []agentcli.Step, standing bool, open func() bool) ([]agentcli.Step, error) {
	if k.choice != "" {
		return nil, runtime.Errorf(runtime.CodeNoPrompt, "the prompt is being answered already")
	}
	k.choice, k.open = choice, open
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

// Stands tells that the dialog is drawn.
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

// again types the steps a second time if the dialog stays.
func (k *Keys) again(steps []agentcli.Step) {
	typist, ok := k.Host.(agentcli.Typist)
	if !ok {
		return
	}
	k.cancel = k.Host.After(reactLimit, func() {
		if k.open() {
			k.choice = "" // a further answer is welcome
			typist.Type(steps)
		}
	})
}

// Stop ends the answer's way: the dialog is gone.
func (k *Keys) Stop() {
	if k.cancel != nil {
		k.cancel()
	}
	k.choice, k.waiting, k.open, k.cancel = "", nil, nil, nil
}
