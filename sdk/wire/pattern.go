package wire

// PatternRef names one version of a pattern.
type PatternRef struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}
