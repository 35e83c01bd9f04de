package core

// Severities of an Alert.
const (
	SeverityWarning  = "warning"  // somebody should look at it
	SeverityCritical = "critical" // something does not work
)

// Alert is the data of a system.alert event.
type Alert struct {
	Severity string         `json:"severity"`
	Message  string         `json:"message"`
	Details  map[string]any `json:"details"`
}
