package agentcli

// draft knows whether the input line of the CLI may hold text. The session's loop owns it.
type draft struct {
	clean uint64 // what had been typed, as typist.typedBy counts, when the line was known to be empty
	left  bool   // something may have been left in it since: a message that was not taken
}

var _ Drafts = host{}

// Drafted implements Drafts.
func (h host) Drafted() bool {
	return h.s.delivery.draft.left || h.s.typist.typedBy() != h.s.delivery.draft.clean
}

// submitted handles that a message was taken: before is typedBy as it was when its typing began.
func (d *draft) submitted(before uint64) { d.clean, d.left = before, false }
