package runtime

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ImageChoice is which images a runtime starts agents from, as its configuration has it.
type ImageChoice struct {
	Image       string            `json:"image"`       // of agents whose type has none of its own
	Images      map[string]string `json:"images"`      // by agent type
	AllowImages []string          `json:"allowImages"` // that a request may name beside those: a reference, or the beginning of some with * at the end
}

// SetDefaults fills in the images that packaging/images builds.
func (i *ImageChoice) SetDefaults() {
	i.Image = cmp.Or(i.Image, "wardroom/base")
	images := map[string]string{"claude": "wardroom/claude", "codex": "wardroom/codex", "gemini": "wardroom/gemini"}
	maps.Copy(images, i.Images)
	i.Images = images
}

// Choose returns the image that an agent starts from. INVALID_SPEC for one that check refuses, and for one that a request may
// not name.
func (i *ImageChoice) Choose(spec *Spec, check func(ref string) error) (string, error) {
	own, ok := i.Images[spec.Type]
	if !ok {
		own = i.Image
	}
	if spec.Image == "" || spec.Image == own {
		return own, nil
	}
	if err := check(spec.Image); err != nil {
		return "", Invalid("image", "%v", err)
	}
	configured := spec.Image == i.Image
	for _, ref := range i.Images {
		configured = configured || spec.Image == ref
	}
	allowed := slices.ContainsFunc(i.AllowImages, func(pattern string) bool {
		start, open := strings.CutSuffix(pattern, "*")
		return spec.Image == pattern || open && strings.HasPrefix(spec.Image, start)
	})
	if !configured && !allowed {
		e := Invalid("image", "%q is not allowed", spec.Image)
		e.Hint = "add it to allowImages in the runtime's configuration"
		return "", e
	}
	return spec.Image, nil
}

// Problems finds what check refuses, by its path in the configuration.
func (i *ImageChoice) Problems(check func(ref string) error) map[string]error {
	found := map[string]error{}
	try := func(path, ref string) {
		if err := check(ref); err != nil {
			found[path] = err
		}
	}
	try("/image", i.Image)
	for kind, ref := range i.Images {
		try("/images/"+kind, ref)
	}
	for n, pattern := range i.AllowImages {
		if start, open := strings.CutSuffix(pattern, "*"); open {
			pattern = start + "x" // the beginning of a reference
		}
		try("/allowImages/"+strconv.Itoa(n), pattern)
	}
	return found
}

// RegistryUnreached reports whether an image could not be pulled because of the network, or of a registry that is down, by what a
// container engine wrote of it: engines have no code for that.
func RegistryUnreached(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{
		"connection refused", "connection reset", "no such host", "no route to host", "network is unreachable", "i/o timeout", "tls handshake timeout",
		"client.timeout", "context deadline exceeded", "server misbehaving", "temporary failure in name resolution", "unexpected eof", ": eof",
		"unexpected http status: 5", "502 bad gateway", "503 service unavailable", "504 gateway", "proxyconnect",
	}, func(words string) bool { return strings.Contains(text, words) })
}

// DiskFull reports whether the disk of a container engine had no room for an image or a container, by what the engine wrote of it.
func DiskFull(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "no space left on device") || strings.Contains(text, "disk quota exceeded")
}
