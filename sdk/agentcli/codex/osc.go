package codex

import "strings"

// report is what OSC 7501 says, for example state=blocked:app=codex:kind=permission.
type report struct {
	state string
	kind  string
}

// parseReport reads the data of OSC 7501. Fields that it does not know are left out.
func parseReport(data []byte) (report, bool) {
	var r report
	for _, field := range strings.Split(string(data), ":") {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "state":
			r.state = value
		case "kind":
			r.kind = value
		}
	}
	return r, r.state != ""
}

// needsAction reports whether a window title says that a dialog stands on the screen.
func needsAction(title string) bool {
	return strings.HasPrefix(title, "[") && strings.Contains(title, "] Action Required")
}
