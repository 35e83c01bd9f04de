package remote

// sendAgain is how often a record is sent again before it is given up: of two proxies in turn each sees it.
const sendAgain = 2

// Doubt is about a record that something before a service refuses though it takes another one: it is sent again, since the refusal may
// be that of one of several proxies, or of a setting that was mended meanwhile. The zero value is about none. It is not safe for
// concurrent use.
type Doubt struct {
	sequence uint64 // of the record
	sent     int    // how often it was sent again
}

// Again reports whether the record of a sequence, which was refused, is to be sent again, and if not, whether it is refused for what it
// holds. others reports whether another record is taken now; it is asked once for each record.
func (d *Doubt) Again(sequence uint64, others func() bool) (again, blame bool) {
	if d.sequence != sequence {
		if !others() {
			return false, false
		}
		d.sequence, d.sent = sequence, 0
	}
	d.sent++
	return d.sent <= sendAgain, true
}
