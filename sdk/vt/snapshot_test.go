package vt_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/wardroom/wardroom/sdk/vt"
)

// sampleScreens are screens with a bit of everything.
func sampleScreens() []*vt.Screen {
	var screens []*vt.Screen
	for _, in := range []string{
		"",
		"\x1b[31;44mhello\x1b7\x1b[?1049h\x1b[2;3r\x1b[?6h漢字\x1b]8;;http://x/\x07link\x1b]0;title\x07\x1b[22t",
		"a\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng\x1b[38;2;1;",
		"\xe2\x9c", "\x1b]0;half a ti", "\x1bPhalf", "0123456789", "\x1b(0\x0e\x1bN",
	} {
		s := vt.New(vt.Options{Cols: 10, Rows: 4})
		s.Write([]byte(in))
		screens = append(screens, s)
	}
	return screens
}

func TestSnapshotGoesOnMidway(t *testing.T) {
	const in = "a\x1b[1;38;2;1;2;3mb✳\x1b]0;✳ title\x07\x1b(0q\x1b(B漢\x1b[?1049hx\x1bPdcs\x1b\\\x1b[2;3H\x1b[4:3my👨\u200d👩\u200d👧z"
	whole := vt.New(vt.Options{Cols: 10, Rows: 4})
	whole.Write([]byte(in))
	for cut := range len(in) {
		s := vt.New(vt.Options{Cols: 10, Rows: 4})
		s.Write([]byte(in[:cut]))
		o, err := vt.Restore(s.Snapshot(), vt.Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		o.Write([]byte(in[cut:]))
		if diff := whole.Diff(o); diff != "" {
			t.Errorf("cut at %d: %s", cut, diff)
		}
		if whole.Offset() != o.Offset() {
			t.Errorf("cut at %d: offset %d, want %d", cut, o.Offset(), whole.Offset())
		}
	}
}

func TestRestoreReportsOSC(t *testing.T) {
	s := vt.New(vt.Options{})
	s.Write([]byte("\x1b]7501;state="))
	var got []vt.OSC
	o, err := vt.Restore(s.Snapshot(), vt.Options{OnOSC: func(o vt.OSC) { got = append(got, o) }})
	if err != nil {
		t.Fatal(err)
	}
	o.Write([]byte("idle\x07"))
	if len(got) != 1 || got[0].Code != 7501 || got[0].Offset != 18 {
		t.Errorf("%+v", got)
	}
}

func TestRestoreRefuses(t *testing.T) {
	good := sampleScreens()[1].Snapshot()
	if _, err := vt.Restore(good, vt.Options{}); err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = to
		return b
	}
	packed := func(fields []byte) []byte {
		body := s2.Encode(nil, fields)
		b := append([]byte("WDTERM\x01"), binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(body))...)
		return append(b, body...)
	}
	bomb := binary.AppendUvarint(nil, 1<<31)
	for _, tt := range []struct {
		name string
		b    []byte
	}{
		{"Nothing", nil},
		{"Short", good[:5]},
		{"Cut", good[:len(good)-1]},
		{"Magic", changed(0, 'X')},
		{"Version", changed(6, 9)},
		{"Checksum", changed(8, good[8]+1)},
		{"Body", changed(len(good)-3, good[len(good)-3]+1)},
		{"NoFields", packed(nil)},
		{"ZeroSize", packed([]byte{0, 0, 0})},
		{"HugeSize", packed([]byte{0, 0xff, 0xff, 0x7f, 1})},
		{"Bomb", append(append([]byte("WDTERM\x01"), binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(bomb))...), bomb...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := vt.Restore(tt.b, vt.Options{}); !errors.Is(err, vt.ErrSnapshot) || s != nil {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
}

// TestRestoreRefusesEveryCut cuts the fields behind the checksum, where only they themselves can tell.
func TestRestoreRefusesEveryCut(t *testing.T) {
	for _, s := range sampleScreens() {
		fields, err := s2.Decode(nil, s.Snapshot()[11:])
		if err != nil {
			t.Fatal(err)
		}
		for n := range fields {
			if _, err := vt.RestoreFields(fields[:n], vt.Options{}); !errors.Is(err, vt.ErrSnapshot) {
				t.Fatalf("%d of %d bytes: %v", n, len(fields), err)
			}
		}
		if _, err := vt.RestoreFields(append(fields, 0), vt.Options{}); !errors.Is(err, vt.ErrSnapshot) {
			t.Fatalf("a byte too many: %v", err)
		}
	}
}

func FuzzRestore(f *testing.F) {
	for _, s := range sampleScreens() {
		fields, err := s2.Decode(nil, s.Snapshot()[11:])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(fields)
	}
	f.Fuzz(func(t *testing.T, fields []byte) {
		s, err := vt.RestoreFields(fields, vt.Options{ScrollbackLines: 100})
		if err != nil {
			return
		}
		if cols, rows := s.Size(); cols*rows > 1<<16 {
			return // correct, and slow
		}
		s.Write([]byte("\x1b[3bx\x1b[?1049h\x1b[?1049l\x1b8y\r\n漢"))
		s.Resize(13, 7)
		o, err := vt.Restore(s.Snapshot(), vt.Options{ScrollbackLines: 100})
		if err != nil {
			t.Fatal(err)
		}
		if diff := s.Diff(o); diff != "" {
			t.Fatal(diff)
		}
		s.Repaint(10)
	})
}

func FuzzRestoreBytes(f *testing.F) {
	for _, s := range sampleScreens() {
		f.Add(s.Snapshot())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := vt.Restore(b, vt.Options{}); (s == nil) == (err == nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
