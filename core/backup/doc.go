// Package backup is the archive of a backup: the store as one consistent dump, what belongs to it in files, what wrote it,
// and checksums over all of that.
//
// It owns the format and its proof. It knows neither the store, whose dump is a stream to it, nor where archives lie, how
// many are kept or whether they are encrypted: appliance writes archives of a running server, appliance/cmd keeps, checks
// and restores them.
//
// An archive is a tar, compressed with S2 (zstd in format 1), with these entries in this order:
//
//	meta.json        Meta; first, so that an archive of a later format is known by it
//	files/NAME       files beside the store, such as keys and the configuration
//	store/000001...  the dump, in pieces
//	SHA256SUMS       the sum and name of every entry before it; last, so that one without it is not whole
package backup
