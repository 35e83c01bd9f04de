package cmd_test

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// What was exported before is overwritten only when that is asked for, and what is no file is not replaced by one.
func TestExportKeepsFiles(t *testing.T) {
	asked := 0
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/api/compliance/gdpr" {
			say(w, 200, `{"profile":"gdpr","passed":true,"controls":[]}`)
			return
		}
		_, _ = w.Write([]byte(`{"kind":"end"}` + "\n"))
	})
	for _, args := range [][]string{
		{"data", "export", "--subject", "ann", "--file"},
		{"audit", "export", "--file"},
		{"compliance", "check", "--profile", "gdpr", "--report"},
	} {
		t.Run(args[0], func(t *testing.T) {
			dir := t.TempDir()
			file, pipe := filepath.Join(dir, "out"), filepath.Join(dir, "pipe")
			run := func(args ...string) *run {
				r := start(t.Context(), server, cmd.Deps{}, args...)
				<-r.done
				return r
			}
			run(append(args, file)...).expect(t, 0)
			if err := os.WriteFile(file, []byte("former"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := asked
			run(append(args, file)...).expect(t, 4, "out exists", "overwrite it with --force")
			if now := read(t, file); now != "former" || asked != before {
				t.Errorf("the file holds %q, and the server was asked %d times", now, asked-before)
			}
			run(append(args, file, "--force")...).expect(t, 0)
			if read(t, file) == "former" {
				t.Error("--force did not overwrite the file")
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			run(append(args, pipe, "--force")...).expect(t, 2, "is not a regular file")
			if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() {
				t.Errorf("the pipe became %v, %v", info, err)
			}
		})
	}
}
