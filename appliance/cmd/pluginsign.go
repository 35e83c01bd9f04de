package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core/pluginhost"
)

// keyAnswer is what plugin keygen prints for scripts.
type keyAnswer struct {
	SecretKey string `json:"secretKey"` // file
	PublicKey string `json:"publicKey"`
}

func (c *cli) pluginKeygen() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keygen FILE",
		Short: "Make a key to sign plugins with",
		Long: "keygen writes a secret key to FILE, which nobody else may read, and the public key to FILE.pub. They are keys\n" +
			"of minisign without a password. Those who install your plugins put the public key into plugins.trustedKeys.",
		RunE: func(_ *cobra.Command, args []string) error {
			public, err := pluginhost.NewKey(args[0])
			if err != nil {
				return err
			}
			return c.showValue(keyAnswer{args[0], public}, func(s *screen) {
				s.line("secret key: %s (keep it where others cannot read it, and keep a copy)", clean(args[0]))
				s.line("public key: %s", public)
			})
		},
	}
	c.nouns[cmd] = nil // a file
	return cmd
}

// signAnswer is what plugin sign prints for scripts.
type signAnswer struct {
	Signature string `json:"signature"` // file
	PublicKey string `json:"publicKey"`
}

func (c *cli) pluginSign() *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "sign FILE",
		Short: "Sign a plugin's package or binary",
		Long: "sign writes FILE.minisig, a signature as the program minisign makes it, by a secret key of `wardroom plugin\n" +
			"keygen` or of minisign. The password of a key that has one is read from standard input.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if key == "" {
				return usagef(cmd, "--key is missing: name the file of the secret key")
			}
			signature, public, err := pluginhost.Sign(args[0], key, c.password)
			if err != nil {
				return err
			}
			return c.showValue(signAnswer{signature, public}, func(s *screen) {
				s.line("wrote %s, by the key %s", clean(signature), public)
			})
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "file of the secret key")
	c.nouns[cmd] = nil // a file
	return cmd
}

// password reads the password of a key.
func (c *cli) password() (string, error) {
	if _, err := fmt.Fprint(c.deps.Stderr, "password of the key: "); err != nil {
		return "", err
	}
	line, err := c.stdinLine()
	if err == nil && line == "" {
		err = errors.New("there is no password on stdin")
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
