package backup_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/wardroom/wardroom/core/backup"
)

// archive makes one of a dump.
func archive(t *testing.T, dump []byte, files ...backup.File) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := backup.NewWriter(&out, backup.Meta{Version: "1.2.3", CreatedAt: time.Unix(1_700_000_000, 0), StorePath: "/x", Secrets: true}, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(dump); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// random returns so many bytes that do not compress.
func random(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	dump := random(9 << 20) // three pieces
	whole := archive(t, dump, backup.File{Name: "keys/a.key", Data: []byte("k")}, backup.File{Name: "config/conf.d/b.yaml", Data: nil})
	var got bytes.Buffer
	c, err := backup.Read(t.Context(), bytes.NewReader(whole), &got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), dump) {
		t.Error("the dump is another")
	}
	if c.Bytes != int64(len(dump)) || c.Meta.Version != "1.2.3" || c.Meta.Format != backup.Format || !c.Meta.Secrets || len(c.Files) != 2 ||
		c.Files[0].Name != "keys/a.key" || string(c.Files[0].Data) != "k" {
		t.Errorf("contents = %+v", c)
	}
	m, err := backup.ReadMeta(bytes.NewReader(whole))
	if err != nil || m.StorePath != "/x" {
		t.Errorf("meta = %+v, %v", m, err)
	}
}

// TestDamage cuts an archive at every place of a small one, and flips bits of it: never is it taken for a whole one.
func TestDamage(t *testing.T) {
	whole := archive(t, random(3000), backup.File{Name: "keys/a.key", Data: []byte("secret")})
	for n := range len(whole) {
		if _, err := backup.Read(t.Context(), bytes.NewReader(whole[:n]), io.Discard); !errors.Is(err, backup.ErrArchive) || n >= 10 && errors.Is(err, backup.ErrForeign) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
	for _, more := range [][]byte{{0}, []byte("junk"), whole} {
		if _, err := backup.Read(t.Context(), bytes.NewReader(append(bytes.Clone(whole), more...)), io.Discard); !errors.Is(err, backup.ErrArchive) {
			t.Errorf("%d bytes behind its end went unnoticed: %v", len(more), err)
		}
	}
	for n := 0; n < len(whole); n += 7 {
		bad := bytes.Clone(whole)
		bad[n] ^= 0x10
		var got bytes.Buffer
		c, err := backup.Read(t.Context(), bytes.NewReader(bad), &got)
		if err == nil && (c.Bytes != 3000 || !bytes.Equal(got.Bytes(), random(3000)) || string(c.Files[0].Data) != "secret") {
			t.Fatalf("a flipped bit in byte %d went unnoticed", n)
		}
		if err != nil && !errors.Is(err, backup.ErrArchive) && !errors.Is(err, backup.ErrNewer) {
			t.Fatalf("a flipped bit in byte %d: %v", n, err)
		}
	}
}

type entry struct {
	name, data string
	link       bool
}

// handmade makes an archive of any entries.
func handmade(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	tarred := tar.NewWriter(zipped)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.data)), Mode: 0o600}
		if e.link {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.data, 0
		}
		if err := tarred.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if !e.link {
			if _, err := io.WriteString(tarred, e.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(tarred.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// An archive of format 1, which is compressed with zstd, is read as it was.
func TestFormerFormat(t *testing.T) {
	const meta, dump = `{"format":1,"product":"wardroom","version":"1","files":[]}`, "records"
	sums := ""
	for _, e := range []entry{{name: "meta.json", data: meta}, {name: "store/000001", data: dump}} {
		sums += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(e.data)), e.name)
	}
	whole := handmade(t, entry{name: "meta.json", data: meta}, entry{name: "store/000001", data: dump}, entry{name: "SHA256SUMS", data: sums})
	var got bytes.Buffer
	c, err := backup.Read(t.Context(), bytes.NewReader(whole), &got)
	if err != nil || got.String() != dump || c.Meta.Format != 1 {
		t.Fatalf("%q, %+v, %v", &got, c, err)
	}
	if m, err := backup.ReadMeta(bytes.NewReader(whole)); err != nil || m.Format != 1 {
		t.Errorf("meta = %+v, %v", m, err)
	}
}

func TestForeign(t *testing.T) {
	const meta = `{"format":1,"product":"wardroom","version":"1","files":[]}`
	for _, tt := range []struct {
		name    string
		entries []entry
		want    error
		text    string
	}{
		{"Nothing", nil, backup.ErrArchive, "too early"},
		{"OtherTar", []entry{{name: "etc/passwd", data: "x"}}, backup.ErrArchive, "does not begin"},
		{"OtherProduct", []entry{{name: "meta.json", data: `{"format":1,"product":"nomad"}`}}, backup.ErrArchive, "no backup of Wardroom"},
		{"NoJSON", []entry{{name: "meta.json", data: `hello`}}, backup.ErrArchive, "no backup of Wardroom"},
		{"Later", []entry{{name: "meta.json", data: `{"format":3,"product":"wardroom","version":"9.1"}`}}, backup.ErrNewer, "version 9.1"},
		{"Outside", []entry{{name: "meta.json", data: meta}, {name: "files/../../etc/passwd", data: "x"}}, backup.ErrArchive, "does not belong"},
		{"Absolute", []entry{{name: "meta.json", data: meta}, {name: "files//etc/passwd", data: "x"}}, backup.ErrArchive, "does not belong"},
		{"Link", []entry{{name: "meta.json", data: meta}, {name: "files/a", data: "/etc/passwd", link: true}}, backup.ErrArchive, "no file"},
		{"Order", []entry{{name: "meta.json", data: meta}, {name: "store/000002", data: "x"}}, backup.ErrArchive, "does not belong"},
		{"Twice", []entry{{name: "meta.json", data: meta}, {name: "meta.json", data: meta}}, backup.ErrArchive, "does not begin"},
		{"Unsummed", []entry{{name: "meta.json", data: meta}, {name: "store/000001", data: "x"}, {name: "SHA256SUMS", data: ""}}, backup.ErrArchive, "checksums"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := backup.Read(t.Context(), bytes.NewReader(handmade(t, tt.entries...)), io.Discard)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%v", err)
			}
		})
	}
	for _, text := range []string{"hello, world", "x", "WRDUMP\r\n\x00\x00\x00\x01"} {
		if _, err := backup.Read(t.Context(), strings.NewReader(text), io.Discard); !errors.Is(err, backup.ErrForeign) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := backup.ReadMeta(strings.NewReader(text)); !errors.Is(err, backup.ErrForeign) {
			t.Errorf("meta of %q: %v", text, err)
		}
	}
	if _, err := backup.ReadMeta(strings.NewReader("")); !errors.Is(err, backup.ErrArchive) || !strings.Contains(err.Error(), "too early") {
		t.Errorf("nothing: %v", err)
	}
}

// What a reader keeps of files is bounded as a whole: a small archive must not unpack to more than the machine has.
func TestTooMuch(t *testing.T) {
	entries := []entry{{name: "meta.json", data: `{"format":1,"product":"wardroom","version":"1","files":[]}`}}
	files := make([]backup.File, 5)
	for i := range files {
		files[i] = backup.File{Name: fmt.Sprint("f", i), Data: make([]byte, 16<<20)}
		entries = append(entries, entry{name: "files/" + files[i].Name, data: string(files[i].Data)})
	}
	_, err := backup.Read(t.Context(), bytes.NewReader(handmade(t, entries...)), io.Discard)
	if !errors.Is(err, backup.ErrArchive) || !strings.Contains(err.Error(), `"files/f4" is beyond all bounds`) {
		t.Errorf("reading: %v", err)
	}
	if _, err := backup.NewWriter(io.Discard, backup.Meta{}, files); err == nil || !strings.Contains(err.Error(), `"f4"`) {
		t.Errorf("writing: %v", err)
	}
}

// TestStoreFails keeps an error of the store apart from one of the archive.
func TestStoreFails(t *testing.T) {
	full := errors.New("the disk is full")
	_, err := backup.Read(t.Context(), bytes.NewReader(archive(t, []byte("dump"))), failing{full})
	if !errors.Is(err, full) || errors.Is(err, backup.ErrArchive) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
