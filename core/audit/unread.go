package audit

import "github.com/hashicorp/go-hclog"

// unread is the records that a list or an export passes over, as they cannot be read: they have one line of the log. The zero value is
// none.
type unread struct {
	n     int
	first uint64 // sequence of the first of them
	err   error  // of that one
}

func (u *unread) add(sequence uint64, err error) {
	if u.n++; u.n == 1 {
		u.first, u.err = sequence, err
	}
}

// log writes the line, if there are such records.
func (u *unread) log(l hclog.Logger, message string) {
	if u.n > 0 {
		l.Warn(message, "records", u.n, "sequence", u.first, "error", u.err)
	}
}
