// Package proc looks at and signals processes without mistaking one for another: a process is its pid and its
// start time, and a signal goes through a pidfd that was checked after it was opened. It owns reading /proc; it
// does not decide whom to signal. The holding process (sdk/holder/keeper), its client (sdk/holder) and local
// runtimes use it. It stays small: the standard library's os and x/sys.
package proc
