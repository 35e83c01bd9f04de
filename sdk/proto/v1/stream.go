package pluginv1

import (
	"errors"
	"io"

	"google.golang.org/grpc"
)

// Opened waits until the server has opened a stream, which it tells by its header, and returns the status of a
// stream that it did not open.
func Opened(stream grpc.ClientStream) error {
	header, err := stream.Header()
	if err != nil || header != nil {
		return err
	}
	// No header and no error: the stream ended, and a receive returns its status.
	if err := stream.RecvMsg(&ErrorDetail{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return (&ErrorDetail{Code: CodeInternal, Message: "the plugin ended a stream before it was open"}).Status()
}
