package e2e_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// sealedSite is a server with a store that is to be encrypted, and what must be in it.
type sealedSite struct {
	*server
	key    string // file
	socket string

	mu       sync.Mutex        // guards known
	patterns map[string]string // note by name, of all that were acknowledged
}

const bulky = `{"name": %q, "version": "1.0.0", "config": {"note": %q}, "agents": {"capabilities": ["none"], "min": 1},
"aggregation": {"strategy": "first"}, "output": {"x": "$first.result"}}`

// write stores patterns until the server goes away, or n are stored.
func (s *sealedSite) write(prefix string, n, size int) {
	for i := range n {
		name := fmt.Sprintf("%s-%d", prefix, i)
		text := strings.Repeat(fmt.Sprintf("plain%d ", rand.Uint64()), size/26+1)
		_, err := s.api.CreatePattern(s.t.Context(), client.PatternInput{Name: name, Definition: fmt.Sprintf(bulky, name, text)})
		if err != nil {
			if !client.Unreachable(err) {
				s.t.Errorf("%s: %v", name, err)
			}
			return
		}
		s.mu.Lock()
		s.patterns[name] = text
		s.mu.Unlock()
	}
}

// check reads all that was acknowledged, or each share-th of it.
func (s *sealedSite) check(when string, share int) {
	s.t.Helper()
	n := 0
	for name, text := range s.patterns {
		if n++; n%share != 0 {
			continue
		}
		p, err := s.api.GetPattern(s.t.Context(), name, "")
		if err != nil || !strings.Contains(string(p.Body), text[:len(text)-1]) {
			s.t.Fatalf("%s: %s is not as it was: %v", when, name, err)
		}
	}
}

// inClear reports whether any file of the store holds what was written in clear.
func (s *sealedSite) inClear() string {
	found := ""
	err := filepath.WalkDir(filepath.Join(s.dir, "store"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := written(path)
		for _, text := range s.patterns {
			if bytes.Contains(data, []byte(text[:20])) {
				found = path
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// encrypts changes the configuration.
func (s *sealedSite) encrypts() {
	s.configure("store.path: "+filepath.Join(s.dir, "store"), "server.adminSocket: "+s.socket, "security.encryption: {atRest: {enabled: true, file: "+s.key+"}}")
}

func (s *sealedSite) newKey(args ...string) {
	s.t.Helper()
	if out, code := s.command(append([]string{"store", "key", "new", s.key}, args...)...); code != 0 {
		s.t.Fatalf("store key new: %d %s", code, out)
	}
}

// A real server is killed again and again while it encrypts its store, and while it seals it anew under other keys: nothing
// that was acknowledged is lost or changed, and in the end nothing is in clear and only the last key is needed.
func TestKilledWhileEncrypting(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	s := &sealedSite{
		server: configured(t, dir, filepath.Join(dir, "store"), ""), key: filepath.Join(t.TempDir(), "store.key"),
		socket: filepath.Join(dir, "admin.sock"), patterns: map[string]string{},
	}
	s.start()
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { s.write(fmt.Sprintf("before-%d", w), 30, 40<<10) })
	}
	writers.Wait()
	s.stop()
	if s.inClear() == "" {
		t.Fatal("there is nothing in clear to be encrypted")
	}
	s.newKey()
	s.encrypts()

	amid := 0
	for round := 0; ; round++ {
		s.begin()
		eventually(t, "the encryption", func() bool {
			log := s.log.String()
			return s.process.Ended() || strings.Contains(log, "is being encrypted") || strings.Contains(log, "ready: version")
		})
		if round < 4 {
			<-time.After(time.Duration(round) * 15 * time.Millisecond) // a moment of its work, whichever
			s.kill()
			if parts, _ := filepath.Glob(filepath.Join(dir, "store", "*", "MANIFEST")); len(parts) > 0 {
				amid++
			}
			continue
		}
		if err := s.process.Await(t.Context(), patience); err != nil {
			t.Fatalf("%v\n%s", err, s.log)
		}
		break
	}
	t.Logf("killed amid the encryption %d times", amid)
	if amid == 0 {
		t.Error("no kill hit the encryption")
	}
	s.check("after the encryption", 1)
	if path := s.inClear(); path != "" {
		t.Errorf("%s is still in clear", path)
	}

	resealing := 0
	for round := range 3 {
		s.newKey("--add")
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.write(fmt.Sprintf("round-%d", round), 200, 2<<10)
		}()
		out, code := s.command("store", "key", "rotate", "--server", "unix:"+s.socket)
		if code != 0 {
			t.Fatalf("store key rotate: %d %s", code, out)
		}
		<-time.After(time.Duration(round) * 20 * time.Millisecond) // a moment of its work, whichever
		s.kill()
		<-done
		s.start()
		if s.resealing() {
			resealing++
		}
		s.check(fmt.Sprintf("after the kill of rotation %d", round), 10)
		eventually(t, "the end of the rotation", func() bool { return !s.resealing() })
	}
	t.Logf("%d rotations went on after a kill; %d patterns", resealing, len(s.patterns))
	s.stop()
	text, err := os.ReadFile(s.key)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^wardroom-store-key-1:.*$`).FindAll(text, -1)
	if len(lines) != 4 {
		t.Fatalf("the file has %d keys", len(lines))
	}
	held, err := os.ReadFile(filepath.Join(dir, "store", "encryption.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.key, bytes.Join(lines[1:], []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if stderr, code := s.refusedStart(); code == 0 || !strings.Contains(stderr, "it was encrypted by key") {
		t.Errorf("without the last key: %d %s", code, stderr)
	}
	if now, _ := os.ReadFile(filepath.Join(dir, "store", "encryption.json")); !bytes.Equal(now, held) {
		t.Error("a start without the key changed the store")
	}
	if err := os.WriteFile(s.key, lines[0], 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	s.check("with the last key alone", 1)
	if path := s.inClear(); path != "" {
		t.Errorf("%s is in clear", path)
	}
}

// resealing reports whether records are sealed by former keys.
func (s *sealedSite) resealing() bool {
	return strings.Count(s.ring(), `"createdAt"`) > 1
}

func (s *sealedSite) ring() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "store", "encryption.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
