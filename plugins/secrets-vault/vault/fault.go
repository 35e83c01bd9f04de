package vault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hashicorp/vault/api"

	"github.com/wardroom/wardroom/sdk/secret"
)

// fault words a failure of a request to do something, such as "read secret/data/db". Nothing of what the server wrote is
// repeated: only what is known of it is said.
func (c *Config) fault(ctx context.Context, err error, doing string) *secret.Error {
	var own *secret.Error
	var refused *api.ResponseError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var network net.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &refused):
		return c.refusal(refused, doing)
	case errors.Is(ctx.Err(), context.Canceled):
		return secret.Errorf(secret.CodeCanceled, "the call was ended")
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid), errors.Is(err, errAuthorities):
		return c.unavailable("its certificate is not trusted", "check the host name of address, and set caCert to the authorities of the server")
	case errors.Is(err, errTooLong):
		return secret.Errorf(secret.CodeInvalidRef, "Vault answers with more than %d MiB when asked to %s", maxAnswer>>20, doing)
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		e := secret.Errorf(secret.CodeTimeout, "Vault at %s did not answer within %s when asked to %s", c.Address, c.timeout, doing)
		e.Hint = "look how Vault and its storage are; timeout says how long is waited"
		return e
	}
	return c.unavailable("it cannot be reached", "check address, and that Vault runs")
}

func (c *Config) unavailable(why, hint string) *secret.Error {
	e := secret.Errorf(secret.CodeUnavailable, "Vault at %s does not help: %s", c.Address, why)
	e.Hint = hint
	return e
}

// refusal words an answer that is none of success.
func (c *Config) refusal(r *api.ResponseError, doing string) *secret.Error {
	text := strings.ToLower(strings.Join(r.Errors, " "))
	switch {
	case strings.Contains(text, "sealed"):
		return c.unavailable("it is sealed", "unseal it with `vault operator unseal`")
	case r.StatusCode == http.StatusBadRequest && strings.Contains(text, "upgrading from non-versioned"): // which is over in a moment
		return c.unavailable("the engine is being upgraded to version 2", "wait until it has, and look into its log if that takes long")
	case r.StatusCode == http.StatusForbidden && strings.Contains(text, "invalid token"):
		return &secret.Error{
			Code: secret.CodeForbidden, Message: fmt.Sprintf("Vault refuses to %s: the token is not valid any more", doing), Retry: true,
		}
	case r.StatusCode == http.StatusForbidden:
		return secret.Errorf(secret.CodeForbidden, "Vault refuses to %s: permission denied", doing)
	case r.StatusCode == http.StatusNotFound:
		return secret.Errorf(secret.CodeNotFound, "Vault has nothing to %s", doing)
	case r.StatusCode == http.StatusTooManyRequests:
		return c.unavailable("it has too many requests (429)", "look at its rate limit quotas")
	case r.StatusCode == 472 || r.StatusCode == 473:
		return c.unavailable("it is a standby that answers nothing", "give the address of the active server")
	case r.StatusCode >= 500:
		return c.unavailable(fmt.Sprintf("it fails with the status %d", r.StatusCode), "look into the log of Vault")
	case r.StatusCode >= 300 && r.StatusCode < 400:
		return c.unavailable("it redirects elsewhere", "give the address of the active server")
	}
	return &secret.Error{
		Code: secret.CodeInvalidRef, Message: fmt.Sprintf("Vault does not %s (status %d)", doing, r.StatusCode),
		Hint: "the path must be one that can be read, such as secret/data/db or database/creds/ROLE",
	}
}

// invalidToken reports whether a request was refused because its token is none any more.
func invalidToken(err error) bool {
	var refused *api.ResponseError
	return errors.As(err, &refused) && refused.StatusCode == http.StatusForbidden &&
		strings.Contains(strings.ToLower(strings.Join(refused.Errors, " ")), "invalid token")
}

// refusedFor reports whether the server answered, and said no for good.
func refusedFor(err error) bool {
	var refused *api.ResponseError
	return errors.As(err, &refused) && refused.StatusCode >= 400 && refused.StatusCode < 500 && refused.StatusCode != http.StatusTooManyRequests
}
