package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock, by what they are about. Making devices is never allowed: one for a disk would show every file.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	firstRights = 1<<13 - 1 // all of version 1
	deviceMakes = unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR
)

// ABI returns the version of Landlock that the kernel offers, or 0 where it has none or it is switched off.
func ABI() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// handled returns the rights to files that a version of Landlock knows, of those that this package does.
func handled(abi int) uint64 {
	rights := uint64(firstRights)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// restrict puts the calling thread into a domain. The thread has no_new_privs by then.
func restrict(r Rules) error {
	abi := ABI()
	attr := unix.LandlockRulesetAttr{}
	size := unsafe.Sizeof(attr.Handled_access_fs) // of version 1; later versions take more
	if len(r.Shut) > 0 {
		if abi < MinABI {
			return fmt.Errorf("directories cannot be shut: %w", unix.EOPNOTSUPP)
		}
		attr.Handled_access_fs = handled(abi)
	}
	if abi >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_SIGNAL|unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, unsafe.Offsetof(attr.Quiet_access_fs)
	}
	if attr == (unix.LandlockRulesetAttr{}) {
		return nil // nothing to say in this version
	}
	//nolint:gosec // the call takes the address of the attributes
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	if len(r.Shut) > 0 {
		rules := ruleset{fd: int(fd), rights: attr.Handled_access_fs}
		if err := rules.fill(r); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}

// ruleset collects rules.
type ruleset struct {
	fd     int
	rights uint64
	err    error // the first
}

// fill adds what the rules allow.
func (s *ruleset) fill(r Rules) error {
	err := allowed(r.Shut, func(path string) { s.add(path, s.rights&^deviceMakes) })
	if err != nil && !errors.Is(err, errEntries) {
		return err
	}
	for _, path := range r.Open {
		s.add(path, s.rights&^deviceMakes)
	}
	for _, path := range r.Readable {
		s.add(path, s.rights&readRights)
	}
	return s.err
}

// add allows rights to a path and all below it. What is not there, or any more, or cannot be reached, needs no rule.
func (s *ruleset) add(path string, rights uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK, unix.S_IFSOCK:
		return
	default:
		rights &= fileRights | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0) //nolint:gosec // the call takes the address of the rule
	// Files that are no files, such as pipes between processes, can have no rule, and need none.
	if errno != 0 && errno != unix.EBADFD && s.err == nil {
		s.err = fmt.Errorf("landlock_add_rule for %s: %w", path, errno)
	}
}
