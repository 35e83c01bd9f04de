package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/wardroom/wardroom/sdk/execcredential"
	"github.com/wardroom/wardroom/sdk/secret"
)

// fault words a failure of a request. Nothing of what the cluster wrote is repeated: only what is known of it is said.
func (c *Config) fault(ctx context.Context, err error, verb, place string) *secret.Error {
	var own *secret.Error
	var status apierrors.APIStatus
	var long *http.MaxBytesError
	var command *execcredential.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, execcredential.ErrClosed):
		return secret.Errorf(secret.CodeCanceled, "the call was ended")
	case errors.As(err, &command):
		e := secret.Errorf(secret.CodeUnavailable, "%s", command.Error())
		e.Hint = command.Hint
		return e
	case errors.As(err, &long):
		return secret.Errorf(secret.CodeInvalidRef, "the cluster answers with more than %d MiB when asked to %s the secret %s", maxAnswer>>20, verb, place)
	case apierrors.IsNotFound(err):
		return secret.Errorf(secret.CodeNotFound, "the cluster has no secret %s", place)
	case apierrors.IsForbidden(err):
		namespace, name := split(place)
		return &secret.Error{
			Code: secret.CodeForbidden, Message: fmt.Sprintf("the cluster refuses the verb %s on the secret %s", verb, place),
			Hint: fmt.Sprintf(`give the account of the provider a role in the namespace %s with: apiGroups: [""], resources: ["secrets"], resourceNames: [%q], verbs: ["get", "watch"]`, namespace, name),
		}
	case apierrors.IsUnauthorized(err):
		return &secret.Error{
			Code: secret.CodeForbidden, Message: "the cluster does not know the account of the provider, or its credential has expired", Retry: true,
			Hint: "check the credential of kubeconfig, or the service account; a new one is read at once",
		}
	case untrusted(err):
		return c.unavailable("its certificate is not trusted", "check the authorities of the cluster in kubeconfig, or ca.crt of the service account")
	case apierrors.IsTooManyRequests(err):
		return c.unavailable("it has too many requests", "wait, or raise pollInterval")
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		return secret.Errorf(secret.CodeInvalidRef, "the cluster does not take %s as the name of a secret", place)
	case ctx.Err() != nil, apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		e := secret.Errorf(secret.CodeTimeout, "the cluster did not answer within %s", c.timeout)
		e.Hint = "look how its API server is; timeout says how long is waited"
		return e
	case errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest:
		return c.unavailable(fmt.Sprintf("it answers with the status %d", status.Status().Code), "look how its API server is")
	case errors.As(err, &status) && status.Status().Code >= http.StatusMultipleChoices:
		return c.unavailable("it redirects elsewhere", "give the address of its API server itself")
	}
	return c.unavailable("it cannot be reached", "check the address of the cluster, and that its API server runs")
}

func (c *Config) unavailable(why, hint string) *secret.Error {
	e := secret.Errorf(secret.CodeUnavailable, "the cluster does not help: %s", why)
	e.Hint = hint
	return e
}

// untrusted reports whether the cluster has a certificate of other authorities, as after a rotation of them.
func untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}
