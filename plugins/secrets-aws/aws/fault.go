package aws

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/wardroom/wardroom/sdk/secret"
)

// fault words a failure. Nothing of what the service wrote is repeated: only what is known of it is said.
func (c *Config) fault(ctx context.Context, err error, place string) *secret.Error {
	var api smithy.APIError
	var status *awshttp.ResponseError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var sending *smithyhttp.RequestSendError
	named := errors.As(err, &api)
	answered := errors.As(err, &status)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return secret.Errorf(secret.CodeCanceled, "the call was ended")
	case named && api.ErrorCode() != "UnknownError":
		code := 0
		if answered {
			code = status.HTTPStatusCode()
		}
		return c.refusal(api.ErrorCode(), code, place)
	case errors.As(err, &unknown), errors.As(err, &host):
		return c.unavailable("its certificate is not trusted", "check endpoint, and AWS_CA_BUNDLE in the env of the plugin")
	case ctx.Err() != nil:
		e := secret.Errorf(secret.CodeTimeout, "Secrets Manager of %s did not answer within %s", c.Region, c.timeout)
		e.Hint = "look whether the network leads to it; timeout says how long is waited"
		return e
	case errors.As(err, &sending):
		return c.unavailable("it cannot be reached", "look whether the network leads to it, and check endpoint")
	case answered && status.HTTPStatusCode() >= http.StatusBadRequest:
		return c.unavailable(fmt.Sprintf("it answers with the status %d", status.HTTPStatusCode()), "check endpoint, or wait")
	}
	return c.unavailable("it answers with something else", "check endpoint")
}

func (c *Config) unavailable(why, hint string) *secret.Error {
	e := secret.Errorf(secret.CodeUnavailable, "Secrets Manager of %s does not help: %s", c.Region, why)
	e.Hint = hint
	return e
}

// refusal words an error that the service names.
func (c *Config) refusal(name string, status int, place string) *secret.Error {
	switch name {
	case "ResourceNotFoundException":
		return secret.Errorf(secret.CodeNotFound, "Secrets Manager of %s has no secret %s, or no such version of it", c.Region, place)
	case "InvalidRequestException":
		return &secret.Error{
			Code: secret.CodeNotFound, Message: fmt.Sprintf("the secret %s is about to be deleted, or has no value", place),
			Hint: "restore it with `aws secretsmanager restore-secret`",
		}
	case "InvalidParameterException", "ValidationException":
		return secret.Errorf(secret.CodeInvalidRef, "Secrets Manager does not take %s as the name of a secret", place)
	case "AccessDeniedException", "AccessDenied":
		return &secret.Error{
			Code: secret.CodeForbidden, Message: "AWS refuses to read the secret " + place,
			Hint: "allow secretsmanager:GetSecretValue on it, and kms:Decrypt on its key if that is not the default one",
		}
	case "DecryptionFailure", "EncryptionFailure":
		return &secret.Error{
			Code: secret.CodeForbidden, Message: fmt.Sprintf("AWS cannot decrypt the secret %s", place),
			Hint: "allow kms:Decrypt on its key, and look whether that is enabled",
		}
	case "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "SignatureDoesNotMatch",
		"IncompleteSignature", "IncompleteSignatureException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
		"ExpiredToken", "ExpiredTokenException", "NotAuthorized", "OptInRequired":
		return &secret.Error{
			Code: secret.CodeForbidden, Message: "AWS does not take the credentials (" + name + ")", Retry: true,
			Hint: "check the credentials, whether they have expired, and the clock of this machine",
		}
	case "ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "LimitExceededException":
		return c.unavailable("it has too many requests", "raise pollInterval, or wait")
	}
	if status >= http.StatusInternalServerError || name == "InternalServiceError" {
		return c.unavailable("it fails by itself", "wait, or look at the state of the service")
	}
	return c.unavailable("it refuses the request", "check endpoint and region")
}

// noCredentials is the error where the SDK finds none.
func noCredentials() *secret.Error {
	return &secret.Error{
		Code: secret.CodeForbidden, Message: "there are no credentials of AWS", Retry: true,
		Hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE in the env of the plugin, or give the machine or container a role",
	}
}
