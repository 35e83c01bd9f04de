package appliance

import (
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// States of the service manager's protocol (sd_notify(3)).
const (
	notifyReady    = daemon.SdNotifyReady
	notifyStopping = daemon.SdNotifyStopping
)

// notify tells the service manager, when there is one. A lost message is the manager's loss only.
func notify(states ...string) {
	_, _ = daemon.SdNotify(false, strings.Join(states, "\n"))
}

// patience asks the service manager to wait for so long from now, where it would end the process sooner.
func patience(d time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()) }

// notifyReloading says that a reload begins. Type=notify-reload wants the monotonic time with it.
func notifyReloading() {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return
	}
	notify(daemon.SdNotifyReloading, fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
}
