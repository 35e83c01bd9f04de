package store

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/hashicorp/go-hclog"
)

// Another program's database is refused, not migrated.
func TestForeignData(t *testing.T) {
	dir := t.TempDir()
	db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		t.Fatal(err)
	}
	err = commitWrites(badgerDB{db}, []write{{[]byte("theirs"), []byte("1")}})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), Options{Path: dir, MinFreeBytes: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "another program") {
		t.Fatalf("got %v", err)
	}
}

// The database's warnings reach the log; its chatter does not.
func TestBadgerLogger(t *testing.T) {
	var out bytes.Buffer
	log := badgerLogger{hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace})}
	log.Errorf("no %s\n", "room")
	log.Warningf("slow %d", 1)
	log.Infof("chatter")
	log.Debugf("chatter")
	got := out.String()
	if !strings.Contains(got, "[ERROR] no room\n") || !strings.Contains(got, "[WARN]  slow 1\n") || strings.Contains(got, "chatter") {
		t.Fatalf("log: %s", got)
	}
}
