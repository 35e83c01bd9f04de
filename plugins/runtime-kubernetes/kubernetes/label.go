package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Labels and annotations of what this runtime makes.
const (
	labelOwner        = "wardroom.io/owner"        // identity of the state directory
	labelInstallation = "wardroom.io/installation" // of the appliance
	labelAgent        = "wardroom.io/agent"        // id, or a digest of one that cannot be a label
	labelType         = "wardroom.io/type"
	annotationAgent   = "wardroom.io/agent-id"
	annotationName    = "wardroom.io/agent-name"
	annotationVersion = "wardroom.io/plugin-version"
)

var labelForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

// labelValue makes the value of a label of a text: the text itself where that can be one.
func labelValue(text string) string {
	if text == "" || labelForm.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// word matches what may not be in a name.
var word = regexp.MustCompile(`[^a-z0-9-]+`)

// podName makes the name of a pod: it tells people whose it is, and no two pods have the same one.
func podName(id, random string) string {
	w := strings.Trim(word.ReplaceAllString(strings.ToLower(id), "-"), "-")
	return strings.Trim("wardroom-"+w[:min(len(w), 40)], "-") + "-" + strings.ToLower(random[:10])
}
