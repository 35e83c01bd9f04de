package local

// owns reports whether a life was begun from this state directory. Handles of a release that did not note that are
// judged by their socket, whose name is made of the directory's.
func (l *Launcher) owns(h handle) bool {
	if h.Owner == "" {
		return h.Socket == l.socket(h.ID)
	}
	return h.Owner == l.owner
}
