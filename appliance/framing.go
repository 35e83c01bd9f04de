package appliance

import "net/http"

// closeAfterChunks ends the connection after a request with a chunked body. Such a request may have named a
// length too, and a proxy before us may have gone by that: what follows on the connection is then a
// stranger's text and not a request (RFC 9112, section 6.1). net/http drops the length before a handler
// could see it, so all are treated alike; clients that state a length keep their connection.
func closeAfterChunks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
