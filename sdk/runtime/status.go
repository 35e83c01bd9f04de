package runtime

import "net/http"

// HTTPStatus is the status that a runtime server answers for a code. DELIVERY_UNKNOWN is a
// conflict and not a server error, because what sits between client and server repeats requests after a 5xx
// by itself, and this one must not be repeated blindly; NOT_DELIVERED may be.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeInvalidSpec, CodeInvalidArgument, CodeUnknownType, CodeWorkdirNotAllowed, CodeInvalidHandle:
		return http.StatusBadRequest
	case CodeForbidden:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case CodeTimeout:
		return http.StatusRequestTimeout
	case CodeAuthRequired, CodeAlreadyExists, CodeNotRunning, CodeBlocked, CodeNoPrompt, CodeDeliveryUnknown, CodeLagged:
		return http.StatusConflict
	case CodeCLINotFound, CodeImageNotFound:
		return http.StatusUnprocessableEntity
	case CodeUnimplemented:
		return http.StatusNotImplemented
	case CodeNetworkError:
		return http.StatusBadGateway
	case CodeResourceLimit, CodeSocketError, CodeUnavailable, CodeNotDelivered, CodeCanceled:
		return http.StatusServiceUnavailable
	default: // SPAWN_FAILED, INTERNAL, and codes of a later version
		return http.StatusInternalServerError
	}
}
