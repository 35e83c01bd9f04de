package terminal

import (
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/vt"
	"github.com/wardroom/wardroom/sdk/wire"
)

// ReadScreen receives from a terminal that was just attached to until it has shown its whole screen, and returns that as
// text. The terminal stays open.
func ReadScreen(t runtime.Terminal) (wire.ManagedAgentScreen, error) {
	cols, rows := vt.DefaultCols, vt.DefaultRows
	for {
		frame, err := t.Recv()
		if err != nil {
			return wire.ManagedAgentScreen{}, err
		}
		if frame.Cols > 0 && frame.Rows > 0 {
			cols, rows = frame.Cols, frame.Rows
		}
		if !frame.Repaint && frame.Exit == nil {
			continue // its size only
		}
		screen := vt.New(vt.Options{Cols: cols, Rows: rows})
		screen.Write(frame.Data)
		row, col := screen.Cursor()
		lines := screen.Text()
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		for n := len(lines); n > 0 && lines[n-1] == ""; n-- {
			lines = lines[:n-1]
		}
		return wire.ManagedAgentScreen{
			Title: screen.Title(), Cols: cols, Rows: rows, Cursor: wire.ScreenPlace{Row: row, Col: col}, Lines: lines,
		}, nil
	}
}
