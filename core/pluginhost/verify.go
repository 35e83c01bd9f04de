package pluginhost

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// VerifyPlugin implements core.PluginService.
func (h *Host) VerifyPlugin(ctx context.Context, name string) (*core.PluginReport, error) {
	c, _, err := h.find(name)
	if err != nil {
		return nil, err
	}
	if c == nil {
		c = newChild(h, Spec{Name: name}, false) // only looked at: it is not supervised
	}
	h.mu.Lock()
	ready := h.open && !h.closed && h.ctx.Err() == nil
	if ready {
		h.wg.Add(1) // Close waits for the process
		defer h.wg.Done()
	}
	h.mu.Unlock()
	if !ready {
		return nil, core.Unavailable("stopping", "the service is not running")
	}
	ctx, cancel := context.WithTimeout(ctx, h.opts.Limits.Start+h.opts.Limits.Configure+promisesTime)
	defer cancel()
	stop := context.AfterFunc(h.ctx, cancel)
	defer stop()
	return c.verify(ctx), nil
}

// names of the checks, in order.
var checkNames = []string{"files", "handshake", "identity", "schema", "settings", "contract"}

// report collects checks.
type report struct{ core.PluginReport }

func (r *report) add(name, status, format string, args ...any) {
	r.Checks = append(r.Checks, core.PluginCheck{Name: name, Status: status, Text: fmt.Sprintf(format, args...)})
	r.OK = r.OK && status != core.PluginCheckFailed
}

// fail adds a failed check and skips those after it.
func (r *report) fail(name string, f *failure) *core.PluginReport {
	r.add(name, core.PluginCheckFailed, "%s; %s", f.reason, strings.ReplaceAll(f.hint, "NAME", r.Name))
	skip := false
	for _, other := range checkNames {
		if skip {
			r.add(other, core.PluginCheckSkipped, "after the failure")
		}
		skip = skip || other == name
	}
	return &r.PluginReport
}

// verify checks the binary and asks an instance of its own. That is given settings to serve with only if no other
// has them.
func (c *child) verify(ctx context.Context) *core.PluginReport {
	r := &report{core.PluginReport{Name: c.spec.Name, OK: true}}
	b, failed := c.host.verify(c.spec)
	if failed != nil {
		return r.fail("files", failed)
	}
	sum, err := FileSHA256(b.path)
	switch {
	case err != nil:
		return r.fail("files", &failure{reason: b.path + " cannot be read: " + lastError(err).Error()})
	case b.sum != nil && sum != hex.EncodeToString(b.sum):
		return r.fail("files", anotherChecksum(b.path))
	case b.sum == nil && sum == b.entry.SHA256:
		r.add("files", core.PluginCheckOK, "%s has the checksum %s of its manifest; in development nobody looks at its owner", b.path, sum)
	case b.sum == nil:
		r.add("files", core.PluginCheckWarning, "%s has the checksum %s, which nothing vouches for: this is development", b.path, sum)
	default:
		r.add("files", core.PluginCheckOK, "%s may be changed by root and this service only; checksum %s", b.path, sum)
	}
	spec, failed := c.resolved(ctx)
	if failed != nil {
		return r.fail("environment", failed)
	}
	log := *c.log
	log.prefix = "verify: " // not what the instance says that serves
	i, failed := c.host.launch(ctx, spec, b, &log)
	if failed != nil {
		return r.fail("handshake", failed)
	}
	defer i.end(c.host.opts.Limits.Stop, true)
	r.add("handshake", core.PluginCheckOK, "protocol version %d over gRPC with TLS on both sides", i.client.NegotiatedVersion())

	info, err := i.conn.Info(ctx)
	if err != nil {
		return r.fail("identity", silent(err, "the question what it is", c.redact))
	}
	if want := cmp.Or(c.spec.Kind, b.entry.Kind); want != "" && want != string(info.Kind) {
		return r.fail("identity", &failure{reason: fmt.Sprintf("it says that it is of kind %q, and should be %s", shorten(string(info.Kind)), want), hint: hintInstall})
	}
	status := core.PluginCheckOK
	if b.entry.Version != "" && b.entry.Version != info.Version {
		status = core.PluginCheckWarning
	}
	r.add("identity", status, "%s %s of kind %s; its manifest has version %s", shorten(info.Name), shorten(info.Version), info.Kind, cmp.Or(b.entry.Version, "nothing"))

	settings, err := i.conn.Schema(ctx)
	if err != nil {
		return r.fail("schema", silent(err, "the question for its settings", c.redact))
	}
	r.add("schema", core.PluginCheckOK, "%d bytes, %d examples", len(settings.Schema), len(settings.Examples))

	problems, err := i.conn.Validate(ctx, c.spec.Config)
	if err != nil {
		return r.fail("settings", refused(ctx, i, err, "the check of its settings", c.redact))
	}
	if len(problems) == 0 {
		r.add("settings", core.PluginCheckOK, "it takes the settings of the configuration")
	}
	for _, p := range reported(problems) {
		status := core.PluginCheckFailed
		if p.Severity == plugin.SeverityWarning {
			status = core.PluginCheckWarning
		}
		r.add("settings", status, "%s", shortenTo(c.redact(strings.TrimPrefix(p.Path+": "+p.Text, ": ")), 300))
	}
	if !r.OK {
		r.add("contract", core.PluginCheckSkipped, "after the failure")
		return &r.PluginReport
	}
	c.promises(ctx, i, r)
	return &r.PluginReport
}
