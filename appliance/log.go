package appliance

import (
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/term"

	"github.com/wardroom/wardroom/core/config"
)

// loggerName is where the names of the parts in the log begin.
const loggerName = "wardroom"

// newLogger makes the process log: text for people and journald, JSON when asked for. Under journald,
// which stamps lines itself, the time is left out. Lines go to through, which passes them on to out.
func newLogger(c config.Log, out, through io.Writer) hclog.Logger {
	_, journald := os.LookupEnv("JOURNAL_STREAM")
	color := hclog.ColorOff
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		color = hclog.ForceColor // through is no terminal itself
	}
	return hclog.New(&hclog.LoggerOptions{
		Name: loggerName, Level: hclog.LevelFromString(c.Level), Output: through,
		JSONFormat: c.Format == "json", DisableTime: journald && c.Format != "json",
		Color: color, TimeFormat: "2006-01-02T15:04:05.000Z07:00",
	})
}
