package claude

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/wardroom/wardroom/sdk/agentcli"
)

const (
	// readAtOnce is how much of a transcript is read at a time, in bytes.
	readAtOnce = 4 << 20
	// readBack is how much of it is read of a turn whose begin was not seen.
	readBack = 2 << 20
)

// file is the transcript's, and how far it was read. The session's goroutine owns it; only read runs elsewhere.
type file struct {
	read    func(path string, offset int64, limit int) (data []byte, at int64, err error) // nil: it cannot be
	path    string
	offset  int64 // of what comes next; -1: not known yet
	reading bool
	again   bool // somebody asked while it was read
	waiting []func()
}

// readable reports whether the transcript can be read, and where it is is known.
func (f *file) readable() bool { return f.read != nil && f.path != "" }

// reader returns how files of a room are read in parts, or nil.
func reader(room agentcli.Room) func(string, int64, int) ([]byte, int64, error) {
	if room.ReadFrom != nil {
		return room.ReadFrom
	}
	if room.ReadFile == nil {
		return nil
	}
	return func(name string, offset int64, limit int) ([]byte, int64, error) {
		data, err := room.ReadFile(name)
		if err != nil {
			return nil, 0, err
		}
		size := int64(len(data))
		if offset < 0 {
			offset = max(0, size+offset)
		}
		return data[min(offset, size):min(offset+int64(limit), size)], offset, nil
	}
}

// transcriptOf is where claude writes a session that works in a folder; "" where that cannot be known.
func transcriptOf(configDir, workdir, session string) string {
	const longest = 200 // claude cuts longer folder names in a way of its own
	if session == "" || configDir == "" || len(workdir) > longest {
		return ""
	}
	folder := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, workdir)
	return path.Join(configDir, "projects", folder, session+".jsonl")
}

// locate notes where the transcript is, as a hook told.
func (d *driver) locate(name string) {
	if name == "" || name == d.state.Transcript {
		return
	}
	d.state.Transcript, d.state.Offset = name, -1
	d.file.path, d.file.offset = name, -1
	d.told.restart(false)
}

// look reads what the transcript has grown by, tells what was said in it, and calls done. At most one read runs.
func (d *driver) look(done func()) {
	f := &d.file
	if !f.readable() {
		done()
		return
	}
	f.waiting = append(f.waiting, done)
	if f.reading {
		f.again = true
		return
	}
	d.readOn()
}

func (d *driver) readOn() {
	f := &d.file
	f.reading, f.again = true, false
	name, begun := f.path, f.offset
	offset, limit := begun, readAtOnce
	if offset < 0 { // not known: from here on, unless a turn runs that is known by its id
		offset, limit = -1, 1
		if d.told.open && d.told.prompt != "" {
			offset, limit = -readBack, readBack
		}
	}
	var data []byte
	var at int64
	var err error
	d.host.Do(func() { data, at, err = f.read(name, offset, limit) }, func() {
		f.reading = false
		if name == f.path && begun == f.offset {
			d.grown(data, at, offset, err)
		}
		if f.again || err == nil && len(data) == limit && limit > 1 {
			d.readOn()
			return
		}
		waiting := f.waiting
		f.waiting = nil
		for _, fn := range waiting {
			fn()
		}
	})
}

// grown takes a part of the transcript.
func (d *driver) grown(data []byte, at, asked int64, err error) {
	f := &d.file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.offset = 0 // all of what will be there is new
	case err != nil:
		// Nothing is known, now.
	case asked == -1 && d.told.open && d.told.prompt != "": // begun meanwhile: its first entries may be there
		f.again = true
	case asked == -1:
		f.offset = at + int64(len(data))
		d.told.restart(len(data) > 0 && data[0] != '\n')
	default:
		if asked < 0 {
			d.told.restart(at > 0) // it begins within a line
		}
		f.offset = at + int64(len(data))
		d.told.feed(data)
	}
}
