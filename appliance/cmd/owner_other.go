//go:build !linux

package cmd

import "syscall"

// ownAs does nothing: the packages that run the service as a user of its own are for Linux.
func ownAs(string, string) error { return nil }

// ownDisk is not known: see ownAs.
func ownDisk(string) bool { return false }

// foreignFile finds none: see ownAs.
func foreignFile(string) (path, owner string, found bool) { return "", "", false }

// freeBytes is not known: see ownAs.
func freeBytes(string) (int64, bool) { return 0, false }

// groupOf is not known: see ownAs.
func groupOf(string) int { return -1 }

// groupReads takes it for granted: see ownAs.
func groupReads(string, int) bool { return true }

// foreignSocket finds none: see ownAs.
func foreignSocket(string, string) (group string, foreign bool) { return "", false }

// ownerAttributes are of no use here: see ownAs.
func ownerAttributes(string) *syscall.SysProcAttr { return nil }
