package wire

import (
	"encoding/binary"
	"time"
)

// Launch tells the holding process what to hold. It travels over a pipe, because environments hold secrets.
type Launch struct {
	Socket    string // path of the unix socket to listen on
	Nonce     Nonce
	ExitFile  string // written when the command ended
	Path      string // of the command, absolute
	Args      []string
	Env       []string // complete
	Dir       string
	Cols      uint16
	Rows      uint16
	RingBytes uint32
	Stall     time.Duration // a reader that takes nothing for so long is dropped; whole milliseconds
	Linger    time.Duration // how long an ended command is kept for a client; whole milliseconds
	// Cgroup is a directory of the unified hierarchy that the command is born in; Joins are directories of the
	// older hierarchies, and Homes, one for each, those that the holding process goes back to. Empty: none.
	Cgroup string
	Joins  []string
	Homes  []string
	// User is whom the command runs as; nil: the holding process's own user. Its hooks then come from that user.
	User *User
	// Landlock, Shut, Open and Readable are those of the rules that the command is confined by (sdk/holder/confine). It
	// gets no_new_privs in any case.
	Landlock             bool
	Shut, Open, Readable []string
	// Inherit has the command get the environment that the holding process was started with, under Env: for a pod, whose
	// environment holds secrets that the runtime need not know.
	Inherit bool
}

// User is a user of the machine by numbers.
type User struct {
	UID, GID uint32
	Groups   []uint32 // supplementary
}

// Kind implements Message.
func (Launch) Kind() Kind { return KindLaunch }

func (m Launch) append(b []byte) []byte {
	b = putBytes(b, m.Socket)
	b = append(b, m.Nonce[:]...)
	b = putBytes(b, m.ExitFile)
	b = putBytes(b, m.Path)
	b = putList(b, m.Args)
	b = putList(b, m.Env)
	b = putBytes(b, m.Dir)
	b = binary.BigEndian.AppendUint16(b, m.Cols)
	b = binary.BigEndian.AppendUint16(b, m.Rows)
	b = binary.BigEndian.AppendUint32(b, m.RingBytes)
	b = binary.BigEndian.AppendUint32(b, uint32(m.Stall.Milliseconds()))
	b = binary.BigEndian.AppendUint32(b, uint32(m.Linger.Milliseconds()))
	b = putBytes(b, m.Cgroup)
	b = putList(putList(b, m.Joins), m.Homes)
	b = putBool(b, m.User != nil)
	if m.User != nil {
		b = binary.BigEndian.AppendUint32(b, m.User.UID)
		b = binary.BigEndian.AppendUint32(b, m.User.GID)
		b = binary.BigEndian.AppendUint32(b, uint32(len(m.User.Groups)))
		for _, group := range m.User.Groups {
			b = binary.BigEndian.AppendUint32(b, group)
		}
	}
	b = putBool(b, m.Landlock)
	return putBool(putList(putList(putList(b, m.Shut), m.Open), m.Readable), m.Inherit)
}

// ParseLaunch reads a body of KindLaunch.
func ParseLaunch(body []byte) (Launch, error) {
	f := fields{b: body}
	m := Launch{Socket: f.string()}
	copy(m.Nonce[:], f.take(len(m.Nonce)))
	m.ExitFile, m.Path, m.Args, m.Env, m.Dir = f.string(), f.string(), f.list(), f.list(), f.string()
	m.Cols, m.Rows, m.RingBytes = f.u16(), f.u16(), f.u32()
	m.Stall, m.Linger = time.Duration(f.u32())*time.Millisecond, time.Duration(f.u32())*time.Millisecond
	m.Cgroup, m.Joins, m.Homes = f.string(), f.list(), f.list()
	if f.err == nil && len(m.Joins) != len(m.Homes) {
		f.err = errList
	}
	if f.err == nil && len(f.b) == 0 {
		return m, nil // from a plugin that an upgrade left running: it starts the holder that is installed now
	}
	if f.bool() {
		m.User = &User{UID: f.u32(), GID: f.u32()}
		n := f.u32()
		if f.err == nil && uint64(n)*4 > uint64(len(f.b)) {
			f.err = errList
		}
		for i := uint32(0); i < n && f.err == nil; i++ {
			m.User.Groups = append(m.User.Groups, f.u32())
		}
	}
	m.Landlock = f.bool()
	m.Shut, m.Open, m.Readable = f.list(), f.list(), f.list()
	if f.err == nil && len(f.b) > 0 { // an earlier version ends here
		m.Inherit = f.bool()
	}
	return m, f.err
}

// Started says that the command runs.
type Started struct {
	PID   uint32
	Start uint64 // start time of the command, in clock ticks since the boot
}

// Kind implements Message.
func (Started) Kind() Kind { return KindStarted }

func (m Started) append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, m.PID), m.Start)
}

// ParseStarted reads a body of KindStarted.
func ParseStarted(body []byte) (Started, error) {
	f := fields{b: body}
	m := Started{PID: f.u32(), Start: f.u64()}
	return m, f.err
}

// Failed says that the command does not run.
type Failed struct {
	Step  string // what was tried: listen, terminal, cgroup, confine, command
	Errno uint32 // of the system, or 0
	Text  string
}

// Kind implements Message.
func (Failed) Kind() Kind { return KindFailed }

func (m Failed) append(b []byte) []byte {
	b = putBytes(b, m.Step)
	return putBytes(binary.BigEndian.AppendUint32(b, m.Errno), m.Text)
}

// ParseFailed reads a body of KindFailed.
func ParseFailed(body []byte) (Failed, error) {
	f := fields{b: body}
	m := Failed{Step: f.string(), Errno: f.u32(), Text: f.string()}
	return m, f.err
}

// Error implements error.
func (m Failed) Error() string { return m.Step + ": " + m.Text }
