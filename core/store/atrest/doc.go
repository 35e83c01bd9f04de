// Package atrest encrypts what core/store keeps on disk, and the dumps and backups that are made of it.
//
// It owns master keys and where they are read from, the ring of data keys that a master key wraps, the sealed form of
// records and of files, and a kv.DB that seals on top of another one. It does not know what records mean, when keys are to
// be changed, or where Badger keeps its files: core/store does, which alone opens a Ring. Appliance chooses the KeySource by
// the configuration; the commands open sealed files with one.
//
// # Records
//
// Each value is sealed by AES-256-GCM under a data key, with its own key in the database authenticated along: a value that
// was changed, or put under another key, does not open. An empty value stays empty.
//
//	0xFF 'W' 1               what no record in clear begins with, and the version
//	be32 data key            its number in the ring
//	12 bytes salt            drawn at random by each process that writes
//	6 bytes counter          of the records under that salt
//	sealed                   16 bytes longer than the value
//
// The key of a record is derived from data key and salt (HKDF-SHA-256), and the counter is its nonce: none is used twice,
// however many records are written, also if a copy of the store is written by another process.
//
// # Ring
//
// The ring is a file of JSON: data keys, and where names are to be hidden too, the key under which the database encrypts its
// files as a whole. Each is wrapped by the master key, which is never written to disk here.
//
// # Files
//
//	"WRSEAL\r\n", be32 length and JSON of the envelope (the key of the file, wrapped), then pieces of 64 KiB, sealed by
//	AES-256-GCM under that key, the nonce being their number and whether they are the last one.
package atrest
