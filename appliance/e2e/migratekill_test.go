package e2e_test

import (
	"bytes"
	"crypto/sha256"
	bigendian "encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// formerRecords is how many executions, each with a question, the store of the first schema has in the test: every
// migration that reads them logs how far it is many times.
const formerRecords = 20_000

// TestMigrationKilled: starts that are killed in the dump and in every migration that reads records, two times in most, are
// gone on with by the next one. All records are there then, and the dump of before is the one of a start without a kill.
func TestMigrationKilled(t *testing.T) {
	t.Parallel()
	root := shortDir(t)
	dump, former := filepath.Join(root, "v1.dump"), filepath.Join(root, "former")
	if err := os.WriteFile(dump, firstSchema(t), 0o600); err != nil {
		t.Fatal(err)
	}
	offline(t, "store", "restore", dump, "--data-dir", former)
	notices := serviceManager(t, filepath.Join(root, "n"))
	upgraded := func(name, store string) *server {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if store == "" {
			store = filepath.Join(dir, "store")
			if err := os.CopyFS(store, os.DirFS(former)); err != nil {
				t.Fatal(err)
			}
		}
		s := configured(t, dir, store, "log.level: debug\nstore.retention: {executions: 87600h, events: 87600h}") // the fixture is old
		s.env = append(s.env, "NOTIFY_SOCKET="+filepath.Join(root, "n"))
		return s
	}

	const begins, goesOn = "the store is migrated: ", "migrating the store: "
	step := func(to int) string { return fmt.Sprintf("%sfrom=%d to=%d ", begins, to-1, to) }
	s := upgraded("killed", "")
	during := filepath.Join(s.dir, "store", "migrating.dump")
	for _, moment := range []struct {
		what  string
		after string // the line of the log from which on is counted
		lines int    // that say how far it is, before the kill
	}{
		{"the dump", "the store is dumped before", 2},
		{"the dump, later", "the store is dumped before", 60},
		{"questions", step(2), 0},
		{"questions, later", step(2), 12},
		{"executions", step(3), 1},
		{"executions, later", step(3), 15},
		{"creators", step(5), 1},
		{"creators, later", step(5), 15},
		{"lists of patterns", step(6), 0},
		{"lists of patterns, later", step(6), 12},
	} {
		s.begin()
		awaitLog(t, s, func(log string) bool {
			_, rest, begun := strings.Cut(log, moment.after)
			return begun && strings.Count(rest, goesOn) >= moment.lines
		})
		s.kill()
		_, rest, _ := strings.Cut(s.log.String(), moment.after)
		if next := strings.Contains(rest, begins) || strings.Contains(rest, "the store was dumped"); next {
			t.Errorf("%s: the kill came late:\n%s", moment.what, tail(s.log.String(), 2000))
		}
		if dumped := exists(during); dumped == strings.HasPrefix(moment.what, "the dump") {
			t.Errorf("%s: after the kill there is a dump of before: %t", moment.what, dumped)
		}
	}
	s.start()
	if log := s.log.String(); !strings.Contains(log, "a migration that was interrupted goes on: from=5 to=7") {
		t.Errorf("the last start does not say that it goes on:\n%s", tail(log, 2000))
	}
	holdsFormer(t, s)
	s.stop()
	// The service manager gives a long start the time that it needs.
	if heard := notices(); !strings.Contains(heard, "STATUS=migrating the store: ") || !strings.Contains(heard, "EXTEND_TIMEOUT_USEC=") {
		t.Errorf("the service manager hears:\n%s", heard)
	}
	offline(t, "store", "check", "--data-dir", filepath.Join(s.dir, "store"))

	kept := filepath.Join(s.dir, "store", "before-migration.dump")
	before, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(kept); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the dump of before is not the store of before: %v", err)
	}
	back := filepath.Join(root, "back")
	offline(t, "store", "restore", kept, "--data-dir", back)
	twin := upgraded("twin", back)
	twin.start()
	holdsFormer(t, twin)
	twin.stop()
}

// serviceManager listens on a socket as the service manager does, and returns what it has heard.
func serviceManager(t *testing.T, path string) (heard func() string) {
	t.Helper()
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var text bytes.Buffer
	over := make(chan struct{})
	go func() {
		defer close(over)
		for notice := make([]byte, 4096); ; {
			n, err := socket.Read(notice)
			if err != nil {
				return // closed
			}
			mu.Lock()
			text.Write(append(notice[:n:n], '\n'))
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = socket.Close()
		<-over
	})
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
}

// awaitLog waits until the log of a server that starts is as cond wants it, and looks often: a migration takes moments.
func awaitLog(t *testing.T, s *server, cond func(log string) bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !cond(s.log.String()); <-tick.C {
		select {
		case <-s.process.Ready:
			t.Fatalf("the moment was missed:\n%s", tail(s.log.String(), 4000))
		default:
		}
		if s.process.Ended() || time.Now().After(deadline) {
			t.Fatalf("the moment does not come:\n%s", tail(s.log.String(), 4000))
		}
	}
}

// holdsFormer checks that a server has every record of the store of the first schema, and finds it by what it is.
func holdsFormer(t *testing.T, s *server) {
	t.Helper()
	found := map[string]bool{}
	filter := client.ExecutionFilter{Pattern: "vote", Status: "completed", Page: client.Page{Limit: 100}}
	for {
		list, err := s.api.ListExecutions(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Executions {
			found[e.ExecutionID] = true
		}
		if list.Total != formerRecords+1 {
			t.Fatalf("%d executions are counted, want %d", list.Total, formerRecords+1)
		}
		if list.NextCursor == "" {
			break
		}
		filter.Cursor = list.NextCursor
	}
	if len(found) != formerRecords+1 {
		t.Errorf("%d executions are listed, want %d", len(found), formerRecords+1)
	}
}

// firstSchema is the dump of the first schema with many more executions, each with a question and with what that schema kept
// of both.
func firstSchema(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile("../../core/store/testdata/v1.dump")
	if err != nil {
		t.Fatal(err)
	}
	const header, completed = 16, "exec_01KDYAK3480000000000000003"
	records := map[string]string{}
	for rest := data[header:]; ; {
		key, value := bigendian.BigEndian.Uint32(rest), bigendian.BigEndian.Uint32(rest[4:])
		if key == 0 {
			break
		}
		rest = rest[8:]
		records[string(rest[:key])] = string(rest[key : key+value])
		rest = rest[key+value:]
	}
	for key, value := range maps.Clone(records) {
		if !strings.Contains(key, completed) {
			continue
		}
		for n := range formerRecords {
			id := fmt.Sprintf("exec_01KDYAK348%016d", 1000+n)
			records[strings.ReplaceAll(key, completed, id)] = strings.ReplaceAll(value, completed, id)
		}
	}
	for n := range formerRecords {
		id, execution := fmt.Sprintf("q_01KDYAK348%016d", n), fmt.Sprintf("exec_01KDYAK348%016d", 1000+n)
		records["q/"+id] = fmt.Sprintf(`{"id":%q,"executionId":%q,"status":"answered","createdBy":"ann"}`, id, execution)
		records["ix/qx/"+execution+"\x00\x01"+id] = ""
		records["ix/qs/answered\x00\x01"+id] = ""
	}
	// One of each status, completed the third; and how many refer to the definition.
	counts := []byte(records["c/vote"])
	counts = slices.Concat(counts[:3], bigendian.AppendUvarint(nil, formerRecords+1), counts[4:])
	records["c/vote"] = string(counts)
	refs := bigendian.BigEndian.Uint64([]byte(records["dr/hash-vote"]))
	records["dr/hash-vote"] = string(bigendian.BigEndian.AppendUint64(nil, refs+formerRecords))

	out := bytes.NewBuffer(slices.Clone(data[:header]))
	for _, key := range slices.Sorted(maps.Keys(records)) {
		var head [8]byte
		bigendian.BigEndian.PutUint32(head[:4], uint32(len(key)))
		bigendian.BigEndian.PutUint32(head[4:], uint32(len(records[key])))
		out.Write(head[:])
		out.WriteString(key)
		out.WriteString(records[key])
	}
	out.Write(bigendian.BigEndian.AppendUint64(make([]byte, 4), uint64(len(records))))
	sum := sha256.Sum256(out.Bytes())
	out.Write(sum[:])
	return out.Bytes()
}
