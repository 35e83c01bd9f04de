package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// failure is why a plugin does not run. Its texts are for operators and hold no secret.
type failure struct {
	reason string
	hint   string
	crash  bool         // counts for the quarantine
	cause  error        // for the log; nil: there is nothing more to say
	unsafe *unsafeError // what others could change; nil: nothing, or it could not be looked at
}

func (f *failure) Error() string { return f.reason }

// crashed makes the failure of a process that misbehaved.
func crashed(format string, args ...any) *failure {
	return &failure{reason: fmt.Sprintf(format, args...), crash: true, hint: hintLogs}
}

// Hints of several failures.
const (
	hintLogs    = "see what it said with wardroom plugin logs NAME"
	hintInstall = "install it with its package or with wardroom plugin install FILE; it is tried again by itself"
	hintUpgrade = "install the release of the plugin that belongs to this one of Wardroom; it is tried again by itself"
)

// launchFailure explains why a process did not come to its handshake.
func launchFailure(err error, p *process, redact func(string) string) *failure {
	ended := ""
	select {
	case <-p.done:
		if !p.wasKilled() || signalOf(p.err) != syscall.SIGKILL { // else its end is our doing
			ended = exitText(p.err)
		}
	default:
	}
	text := err.Error()
	switch {
	case errors.Is(err, goplugin.ErrChecksumsDoNotMatch):
		return anotherChecksum(p.path)
	case errors.Is(err, syscall.ENOENT):
		return &failure{reason: p.path + " cannot be started: it, or the loader that it names, does not exist", hint: hintInstall}
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.ETXTBSY):
		return &failure{reason: p.path + " cannot be executed: " + lastError(err).Error(), hint: hintInstall}
	case strings.Contains(text, "incompatible API version"), strings.Contains(text, "incompatible core API version"):
		return &failure{
			reason: fmt.Sprintf("it speaks another version of the plugin protocol: this release speaks %d%s", plugin.ProtocolVersion, spoken(text)),
			hint:   hintUpgrade, cause: err,
		}
	case strings.Contains(text, "timeout while waiting"), errors.Is(err, context.DeadlineExceeded):
		return crashed("it did not get to its handshake in time")
	case printed(text) != "":
		f := crashed("it printed %q on its standard output where its handshake belongs", shorten(redact(printed(text))))
		f.hint = "it is no plugin of Wardroom, or one that prints before it calls plugin.Main: tell its author"
		return f
	case ended != "":
		return crashed("it ended before it was ready: %s", ended)
	case strings.Contains(text, "unsupported plugin protocol"):
		return &failure{reason: "it does not speak gRPC", hint: hintUpgrade, cause: err}
	}
	f := crashed("the connection to it could not be made")
	f.cause = err
	return f
}

// spoken returns what the handshake says that the plugin speaks.
func spoken(text string) string {
	if match := spokenForm.FindStringSubmatch(text); match != nil {
		return ", and it speaks " + match[1]
	}
	return ""
}

// spokenForm is how go-plugin tells the version of a plugin.
var spokenForm = regexp.MustCompile(`Plugin version: ([0-9]{1,9})`)

// printed returns the line that go-plugin found in place of a handshake.
func printed(text string) string {
	_, line, ok := strings.Cut(text, "Unrecognized remote plugin message: ")
	if !ok {
		return ""
	}
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// lastError is the innermost error, whose text is the system's.
func lastError(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// exitText says how a process ended.
func exitText(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case signalOf(err) != 0:
		return fmt.Sprintf("signal %d (%s)", int(signalOf(err)), signalOf(err))
	case errors.As(err, &exit):
		return exit.Error()
	}
	return "its end could not be seen"
}

// signalOf returns the signal that ended a process, or 0.
func signalOf(err error) syscall.Signal {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return status.Signal()
		}
	}
	return 0
}

// silent explains why a plugin gives no answer to a question that needs no more than itself.
func silent(err error, what string, redact func(string) string) *failure {
	switch e := plugin.AsError(err); e.Code {
	case plugin.CodeUnavailable:
		return crashed("it ended, or broke its connection, during %s", what)
	case plugin.CodeTimeout, plugin.CodeCanceled:
		return crashed("it gave no answer to %s in time", what)
	default:
		f := crashed("it answers %s with an error: %s", what, shortenTo(redact(e.Message), 1000))
		f.hint = "tell its author"
		return f
	}
}

// refused explains why a plugin does not take its settings. One that gives no answer has crashed or hangs; one
// that says no is well, even if it says so because a service behind it is not reachable or late.
func refused(ctx context.Context, i *instance, err error, what string, redact func(string) string) *failure {
	e := plugin.AsError(err)
	if deadline, ok := ctx.Deadline(); ctx.Err() != nil || ok && time.Until(deadline) < lateness {
		return crashed("it hangs: it gave no answer to %s in time", what)
	}
	if lost(ctx, i, string(e.Code)) {
		return crashed("it ended, or broke its connection, during %s", what)
	}
	f := &failure{reason: "it does not take its settings: " + shortenTo(redact(e.Message), 1000), hint: redact(e.Hint)}
	f.hint = cmp.Or(f.hint, "wardroom plugin info NAME shows the settings that it takes")
	return f
}

// lateness is how much before our own clock the other side may see a deadline pass.
const lateness = 50 * time.Millisecond

// anotherChecksum is the failure of a binary that is not the one that is known.
func anotherChecksum(path string) *failure {
	return &failure{
		reason: fmt.Sprintf("the checksum of %s is not the one that was announced: the file was changed or its manifest is of another build", path),
		hint:   hintInstall,
	}
}
