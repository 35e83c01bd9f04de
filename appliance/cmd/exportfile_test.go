package cmd_test

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/appliance/cmd"
)

// An export takes the place of the file before it, and of nothing that is no file.
func TestExportReplacesFiles(t *testing.T) {
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
			run(append(args, file)...).expect(t, 0)
			if read(t, file) == "former" {
				t.Error("the file is that of before")
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			before := asked
			run(append(args, pipe)...).expect(t, 2, "is not a regular file")
			if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() || asked != before {
				t.Errorf("the pipe became %v, %v, and the server was asked %d times", info, err, asked-before)
			}
		})
	}
}
