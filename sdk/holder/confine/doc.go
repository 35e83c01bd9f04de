// Package confine takes rights away from the command that a holder starts, by means of the Linux kernel: no_new_privs, a
// Landlock domain, and capabilities that would lead around it. It owns the rules and the system calls. It does not own
// which directories are shut (the launcher's), nor users, which the start of a process changes by itself.
//
// The holding process calls Enter on the thread that starts the command; launchers ask ABI what the kernel has.
package confine
