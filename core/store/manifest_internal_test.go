package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"

	"github.com/wardroom/wardroom/core"
)

// age has the list of tables tell of tables that came and went, as months of a light load do.
func age(t *testing.T, dir string, tables int) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, badger.ManifestFilename), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range tables {
		id := uint64(1_000_000 + i)
		set, err := proto.Marshal(&pb.ManifestChangeSet{Changes: []*pb.ManifestChange{
			{Id: id, Op: pb.ManifestChange_CREATE, Level: 3, EncryptionAlgo: pb.EncryptionAlgo_aes, Compression: 1}, {Id: id, Op: pb.ManifestChange_DELETE},
		}})
		if err != nil {
			t.Fatal(err)
		}
		b := binary.BigEndian.AppendUint32(nil, uint32(len(set)))
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(set, crc32.MakeTable(crc32.Castagnoli)))
		if _, err := f.Write(append(b, set...)); err != nil {
			t.Fatal(err)
		}
	}
}

func manifestSize(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A store that is started now and then keeps a short list of tables, and all that is in them.
func TestManifestStaysShort(t *testing.T) {
	ctx := context.Background()
	names := newEncryption(t)
	names.Names = true
	for name, encryption := range map[string]*Encryption{"Clear": nil, "Names": names} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for start := range 4 {
				s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20, Encryption: encryption})
				if err != nil {
					t.Fatal(err)
				}
				if size := manifestSize(t, dir); size > 4096 {
					t.Errorf("start %d: the list of tables has %d bytes", start, size)
				}
				for i := range start {
					if source, err := s.FindDefinition(ctx, fmt.Sprint(i)); err != nil || source != "source" {
						t.Errorf("start %d: read %q, %v", start, source, err)
					}
				}
				if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutDefinition(fmt.Sprint(start), "source") }); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil { // makes a table
					t.Fatal(err)
				}
				age(t, dir, maxManifestDeletions)
			}
		})
	}
}

// The list of a store in use is not touched: its owner goes on writing to it.
func TestManifestOfRunningStoreStays(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	age(t, dir, maxManifestDeletions)
	before := manifestSize(t, dir)
	if other, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20}); err == nil {
		_ = other.Close()
		t.Fatal("opened twice")
	}
	if after := manifestSize(t, dir); after != before {
		t.Errorf("the list of tables went from %d to %d bytes", before, after)
	}
}
