package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sync"
)

//go:embed dist
var files embed.FS

// assets are the files of the console, under a name that changes with their content.
type assets struct {
	digest string // of all of them: part of their address, so that they may be cached for good
	byName map[string]*asset
}

// asset is one file.
type asset struct {
	plain  []byte
	kind   string                // Content-Type
	packed func() ([]byte, bool) // gzip, and whether it is worth it; made on first use
}

// Icon is the picture of the product, as SVG: what a tab is found by.
func Icon() []byte {
	data, err := files.ReadFile("dist/icon.svg")
	if err != nil {
		panic("console: " + err.Error()) // it is part of the program
	}
	return data
}

// kinds are the types of files that the console has.
var kinds = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

// loadAssets reads the files of a tree. It panics where one is of an unknown kind: the tree is part of the program.
func loadAssets(tree fs.FS) *assets {
	a := &assets{byName: map[string]*asset{}}
	sum := sha256.New()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kind, known := kinds[path.Ext(name)]
		if !known {
			return fmt.Errorf("%s is of no kind that the console serves", name)
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
		a.byName[name] = &asset{plain: data, kind: kind, packed: sync.OnceValues(func() ([]byte, bool) { return Pack(data) })}
		return nil
	})
	if err != nil {
		panic("console: " + err.Error())
	}
	a.digest = hex.EncodeToString(sum.Sum(nil))[:16]
	return a
}

// minPacked is the size below which compressing a file gains nothing.
const minPacked = 1 << 10

// Pack returns a text compressed, and whether that is worth sending.
func Pack(data []byte) ([]byte, bool) {
	if len(data) < minPacked {
		return nil, false
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, false
	}
	if _, err = w.Write(data); err == nil {
		err = w.Close()
	}
	return out.Bytes(), err == nil && out.Len() < len(data)
}
