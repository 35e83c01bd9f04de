package cmd

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/config"
)

func (c *cli) debugCommand() *cobra.Command {
	cmd := group(&cobra.Command{Use: "debug", Short: "Look into the server of this machine"})
	cmd.AddCommand(c.debugBundle())
	return cmd
}

// bundlePart is one file of a bundle.
type bundlePart struct {
	name string
	path string   // on the admin socket; empty: args is a command that is run here
	args []string // program and arguments
	raw  bool     // not text: it is taken as it is
}

// parts of a bundle, in order. Metrics are read twice, so that rates can be made of them.
var bundleParts = []bundlePart{
	{name: "status.json", path: "/admin/status"},
	{name: "config.yaml", path: "/admin/config"},
	{name: "plugins.json", path: "/api/admin/plugins"},
	{name: "runtimes.json", path: "/api/runtimes"},
	{name: "health.json", path: "/api/health?detailed=true"},
	{name: "metrics-1.txt", path: "/api/metrics"},
	{name: "goroutines.txt", path: "/admin/debug/pprof/goroutine?debug=2"},
	{name: "heap.pprof", path: "/admin/debug/pprof/heap", raw: true},
	{name: "log.txt", path: "/admin/recent-log"},
	{name: "journal.txt", args: []string{"journalctl", "-u", "wardroom", "-n", "5000", "--no-pager", "-o", "short-iso"}},
	{name: "unit.txt", args: []string{"systemctl", "status", "--no-pager", "-n", "0", "wardroom"}},
	{name: "uname.txt", args: []string{"uname", "-a"}},
	{name: "disks.txt", args: []string{"df", "-h"}},
}

// Bounds of a bundle.
const (
	maxBundlePart  = 64 << 20
	bundlePartTime = 30 * time.Second
)

func (c *cli) debugBundle() *cobra.Command {
	var duration time.Duration
	var profile, force bool
	cmd := &cobra.Command{
		Use:   "bundle [FILE]",
		Short: "Gather what helps to find out what is wrong with the server of this machine",
		Long: "Write an archive with the state of the server, its configuration without secrets, plugins, metrics twice, its\n" +
			"goroutines and heap, and the end of its log and journal. What looks like a credential is cut out of all texts.\n" +
			"Names of patterns, agents and files are in it: look through it before you pass it on.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "wardroom-debug-" + c.now().UTC().Format("20060102T150405Z") + ".tar.gz"
			if len(args) == 1 {
				file = args[0]
			}
			if duration < 0 || duration > 10*time.Minute {
				return usagef(cmd, "--duration is at most 10m")
			}
			if err := mayWrite(file, force); err != nil {
				return err
			}
			s, err := c.admin()
			if err != nil {
				return err
			}
			b := &bundler{c: c, socket: s, profile: profile, duration: duration}
			if err := writeWhole(file, func(w io.Writer) error { return b.write(cmd.Context(), w) }); err != nil {
				return err
			}
			return c.showValue(struct {
				File    string   `json:"file"`
				Parts   []string `json:"parts"`
				Missing []string `json:"missing"` // with the reason
			}{file, b.parts, append([]string{}, b.missing...)}, func(s *screen) {
				s.line("wrote %s: %s", clean(file), strings.Join(b.parts, ", "))
				for _, missing := range b.missing {
					s.line("left out %s", clean(missing))
				}
				s.line("It is sensitive: look through it before you pass it on.")
			})
		},
	}
	cmd.Flags().DurationVar(&duration, "duration", 5*time.Second, "time between the two readings of the metrics, and of the profile")
	cmd.Flags().BoolVar(&profile, "profile", false, "measure where CPU time goes meanwhile")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE")
	return cmd
}

// bundler writes one bundle. A part that fails is left out, and named.
type bundler struct {
	c        *cli
	socket   *adminSocket
	profile  bool
	duration time.Duration
	out      *tar.Writer
	parts    []string
	missing  []string
}

func (b *bundler) write(ctx context.Context, w io.Writer) error {
	zipped := gzip.NewWriter(w)
	b.out = tar.NewWriter(zipped)
	for _, part := range bundleParts {
		if err := b.part(ctx, part); err != nil {
			return err
		}
	}
	if b.profile {
		seconds := max(1, int(b.duration.Seconds()))
		path := fmt.Sprintf("/admin/debug/pprof/profile?seconds=%d", seconds)
		if err := b.part(ctx, bundlePart{name: "cpu.pprof", path: path, raw: true}); err != nil {
			return err
		}
	} else if err := wait(ctx, b.duration); err != nil {
		return err
	}
	if err := b.part(ctx, bundlePart{name: "metrics-2.txt", path: "/api/metrics"}); err != nil {
		return err
	}
	return errors.Join(b.out.Close(), zipped.Close())
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// part adds one part. Only an error of the archive, or the end of ctx, is one.
func (b *bundler) part(ctx context.Context, part bundlePart) error {
	data, err := b.read(ctx, part)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.missing = append(b.missing, part.name+": "+err.Error())
		return nil
	}
	if !part.raw {
		data = redact(data)
	}
	header := &tar.Header{Name: filepath.Join("wardroom-debug", part.name), Mode: 0o600, Size: int64(len(data)), ModTime: b.c.now()}
	if err := b.out.WriteHeader(header); err != nil {
		return err
	}
	b.parts = append(b.parts, part.name)
	_, err = b.out.Write(data)
	return err
}

func (b *bundler) read(ctx context.Context, part bundlePart) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, bundlePartTime+b.duration)
	defer cancel()
	if part.path == "" {
		return runForText(ctx, part.args)
	}
	answer, err := b.socket.do(ctx, http.MethodGet, part.path, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxBundlePart+1))
	if err == nil && len(data) > maxBundlePart {
		err = errors.New("is larger than " + config.FormatSize(maxBundlePart))
	}
	return data, err
}

// sensitiveName matches what credentials are called, up to their value.
const sensitiveName = `(?i)\b([a-z0-9_.-]*(?:password|passwd|passphrase|secret|token|api_?key|credential|private_?key|secret_?key|access_?key))(\\?["']?\s*[:=]\s*)`

// credentials are texts that look like ones, with what is left of them.
var credentials = []struct {
	pattern *regexp.Regexp
	left    string
}{
	{regexp.MustCompile(`\bwr_[A-Za-z0-9_-]{8,}`), "wr_***"},
	{regexp.MustCompile(`\bey[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "***"},
	{regexp.MustCompile(`(?i)\b(bearer|basic)(["':= ]+)[A-Za-z0-9._~+/=-]{6,}`), "$1$2***"},
	{regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s:@"']*:[^@/\s"']+@`), "$1***@"},
	{regexp.MustCompile(sensitiveName + `"(?:[^"\\]|\\.)+"`), `$1$2"***"`},
	{regexp.MustCompile(sensitiveName + `\\"[^"\\]+\\"`), `$1$2\"***\"`}, // within a text that is quoted itself
	{regexp.MustCompile(sensitiveName + `(["']?)[^\s"',;}*\\][^\s"',;}\\]*`), "$1$2$3***"},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`), "***"},
	{regexp.MustCompile(`\bwardroom-store-key-[A-Za-z0-9_:-]+`), "***"},
	{regexp.MustCompile(`\bAGE-SECRET-KEY-[A-Z0-9-]+`), "***"},
	{regexp.MustCompile(`\b(?:sk|ghp|gho|ghs|ghu|ghr|github_pat|glpat|xoxb|AKIA)[-_]?[A-Za-z0-9_-]{12,}`), "***"},
}

// redact cuts out of a text what looks like a credential.
func redact(text []byte) []byte {
	for _, c := range credentials {
		text = c.pattern.ReplaceAll(text, []byte(c.left))
	}
	return text
}

// runForText runs a program of this machine and returns what it printed, whatever it ended with. The error of one that printed
// nothing else has the first line of what it printed on stderr.
func runForText(ctx context.Context, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if len(out) > 0 {
		return out[:min(len(out), maxBundlePart)], nil
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(bytes.TrimSpace(failed.Stderr)) > 0 {
		line, _, _ := bytes.Cut(bytes.TrimSpace(failed.Stderr), []byte("\n"))
		return nil, fmt.Errorf("%w: %s", err, clean(string(redact(line))))
	}
	return nil, errors.New(lastCauseOr(err, "it printed nothing"))
}

func lastCauseOr(err error, none string) string {
	if err == nil {
		return none
	}
	return lastCause(err)
}
