package wire

import (
	"strconv"
	"strings"
)

// ResendKey returns the key under which a message is sent for the nth time, where the runtime does not know what became of
// it under the keys before; n is 2 or more. A runtime that learns meanwhile that the agent took it after all answers that,
// and does not type it again.
func ResendKey(key string, n int) string { return key + "." + strconv.Itoa(n) }

// ParseResendKey returns what a key of ResendKey was made of. Whether one that looks so was made by it, the text of the
// messages tells.
func ParseResendKey(key string) (first string, n int, ok bool) {
	dot := strings.LastIndexByte(key, '.')
	if dot <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(key[dot+1:])
	if err != nil || n < 2 || ResendKey(key[:dot], n) != key {
		return "", 0, false
	}
	return key[:dot], n, true
}
