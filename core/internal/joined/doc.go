// Package joined has goroutines that are waited for when their service closes.
//
// It knows nothing of what they do, and ends none of them: their context is the caller's. Services of core call it.
package joined
