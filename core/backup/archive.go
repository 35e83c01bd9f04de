package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
)

// Format is the version of the archives that this program writes, and the highest that it reads. Those of version 1 are
// compressed with zstd, those of version 2 with S2: it takes a third of the time of the processor, which the server has
// other uses for meanwhile, and a third more room.
const Format = 2

// Names of entries.
const (
	metaName  = "meta.json"
	sumsName  = "SHA256SUMS"
	filesDir  = "files/"
	storeDir  = "store/"
	storeName = storeDir + "%06d"
)

// Bounds of what a reader takes of a damaged or hostile archive, and of what a writer makes.
const (
	maxMeta   = 1 << 20
	maxFile   = 16 << 20
	maxFiles  = 10000
	maxBytes  = 64 << 20 // of all files, which are in memory
	maxSums   = 256 << 20
	chunkSize = 4 << 20
)

// pieceSize is how much is summed and compressed at a time: about a millisecond, after which others get their turn. A
// server answers its requests meanwhile.
const pieceSize = 256 << 10

// ErrArchive marks an archive that is truncated, damaged or none at all.
var ErrArchive = errors.New("not a whole backup")

// ErrForeign is the ErrArchive of what does not begin as an archive.
var ErrForeign = fmt.Errorf("%w: it is none", ErrArchive)

var (
	errShort = fmt.Errorf("%w: it ends too early", ErrArchive)
	errTail  = fmt.Errorf("%w: something follows its end", ErrArchive)
)

// ErrNewer marks an archive of a later version of Wardroom.
var ErrNewer = errors.New("made by a later version of Wardroom")

// Meta says what an archive is.
type Meta struct {
	Format    int       `json:"format"`
	Product   string    `json:"product"` // wardroom
	Version   string    `json:"version"` // of the program that wrote it
	CreatedAt time.Time `json:"createdAt"`
	StorePath string    `json:"storePath"` // on the machine that it is of
	Secrets   bool      `json:"secrets"`   // it has the keys of the store and the configuration with its secrets
	Files     []string  `json:"files"`     // names, in order
}

const product = "wardroom"

// File is a file that goes along with the store.
type File struct {
	Name string // relative, with slashes
	Data []byte
}

// Writer writes one archive.
type Writer struct {
	zipped *s2.Writer
	tarred *tar.Writer
	when   time.Time
	sums   bytes.Buffer
	chunk  []byte
	chunks int
}

// NewWriter begins an archive with its files. The dump is what is written to the Writer afterwards; Close ends it, and an
// archive without Close is not whole.
func NewWriter(w io.Writer, meta Meta, files []File) (*Writer, error) {
	zipped := s2.NewWriter(w, s2.WriterConcurrency(1), s2.WriterBlockSize(pieceSize))
	a := &Writer{zipped: zipped, tarred: tar.NewWriter(zipped), when: meta.CreatedAt.UTC().Truncate(time.Second)}
	meta.Format, meta.Product, meta.Files = Format, product, []string{}
	size := 0
	for _, f := range files {
		if size += len(f.Data); !validName(f.Name) || len(f.Data) > maxFile || size > maxBytes {
			return nil, fmt.Errorf("backup: %q cannot be in an archive", f.Name)
		}
		meta.Files = append(meta.Files, f.Name)
	}
	text, err := json.MarshalIndent(meta, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := a.entry(metaName, append(text, '\n')); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := a.entry(filesDir+f.Name, f.Data); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Write takes a part of the dump.
func (a *Writer) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := min(len(p), chunkSize-len(a.chunk))
		a.chunk = append(a.chunk, p[:n]...)
		p = p[n:]
		if len(a.chunk) == chunkSize {
			if err := a.flush(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (a *Writer) flush() error {
	if len(a.chunk) == 0 {
		return nil
	}
	a.chunks++
	err := a.entry(fmt.Sprintf(storeName, a.chunks), a.chunk)
	a.chunk = a.chunk[:0]
	return err
}

// Close ends the archive.
func (a *Writer) Close() error {
	err := a.flush()
	if err == nil {
		err = a.entry(sumsName, a.sums.Bytes())
	}
	if err == nil {
		err = a.tarred.Close()
	}
	return errors.Join(err, a.zipped.Close())
}

func (a *Writer) entry(name string, data []byte) error {
	header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(data)), ModTime: a.when, Format: tar.FormatPAX}
	if err := a.tarred.WriteHeader(header); err != nil {
		return err
	}
	sum := sha256.New()
	for piece := range slices.Chunk(data, pieceSize) {
		sum.Write(piece)
		if _, err := a.tarred.Write(piece); err != nil {
			return err
		}
		runtime.Gosched()
	}
	if name != sumsName {
		fmt.Fprintf(&a.sums, "%s  %s\n", hex.EncodeToString(sum.Sum(nil)), name)
	}
	return nil
}

// validName reports whether a name of a file stays below the directory that it is put into.
func validName(name string) bool {
	return name != "" && len(name) < 256 && path.Clean(name) == name && !path.IsAbs(name) && name != ".." &&
		!strings.HasPrefix(name, "../") && !strings.ContainsAny(name, "\\\x00\n")
}

// Contents are what an archive holds beside the dump.
type Contents struct {
	Meta  Meta
	Files []File
	Bytes int64 // of the dump
}

// Read reads an archive to its end and proves it whole. The dump is written to store as it comes: what was written there,
// and what is returned, counts only if there is no error. An error of store is returned as it is; all others that are about
// the archive wrap ErrArchive or ErrNewer.
func Read(ctx context.Context, r io.Reader, store io.Writer) (*Contents, error) {
	unzipped, end, err := decompress(r)
	if err != nil {
		return nil, err
	}
	defer end()
	in := tar.NewReader(unzipped)
	var c Contents
	var piece []byte
	var sums bytes.Buffer
	chunks, size := 0, int64(0)
	for entries := 0; ; entries++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		header, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errShort
		case err != nil:
			return nil, damaged(err)
		case header.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%w: %q is no file", ErrArchive, shown(header.Name))
		case (entries == 0) != (header.Name == metaName):
			return nil, fmt.Errorf("%w: it does not begin as one", ErrArchive)
		}
		limit := int64(maxFile)
		switch {
		case header.Name == metaName:
			limit = maxMeta
		case header.Name == sumsName:
			limit = maxSums
		case strings.HasPrefix(header.Name, storeDir):
			limit = chunkSize
		default:
			limit = min(limit, maxBytes-size)
			size += header.Size
		}
		if header.Size > limit || len(c.Files) > maxFiles {
			return nil, fmt.Errorf("%w: %q is beyond all bounds", ErrArchive, shown(header.Name))
		}
		var data []byte
		if strings.HasPrefix(header.Name, storeDir) {
			piece = slices.Grow(piece[:0], int(header.Size))[:header.Size]
			data = piece
			_, err = io.ReadFull(in, data)
		} else {
			data, err = io.ReadAll(io.LimitReader(in, limit))
		}
		if err != nil {
			return nil, damaged(err)
		}
		if header.Name != sumsName {
			sum := sha256.Sum256(data)
			fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), header.Name)
		}
		switch {
		case header.Name == metaName:
			if err := c.Meta.read(data); err != nil {
				return nil, err
			}
		case header.Name == sumsName:
			if err := c.finish(in, data, sums.Bytes(), chunks); err != nil {
				return nil, err
			}
			if err := ended(unzipped); err != nil {
				return nil, err
			}
			return &c, nil
		case header.Name == fmt.Sprintf(storeName, chunks+1):
			chunks++
			c.Bytes += int64(len(data))
			if _, err := store.Write(data); err != nil {
				return nil, err
			}
		case strings.HasPrefix(header.Name, filesDir) && validName(strings.TrimPrefix(header.Name, filesDir)) && chunks == 0:
			c.Files = append(c.Files, File{strings.TrimPrefix(header.Name, filesDir), data})
		default:
			return nil, fmt.Errorf("%w: it has %q, which does not belong there", ErrArchive, shown(header.Name))
		}
	}
}

// finish proves what was read by the checksums at the end of the archive.
func (c *Contents) finish(in *tar.Reader, want, have []byte, chunks int) error {
	switch {
	case !bytes.Equal(want, have):
		return fmt.Errorf("%w: its checksums are wrong", ErrArchive)
	case chunks == 0:
		return fmt.Errorf("%w: it has no store", ErrArchive)
	case len(c.Files) != len(c.Meta.Files):
		return fmt.Errorf("%w: it should have %d files and has %d", ErrArchive, len(c.Meta.Files), len(c.Files))
	}
	if _, err := in.Next(); !errors.Is(err, io.EOF) {
		return errTail
	}
	return nil
}

// ended reports what follows the last file of an archive.
func ended(unzipped io.Reader) error {
	switch _, err := io.ReadFull(unzipped, make([]byte, 1)); {
	case err == nil:
		return errTail
	case !errors.Is(err, io.EOF):
		return damaged(err)
	}
	return nil
}

// read reads what an archive says of itself. Of a later format nothing but that is known.
func (m *Meta) read(data []byte) error {
	if err := json.Unmarshal(data, m); err != nil || m.Product != product || m.Format < 1 {
		return fmt.Errorf("%w: it is no backup of Wardroom", ErrArchive)
	}
	if m.Format > Format {
		return fmt.Errorf("%w: the backup has format %d and was written by version %s; this program reads up to format %d",
			ErrNewer, m.Format, shown(m.Version), Format)
	}
	return nil
}

// damaged makes an error of a library one of the archive.
func damaged(err error) error {
	return fmt.Errorf("%w: it is damaged or ends too early (%w)", ErrArchive, err)
}

// shown bounds a name of a hostile archive in a message.
func shown(name string) string { return strings.ToValidUTF8(name[:min(len(name), 64)], "?") }

// ReadMeta reads what an archive says of itself, and nothing after it: whether it is whole stays open.
func ReadMeta(r io.Reader) (Meta, error) {
	var m Meta
	unzipped, end, err := decompress(r)
	if err != nil {
		return m, err
	}
	defer end()
	in := tar.NewReader(unzipped)
	header, err := in.Next()
	if err != nil {
		return m, damaged(err)
	}
	if header.Name != metaName || header.Size > maxMeta {
		return m, fmt.Errorf("%w: it does not begin as one", ErrArchive)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxMeta))
	if err != nil {
		return m, damaged(err)
	}
	return m, m.read(data)
}
