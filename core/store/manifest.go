package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"

	"github.com/wardroom/wardroom/core/internal/atomicfile"
)

// maxManifestDeletions is how many removed tables the list of tables may tell of at a start before it is written anew.
const maxManifestDeletions = 1000

// manifestVersion is Badger's version of the file, which stands behind our magic number.
const manifestVersion = 8

// shortenManifest writes Badger's list of tables anew once most of it is about tables that are gone. Badger does so by
// itself after ten thousand of them, but counts from its last start: under a light load the list of a store that is
// started now and then only grows, and each start reads all of it. It works under Badger's lock.
//
// The format is that of helpRewrite in Badger's manifest.go: "Bdgr", magic number and version of 2 bytes each, then sets
// of changes with length and Castagnoli checksum of 4 bytes each, big-endian.
func shortenManifest(path string, logger hclog.Logger) error {
	unlock, locked, err := lockDir(path)
	if err != nil {
		return fmt.Errorf("store: lock %s: %w", path, err)
	}
	if !locked {
		return nil // Badger says so
	}
	defer unlock()
	file := filepath.Join(path, badger.ManifestFilename)
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: list of tables: %w", err)
	}
	defer f.Close()
	m, _, err := badger.ReplayManifestFile(f, magic, badger.DefaultOptions(path).WithLogger(badgerLogger{logger.Named("badger")}))
	if err != nil || m.Deletions < max(maxManifestDeletions, len(m.Tables)) {
		return nil // if something is wrong with it, Badger says so
	}
	var set pb.ManifestChangeSet
	for id, t := range m.Tables {
		set.Changes = append(set.Changes, &pb.ManifestChange{
			Id: id, Op: pb.ManifestChange_CREATE, Level: uint32(t.Level), KeyId: t.KeyID,
			EncryptionAlgo: pb.EncryptionAlgo_aes, Compression: uint32(t.Compression),
		})
	}
	slices.SortFunc(set.Changes, func(a, b *pb.ManifestChange) int { return int(a.Id) - int(b.Id) })
	changes, err := proto.Marshal(&set)
	if err != nil {
		return fmt.Errorf("store: list of tables: %w", err)
	}
	b := binary.BigEndian.AppendUint16([]byte("Bdgr"), magic)
	b = binary.BigEndian.AppendUint16(b, manifestVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(changes)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(changes, crc32.MakeTable(crc32.Castagnoli)))
	if err := atomicfile.Write(file, append(b, changes...), 0o600); err != nil {
		logger.Warn("the list of tables cannot be shortened", "error", err)
		return nil
	}
	// Badger goes on in the new file: the old one must not come back with the power.
	if err := atomicfile.SyncDir(path); err != nil {
		return fmt.Errorf("store: list of tables: %w", err)
	}
	logger.Info("shortened the list of tables", "tables", len(m.Tables), "removed", m.Deletions)
	return nil
}
