package webhook

import (
	"errors"
	"slices"
)

// Why a delivery is not to be trusted. Verify wraps them; errors.Is tells them apart.
var (
	// ErrNoSecret: the receiver has no secret. An empty one would make every signature good.
	ErrNoSecret = errors.New("webhook: there is no secret to verify with")
	// ErrNoSignature: the signature's header is missing, or holds none of ours.
	ErrNoSignature = errors.New("webhook: the delivery is not signed")
	// ErrTimestamp: the timestamp's header is missing, given twice or no number.
	ErrTimestamp = errors.New("webhook: the delivery has no usable timestamp")
	// ErrSignature: no signature fits; the secret is another one, or the delivery was changed on its way.
	ErrSignature = errors.New("webhook: the signature does not fit")
	// ErrTooOld and ErrTooNew: the signature is good, but was made too long ago, or in the future. Most often it is a
	// delivery that somebody repeats, or a clock that is wrong.
	ErrTooOld = errors.New("webhook: the delivery is too old")
	ErrTooNew = errors.New("webhook: the delivery is from the future")
	// ErrBody: the signature is good, and the body is no event. The secret signs something else as well.
	ErrBody = errors.New("webhook: the body is no event")
)

// Refused reports whether an error of Verify means that the sender did not prove to be Wardroom: a receiver answers 401
// then. Of the others, ErrBody is about what was sent, and ErrNoSecret about the receiver itself.
func Refused(err error) bool {
	refusals := []error{ErrNoSignature, ErrTimestamp, ErrSignature, ErrTooOld, ErrTooNew}
	return slices.ContainsFunc(refusals, func(e error) bool { return errors.Is(err, e) })
}
