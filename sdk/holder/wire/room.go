package wire

import "encoding/binary"

// File is one that is to be written where agents run; a sequence of them is the standard input of "holder put".
type File struct {
	Path string // absolute
	Mode uint32 // permissions
	Keep bool   // an existing file stays as it is
	Data []byte // of a parsed one a part of the body
}

// Kind implements Message.
func (File) Kind() Kind { return KindFile }

func (m File) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(putBytes(b, m.Path), m.Mode)
	return putBytes(putBool(b, m.Keep), m.Data)
}

// ParseFile reads a body of KindFile.
func ParseFile(body []byte) (File, error) {
	f := fields{b: body}
	m := File{Path: f.string(), Mode: f.u32(), Keep: f.bool(), Data: f.bytes()}
	return m, f.err
}

// FilePart is what comes before the data of the next File: one that is larger than a frame is sent in parts.
type FilePart struct {
	Data []byte // of a parsed one a part of the body
}

// Kind implements Message.
func (FilePart) Kind() Kind { return KindFilePart }

func (m FilePart) append(b []byte) []byte { return putBytes(b, m.Data) }

// ParseFilePart reads a body of KindFilePart.
func ParseFilePart(body []byte) (FilePart, error) {
	f := fields{b: body}
	m := FilePart{Data: f.bytes()}
	return m, f.err
}

// Part is a part of a file, as "holder get" prints it; Done stands in its place when there is none, with CodeEnded for a file
// that does not exist.
type Part struct {
	Offset uint64 // of Data
	Size   uint64 // of the whole file
	Data   []byte // of a parsed one a part of the body
}

// Kind implements Message.
func (Part) Kind() Kind { return KindPart }

func (m Part) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, m.Offset)
	b = binary.BigEndian.AppendUint64(b, m.Size)
	return putBytes(b, m.Data)
}

// ParsePart reads a body of KindPart.
func ParsePart(body []byte) (Part, error) {
	f := fields{b: body}
	m := Part{Offset: f.u64(), Size: f.u64(), Data: f.bytes()}
	return m, f.err
}

// Usage holds the resources that a container has used, as "holder usage" prints them.
type Usage struct {
	CPU     uint64 // nanoseconds
	Memory  uint64 // bytes, without files that the kernel would drop
	Limit   uint64 // bytes; 0: none
	Kills   uint64 // processes that were ended for its memory
	PIDs    uint32
	Running uint32 // processes in the foreground of a terminal that run
}

// Kind implements Message.
func (Usage) Kind() Kind { return KindUsage }

func (m Usage) append(b []byte) []byte {
	for _, n := range []uint64{m.CPU, m.Memory, m.Limit, m.Kills} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, m.PIDs), m.Running)
}

// ParseUsage reads a body of KindUsage.
func ParseUsage(body []byte) (Usage, error) {
	f := fields{b: body}
	m := Usage{CPU: f.u64(), Memory: f.u64(), Limit: f.u64(), Kills: f.u64(), PIDs: f.u32(), Running: f.u32()}
	return m, f.err
}
