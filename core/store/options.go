package store

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
)

// DefaultMinFreeBytes is the disk budget when Options leave it 0.
const DefaultMinFreeBytes = 256 << 20

// valueLogFile is the size of a value log file, in which values of valueThreshold and more lie.
const (
	valueLogFile   = 64 << 20
	valueThreshold = 512 << 10
)

// memTable is the size of what is sorted in memory before it becomes a file. Badger keeps the buffers that files were
// built in, eight of them, each as large as the largest file needed: about twice this size, as they hold its blocks
// before and after compression.
const memTable = 4 << 20

// magic marks a directory as ours, so that another program's Badger data is refused instead of read.
const magic uint16 = 0x5752

// Options configure a store. Only Path is required.
type Options struct {
	// Path is the directory of the store. It is made, with mode 0700, if it does not exist.
	Path string
	// MinFreeBytes is the free disk space below which writes are refused; 0 means DefaultMinFreeBytes. It
	// must cover what is written after a batch was accepted: three memtables, their flush and a
	// compaction. Badger writes through memory maps, so running out of space there kills the process
	// instead of failing a write. Writes are taken again at 1.25 times the budget.
	MinFreeBytes uint64
	// Logger gets Badger's warnings and errors too. nil discards.
	Logger hclog.Logger
	// Clock is core.SystemClock when nil.
	Clock core.Clock
	// OnCommit is called by the writer after each commit, with the events that it wrote, if any, in order of
	// Seq, those of the journal included; of a commit that failed and is stored all the same, once the store takes
	// writes again. Calls follow the order of commits and never overlap. It must not block, must not call Update, and
	// must not keep the slice.
	OnCommit func(events []core.Event)
	// Audit records transactions, in them; nil: nothing is recorded.
	Audit core.AuditHook
	// Encryption has the store encrypted on disk; nil: it is in clear. A store in clear is encrypted by Open.
	Encryption *Encryption
	// NoMigrationDump migrates a store of an older schema without a dump of it in its directory.
	NoMigrationDump bool
	// Migrating, which may be nil, is called while Open dumps and migrates a store of an older schema, with the number of
	// keys that the dump, or a step's walk over one kind of keys, has read.
	Migrating func(keys uint64)
	// DiskFree returns the bytes free for us on the file system of path; nil asks the operating system.
	DiskFree func(path string) (uint64, error)

	// room returns the same and the number of files that can be made, by one call where the system is asked: it is
	// called for each commit.
	room func(path string) (free, files uint64, err error)
}

func (o *Options) setDefaults() {
	o.MinFreeBytes = cmp.Or(o.MinFreeBytes, DefaultMinFreeBytes)
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	if o.DiskFree == nil {
		o.DiskFree, o.room = diskFree, roomLeft
	}
	if o.room == nil {
		o.room = func(path string) (free, files uint64, err error) {
			if free, err = o.DiskFree(path); err != nil {
				return 0, 0, err
			}
			if _, files, err = roomLeft(path); err != nil { // there is no such directory
				files = math.MaxUint64
			}
			return free, files, nil
		}
	}
}

// badgerOptions is the profile for a small machine: about 100 MiB at full load, a few when idle.
//
// With a key Badger encrypts its files, under data keys of its own that it changes every ten days, so that the names in keys
// cannot be read. Values are sealed before they come here, see encryption.go.
func badgerOptions(path string, key []byte, logger hclog.Logger) badger.Options {
	return badger.DefaultOptions(path).
		WithEncryptionKey(key).
		WithSyncWrites(true).
		WithDetectConflicts(false). // there is one writer
		WithMemTableSize(memTable).
		WithNumMemtables(3).
		WithBaseTableSize(512 << 10).
		WithBlockCacheSize(8 << 20).
		WithIndexCacheSize(16 << 20). // 0 would mean unbounded
		WithValueLogFileSize(valueLogFile).
		WithValueThreshold(valueThreshold). // less than a transaction can hold, which is 15 % of a memtable
		WithNumCompactors(2).
		// Every flushed table spans all prefixes, so each compaction of level 0 rewrites the whole base level.
		// More tables at a time into a larger base level means fewer of those, and they are what raises the
		// latency of requests on a machine with few cores. But a read may have to look at all of level 0.
		WithNumLevelZeroTables(32).
		WithNumLevelZeroTablesStall(80).
		WithBaseLevelSize(64 << 20).
		// Merging level 0 needs room and time; the next start does it where it is due.
		WithCompactL0OnClose(false).
		WithCompression(options.Snappy). // without it, the files take longer to write than to compress
		WithExternalMagic(magic).
		WithMetricsEnabled(false).
		WithLogger(badgerLogger{logger.Named("badger")})
}

// ensureDir makes the directory, or checks the one that is there, which is closed to others while there is nothing in it.
func ensureDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if err := checkOwner(path); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != "lost+found" {
			return nil // it is of others as well, or has a store, and may be shared on purpose since
		}
	}
	return CloseToOthers(path)
}

// CloseToOthers takes away the rights that every user has on the directory of a store: the database makes its files as the umask
// says, which is readable by all in most shells and containers. A directory of another user stays as it is, and so does one on a file
// system that keeps no modes.
func CloseToOthers(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	// The set-group-id and sticky bits stay.
	if err := os.Chmod(path, info.Mode()&^0o007); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
