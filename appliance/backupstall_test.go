package appliance_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/client"
)

// A backup whose reader takes nothing ends, and the next one can be made.
func TestBackupStalls(t *testing.T) {
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file, socket := filepath.Join(dir, "wardroom.yaml"), filepath.Join(dir, "admin.sock")
	write(t, file, fmt.Sprintf("server: {listen: '127.0.0.1:0', stallTimeout: 1s, adminSocket: %s}\nstore: {path: %s}\n", socket, filepath.Join(dir, "store")))
	app := open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"})
	c, err := client.New("http://"+app.Addr(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 60<<10) // more in sum than what systems buffer, and nothing gets smaller by packing
	for i := range 40 {
		_, _ = rand.Read(noise)
		definition := fmt.Sprintf("# %s\n%s", hex.EncodeToString(noise), strings.Replace(echo, "name: echo", fmt.Sprint("name: echo", i), 1))
		if _, err := c.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
			t.Fatal(err)
		}
	}
	token, err := os.ReadFile(filepath.Join(dir, "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	authorization := "Bearer " + strings.TrimSpace(string(token))
	stalls, err := new(net.Dialer).DialContext(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stalls.Close() })
	if _, err := io.WriteString(stalls, "GET /admin/backup HTTP/1.1\r\nHost: local\r\nAuthorization: "+authorization+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	began := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(stalls, began); err != nil || !strings.HasSuffix(string(began), "200") {
		t.Fatalf("%q, %v", began, err)
	}
	local := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	backup := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://local/admin/backup", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", authorization)
		resp, err := local.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	coretest.WaitFor(t, "another backup", func() bool { return backup() == http.StatusOK })
}
