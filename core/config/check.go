package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"aead.dev/minisign"

	"github.com/wardroom/wardroom/core/internal/schema"
)

func checkNotEmpty(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkListen wants host:port with a numeric port. The host is not looked up: that is for the listener.
func checkListen(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080 or [::1]:8080", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q has no port between 0 and 65535", text)
	}
	return nil
}

func checkBaseURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := parseHTTP(text)
	if err != nil {
		return err
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fmt.Errorf("%q must have neither a query nor a fragment", text)
	}
	return nil
}

// checkMinisign wants a public key.
func checkMinisign(text string) error {
	if err := new(minisign.PublicKey).UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("%q is not a public key of minisign: the second line of the file with the suffix .pub, which begins with RW", schema.Clip(text))
	}
	return nil
}

// checkHost wants a host name or address, without a port.
func checkHost(text string) error {
	if _, err := netip.ParseAddr(text); err == nil {
		return nil
	}
	for _, label := range strings.Split(strings.TrimSuffix(text, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, hostLetters) != "" {
			return fmt.Errorf("%q is not the name of a host, such as wardroom.example, or an address; write it without scheme and port", text)
		}
	}
	return nil
}

// hostLetters are what names of hosts consist of.
const hostLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// checkOrigin wants exactly what a browser sends in Origin.
func checkOrigin(text string) error {
	if text == "*" {
		return errors.New("every origin may not be allowed: any web page could then drive the server; list them")
	}
	u, err := parseHTTP(text)
	if err != nil {
		return err
	}
	if strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return fmt.Errorf("%q is more than an origin; write scheme://host[:port]", text)
	}
	return nil
}

func parseHTTP(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		if strings.Contains(text, "@") { // it may hold a password
			return nil, errors.New("is not an address that begins with http:// or https://, without a user")
		}
		return nil, fmt.Errorf("%q is not an address that begins with http:// or https://", text)
	}
	if u.User != nil {
		return nil, errors.New("must not hold a user or a password")
	}
	if u.Port() == "" && strings.HasSuffix(u.Host, ":") {
		return nil, fmt.Errorf("%q has an empty port", text)
	}
	return u, nil
}

// hasUser reports whether an address has a user, a password or both.
func hasUser(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.User != nil
}

// cleanURL drops trailing slashes and puts scheme and host in lower case, the form browsers send.
func cleanURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	return strings.TrimRight(u.String(), "/")
}

var sha256Digits = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

func checkSHA256(text string) error {
	if text != "" && !sha256Digits.MatchString(text) {
		return errors.New("is not the SHA-256 of a file: 64 hexadecimal digits, as sha256sum prints them")
	}
	return nil
}

func checkPattern(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("is not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}

// checkEntry wants the name of an entry, or nothing.
func checkEntry(text string) error {
	if text != "" && !schema.IsEntryName(text) {
		return fmt.Errorf("%q is not a name; use lower-case letters, digits, - and _, a letter first", text)
	}
	return nil
}
