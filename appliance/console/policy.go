package console

import "net/http"

// policy is the content security policy of the page. It allows its own files and its own server, nothing else. No
// script and no style is inline, and no text becomes a script: the one policy for trusted types makes the address of
// the worker, and no other.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types wardroom"

// setPolicy sets the headers that all answers of the console have.
func setPolicy(h http.Header) {
	SetHeaders(h)
	h.Set("Content-Security-Policy", policy)
}

// SetHeaders sets the headers that all answers to browsers have, but for the policy of their content.
func SetHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "accelerometer=(), autoplay=(), camera=(), clipboard-read=(), clipboard-write=(self), display-capture=(), "+
		"fullscreen=(self), geolocation=(), gyroscope=(), hid=(), magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=()")
}
