package agentcli

import "time"

// atPrompt ends the turn, or the start, if the prompt that shows is that of the program which showed it last. What another
// one prints that has the terminal meanwhile may look like it: that counts after a long quiet only, as the prompt of a shell
// within the shell does.
func (d *declaredDriver) atPrompt() {
	if d.asking {
		return // its answer looks
	}
	if !d.saved.Busy && d.saved.Owner != 0 {
		d.waits(true)
		d.learnOwner()
		return
	}
	d.asking = true
	offset := d.h.Offset()
	if !d.saved.Busy { // it is known whose the first prompt is before a message can come
		d.h.Foreground(func(group int) {
			d.asking = false
			if offset != d.h.Offset() {
				d.look(d.h.Rows())
				return
			}
			if !d.saved.Busy {
				d.saved.Owner = group
				d.waits(true)
			}
		})
		return
	}
	d.h.Foreground(func(group int) {
		d.asking = false
		switch quiet := d.h.Quiet(); {
		case !d.saved.Busy:
		case offset != d.h.Offset(): // something came meanwhile
			d.look(d.h.Rows())
		// Who prints a prompt and ends gives the terminal back before what it printed last is read here.
		case group == 0 || d.saved.Owner == 0 || group == d.saved.Owner && offset != d.saved.Foreign || quiet >= d.foreign():
			if group != 0 {
				d.saved.Owner = group
			}
			d.waits(true)
		default:
			if group != d.saved.Owner {
				d.saved.Foreign = offset
			}
			d.lookAgain(min(d.foreign()-quiet, foreignLook))
		}
	})
}

// foreignLook is how often is looked who has the terminal while a prompt shows that may be another program's.
const foreignLook = 250 * time.Millisecond

// foreign is after how much quiet a prompt is believed though another program has the terminal than before.
func (d *declaredDriver) foreign() time.Duration { return unproven * d.idle }

// learnOwner notes who has the terminal while the prompt shows.
func (d *declaredDriver) learnOwner() {
	d.h.Foreground(func(group int) {
		if group != 0 && !d.saved.Busy && !d.typed && d.saved.Typing == nil && d.entered == nil {
			d.saved.Owner = group
		}
	})
}

// recoverOwner notes once whose the prompt is of a command that an earlier version kept no owner of. No message is typed before.
func (d *declaredDriver) recoverOwner() {
	d.asking = true
	d.h.Foreground(func(group int) {
		d.asking, d.unowned = false, false
		switch {
		case d.saved.Busy:
			d.look(d.h.Rows())
		case !d.typed && d.entered == nil:
			d.saved.Owner = group
		}
	})
}
