package wire

import (
	"encoding/binary"
	"time"
)

// Input types bytes. Data of a parsed one is a part of the body.
type Input struct {
	ID   uint32
	Data []byte
}

// Kind implements Message.
func (Input) Kind() Kind { return KindInput }

func (m Input) append(b []byte) []byte {
	return putBytes(binary.BigEndian.AppendUint32(b, m.ID), m.Data)
}

// ParseInput reads a body of KindInput.
func ParseInput(body []byte) (Input, error) {
	f := fields{b: body}
	m := Input{ID: f.u32(), Data: f.bytes()}
	return m, f.err
}

// Plain is a request without arguments: KindCancel (of the input with that id), KindLoadNote, KindRelease, KindLoadUnread.
type Plain struct {
	What Kind
	ID   uint32
}

// Kind implements Message.
func (m Plain) Kind() Kind { return m.What }

func (m Plain) append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, m.ID) }

// ParsePlain reads the body of one.
func ParsePlain(kind Kind, body []byte) (Plain, error) {
	f := fields{b: body}
	m := Plain{What: kind, ID: f.u32()}
	return m, f.err
}

// Resize changes the size of the terminal.
type Resize struct {
	ID         uint32
	Cols, Rows uint16
}

// Kind implements Message.
func (Resize) Kind() Kind { return KindResize }

func (m Resize) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, m.ID)
	b = binary.BigEndian.AppendUint16(b, m.Cols)
	return binary.BigEndian.AppendUint16(b, m.Rows)
}

// ParseResize reads a body of KindResize.
func ParseResize(body []byte) (Resize, error) {
	f := fields{b: body}
	m := Resize{ID: f.u32(), Cols: f.u16(), Rows: f.u16()}
	return m, f.err
}

// Signal sends the command a signal.
type Signal struct {
	ID     uint32
	Signal uint8
}

// Kind implements Message.
func (Signal) Kind() Kind { return KindSignal }

func (m Signal) append(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, m.ID), m.Signal)
}

// ParseSignal reads a body of KindSignal.
func ParseSignal(body []byte) (Signal, error) {
	f := fields{b: body}
	m := Signal{ID: f.u32(), Signal: f.u8()}
	return m, f.err
}

// Kill ends the command and all that it started: SIGTERM, and SIGKILL after Grace. Done comes when nothing is
// left.
type Kill struct {
	ID    uint32
	Grace time.Duration // in whole milliseconds
}

// Kind implements Message.
func (Kill) Kind() Kind { return KindKill }

func (m Kill) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, m.ID)
	return binary.BigEndian.AppendUint32(b, uint32(m.Grace.Milliseconds()))
}

// ParseKill reads a body of KindKill.
func ParseKill(body []byte) (Kill, error) {
	f := fields{b: body}
	m := Kill{ID: f.u32(), Grace: time.Duration(f.u32()) * time.Millisecond}
	return m, f.err
}

// Note is the checkpoint: KindSaveNote from the client, KindNote to it. Data of a parsed one is a part of the
// body.
type Note struct {
	What   Kind
	ID     uint32
	Offset uint64
	Data   []byte
}

// Kind implements Message.
func (m Note) Kind() Kind { return m.What }

func (m Note) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, m.ID)
	b = binary.BigEndian.AppendUint64(b, m.Offset)
	return putBytes(b, m.Data)
}

// ParseNote reads a body of KindSaveNote or KindNote.
func ParseNote(kind Kind, body []byte) (Note, error) {
	f := fields{b: body}
	m := Note{What: kind, ID: f.u32(), Offset: f.u64(), Data: f.bytes()}
	return m, f.err
}

// Unread answers KindLoadUnread.
type Unread struct {
	ID    uint32
	Count uint32 // bytes of input that the command has not read; 0 where the kernel does not tell
}

// Kind implements Message.
func (Unread) Kind() Kind { return KindUnread }

func (m Unread) append(b []byte) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, m.ID), m.Count)
}

// ParseUnread reads a body of KindUnread.
func ParseUnread(body []byte) (Unread, error) {
	f := fields{b: body}
	m := Unread{ID: f.u32(), Count: f.u32()}
	return m, f.err
}

// Done answers a request.
type Done struct {
	ID   uint32
	Code Code
	Text string // for people, when Code is not CodeOK
}

// Kind implements Message.
func (Done) Kind() Kind { return KindDone }

func (m Done) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, m.ID)
	return putBytes(append(b, byte(m.Code)), m.Text)
}

// ParseDone reads a body of KindDone.
func ParseDone(body []byte) (Done, error) {
	f := fields{b: body}
	m := Done{ID: f.u32(), Code: Code(f.u8()), Text: f.string()}
	return m, f.err
}

// OutputStart says where the output that follows begins.
type OutputStart struct{ Offset uint64 }

// Kind implements Message.
func (OutputStart) Kind() Kind { return KindOutputStart }

func (m OutputStart) append(b []byte) []byte { return binary.BigEndian.AppendUint64(b, m.Offset) }

// ParseOutputStart reads a body of KindOutputStart.
func ParseOutputStart(body []byte) (OutputStart, error) {
	f := fields{b: body}
	m := OutputStart{Offset: f.u64()}
	return m, f.err
}

// End is the end of the output.
type End struct{}

// Kind implements Message.
func (End) Kind() Kind { return KindEnd }

func (End) append(b []byte) []byte { return b }
