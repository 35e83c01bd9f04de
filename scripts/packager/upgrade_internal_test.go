package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/configs"
	"github.com/wardroom/wardroom/core/config"
)

// An upgrade replaces the configuration of a version that had roles, rate limits and the audit trail off, and keeps them off;
// a new installation has them on. dpkg runs the scripts of the package.
func TestUpgradeKeepsWhatKeysMayDo(t *testing.T) {
	former, err := os.ReadFile("testdata/packaged-open.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const own = "security:\n  audit: {enabled: true, level: minimal}\n"
	for name, c := range map[string]struct {
		installed    []byte                   // by the former version; nil: none was there
		edit         func(text string) string // what the operator did to it
		dropIns      map[string]string
		roles, trail bool // after it
		written      bool
	}{
		"a new installation":       {roles: true, trail: true},
		"as it was installed":      {installed: former, written: true},
		"beside settings of ours":  {installed: former, dropIns: map[string]string{"10-setup.yaml": own}, trail: true, written: true},
		"before every other one":   {installed: former, dropIns: map[string]string{"00-first.yaml": own}, trail: true, written: true},
		"changed by the operator":  {installed: former, edit: func(s string) string { return s + "  rbac: {enabled: true}\n" }, roles: true},
		"of a version that had it": {installed: configs.Packaged, roles: true, trail: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newDebian(t)
			if c.installed != nil {
				m.install("1.0.0", c.installed)
			}
			if c.edit != nil {
				m.write("etc/wardroom/wardroom.yaml", c.edit(m.read("etc/wardroom/wardroom.yaml")))
			}
			for file, text := range c.dropIns {
				m.write("etc/wardroom/conf.d/"+file, text)
			}
			m.install("1.1.0", configs.Packaged)
			loaded, err := config.Load(filepath.Join(m.root, "etc/wardroom/wardroom.yaml"), config.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := &loaded.Security
			limited := s.RateLimit.Enabled
			if s.RBAC.Enabled != c.roles || s.Audit.Enabled != c.trail || limited != (c.roles && c.trail) || !s.Authentication.APIKeys.Enabled {
				t.Errorf("roles %t, audit %t, limits %t", s.RBAC.Enabled, s.Audit.Enabled, limited)
			}
			_, err = os.Stat(filepath.Join(m.root, "etc/wardroom/conf.d/0-as-before.yaml"))
			if written := err == nil; written != c.written || strings.Contains(m.said, "stay off here") != c.written {
				t.Errorf("written: %t; dpkg said: %s", written, m.said)
			}
			// What the operator takes out of it stays out.
			if c.written {
				m.write("etc/wardroom/conf.d/0-as-before.yaml", "security:\n  rateLimit: {enabled: false}\n")
				m.install("1.2.0", append([]byte("# later\n"), configs.Packaged...))
				if loaded, err = config.Load(filepath.Join(m.root, "etc/wardroom/wardroom.yaml"), config.Options{}); err != nil || !loaded.Security.RBAC.Enabled || loaded.Security.RateLimit.Enabled {
					t.Errorf("after another upgrade: %v, %+v", err, loaded)
				}
			}
		})
	}

	// rpm calls the same script with the number of versions that are there then.
	t.Run("rpm", func(t *testing.T) {
		m := newDebian(t)
		m.write("etc/wardroom/wardroom.yaml", string(former))
		script := exec.CommandContext(t.Context(), "sh", "../../packaging/scripts/wardroom.preinst", "2")
		script.Env = append(m.env(), "DPKG_ROOT="+m.root)
		if out, err := script.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if text := m.read("etc/wardroom/conf.d/0-as-before.yaml"); !strings.Contains(text, "rbac") {
			t.Errorf("%s", text)
		}
	})
}

// TestRestartOnUpgrade: the switch is read as systemd reads the file that it is in, which is the environment of the service, and a
// notice is printed where the old version goes on.
func TestRestartOnUpgrade(t *testing.T) {
	for _, c := range []struct {
		file      string
		restarted bool
	}{
		{"RESTART_ON_UPGRADE=true\n", true}, {"", true}, {"#RESTART_ON_UPGRADE=false\n", true}, {"RESTART_ON_UPGRADE=\n", true},
		{"RESTART_ON_UPGRADE=\"true\"\n", true}, {"RESTART_ON_UPGRADE='true'\n", true}, {"RESTART_ON_UPGRADE=true  \n", true},
		{"RESTART_ON_UPGRADE=false\n", false}, {"RESTART_ON_UPGRADE=\"false\"\n", false}, {"RESTART_ON_UPGRADE=true\nRESTART_ON_UPGRADE=no\n", false},
	} {
		m := &debian{t: t, root: t.TempDir()}
		text, err := os.ReadFile("../../packaging/scripts/restart-if-active")
		if err != nil {
			t.Fatal(err)
		}
		moved := strings.NewReplacer("/etc/", m.root+"/etc/", "/run/", m.root+"/run/", "/usr/bin/", m.root+"/usr/bin/").Replace(string(text))
		m.write("restart", moved)
		m.write("etc/default/wardroom", c.file)
		m.write("run/systemd/system/any", "")
		for name, script := range map[string]string{"usr/bin/wardroom": "exit 0", "bin/systemctl": "echo systemctl $*"} {
			m.write(name, "#!/bin/sh\n"+script+"\n")
			if err := os.Chmod(filepath.Join(m.root, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		restart := exec.CommandContext(t.Context(), "sh", filepath.Join(m.root, "restart"))
		restart.Env = append(os.Environ(), "PATH="+filepath.Join(m.root, "bin")+":"+os.Getenv("PATH"))
		out, err := restart.CombinedOutput()
		if err != nil || strings.Contains(string(out), "systemctl restart wardroom.service") != c.restarted || strings.Contains(string(out), "the old version goes on") == c.restarted {
			t.Errorf("%q: %v: %s", c.file, err, out)
		}
	}
}

// TestInstallBesideAnExistingUser installs where the machine has the user of the service, or its group, and not the other one:
// the files of the package belong to the group, and the unit names both.
func TestInstallBesideAnExistingUser(t *testing.T) {
	for name, c := range map[string]struct {
		has, made string
		sysusers  bool
	}{
		"user, by sysusers":  {has: "passwd", made: "sysusers", sysusers: true},
		"group, by sysusers": {has: "group", made: "sysusers", sysusers: true},
		"neither":            {made: "groupadd useradd"},
		"user":               {has: "passwd", made: "groupadd"},
		"group":              {has: "group", made: "useradd"},
		"both":               {has: "passwd group", sysusers: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := &debian{t: t, root: t.TempDir(), bin: t.TempDir()}
			script := func(name, text string) {
				m.write("bin/"+name, "#!/bin/sh\n"+text+"\n")
				if err := os.Chmod(filepath.Join(m.root, "bin", name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			script("getent", `case " `+c.has+` " in *" $1 "*) ;; *) exit 2 ;; esac`)
			for _, program := range []string{"groupadd", "useradd"} {
				script(program, "printf '%s ' "+program+" >>"+m.root+"/made")
			}
			if c.sysusers {
				script("systemd-sysusers", "printf 'sysusers ' >>"+m.root+"/made")
			}
			m.write("made", "")
			preinst := exec.CommandContext(t.Context(), "/bin/sh", "../../packaging/scripts/wardroom.preinst", "install")
			preinst.Env = []string{"PATH=" + filepath.Join(m.root, "bin"), "DPKG_ROOT=" + m.root}
			if out, err := preinst.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if made := strings.TrimSpace(m.read("made")); made != c.made {
				t.Errorf("made: %q, not %q", made, c.made)
			}
		})
	}
}

// TestPurgeOfADisk purges where the data are on a disk of their own, whose root cannot be removed.
func TestPurgeOfADisk(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc/wardroom", "var/lib/wardroom", "var/log/wardroom"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	disk := filepath.Join(root, "var/lib/wardroom")
	purge := `mount -t tmpfs disk "$1" || exit 99
mkdir "$1/store" && echo x >"$1/store/x" || exit 98
DPKG_ROOT=$2 sh ../../packaging/scripts/wardroom.postrm purge || exit 3
[ -z "$(ls -A "$1")" ] || exit 2`
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", purge, "sh", disk, root).CombinedOutput()
	skipWithoutMounts(t, out, err)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, dir := range []string{"etc/wardroom", "var/log/wardroom"} {
		if _, err := os.Stat(filepath.Join(root, dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

// TestPurgeSparesWhatIsMounted purges where a directory of somebody else is mounted within the data, for agents to work on: it is
// none of what the service made.
func TestPurgeSparesWhatIsMounted(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"etc/wardroom", "var/lib/wardroom/store", "var/lib/wardroom/our [old] work", "srv/work"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A bind mount has the device of what it is within, which rm --one-file-system takes for one file system.
	purge := `mount --bind "$1/srv/work" "$1/var/lib/wardroom/our [old] work" || exit 99
echo x >"$1/srv/work/precious" && echo x >"$1/var/lib/wardroom/store/x" || exit 98
DPKG_ROOT=$1 sh ../../packaging/scripts/wardroom.postrm purge || exit 3`
	out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", purge, "sh", root).CombinedOutput()
	skipWithoutMounts(t, out, err)
	if err != nil || !strings.Contains(string(out), "work is mounted, and is left as it is") {
		t.Errorf("%v: %s", err, out)
	}
	for path, there := range map[string]bool{"srv/work/precious": true, "var/lib/wardroom/store": false, "etc/wardroom": false} {
		if _, err := os.Stat(filepath.Join(root, path)); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// skipWithoutMounts skips a test whose script ended with 99, since nothing can be mounted on this machine, or did not begin: 1 is the
// exit code of unshare itself.
func skipWithoutMounts(t *testing.T, out []byte, err error) {
	t.Helper()
	var ended *exec.ExitError
	if err == nil || errors.As(err, &ended) && os.Getuid() == 0 && ended.ExitCode() != 99 && ended.ExitCode() != 1 {
		return
	}
	if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
		t.Fatalf("nothing can be mounted here: %v\n%s", err, out)
	}
	t.Skipf("nothing can be mounted here: %v\n%s", err, out)
}

// debian is a directory in which dpkg installs packages as in the root of a machine.
type debian struct {
	t         *testing.T
	root, bin string
	said      string // by dpkg, the last time
}

func newDebian(t *testing.T) *debian {
	t.Helper()
	for _, program := range []string{"dpkg", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	m := &debian{t: t, root: t.TempDir(), bin: t.TempDir()}
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/wardroom", "var/backups/wardroom"} {
		if err := os.MkdirAll(filepath.Join(m.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write("var/lib/dpkg/status", "")
	m.write("var/lib/dpkg/available", "")
	for _, program := range []string{"getent", "chgrp", "ldconfig", "start-stop-daemon"} { // this machine has no user of the service
		if err := os.WriteFile(filepath.Join(m.bin, program), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *debian) env() []string {
	return append(os.Environ(), "PATH="+m.bin+":"+os.Getenv("PATH")+":/usr/sbin:/sbin", "DEBIAN_FRONTEND=noninteractive")
}

func (m *debian) write(path, text string) {
	m.t.Helper()
	path = filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *debian) read(path string) string {
	m.t.Helper()
	data, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

// install packs the configuration of a version with the scripts of ours, and has dpkg install it.
func (m *debian) install(version string, configuration []byte) {
	m.t.Helper()
	tree := &debian{t: m.t, root: m.t.TempDir()}
	tree.write("DEBIAN/control", "Package: wardroom\nVersion: "+version+"\nArchitecture: all\nMaintainer: Rig <rig@example.com>\nDescription: test\n")
	tree.write("DEBIAN/conffiles", "/etc/wardroom/wardroom.yaml\n")
	tree.write("etc/wardroom/wardroom.yaml", string(configuration))
	if err := os.MkdirAll(filepath.Join(tree.root, "etc/wardroom/conf.d"), 0o755); err != nil {
		m.t.Fatal(err)
	}
	for _, script := range []string{"preinst", "postinst", "prerm", "postrm"} {
		text, err := os.ReadFile("../../packaging/scripts/wardroom." + script)
		if err != nil {
			m.t.Fatal(err)
		}
		tree.write("DEBIAN/"+script, string(text))
		if err := os.Chmod(filepath.Join(tree.root, "DEBIAN", script), 0o755); err != nil {
			m.t.Fatal(err)
		}
	}
	file := filepath.Join(m.t.TempDir(), "wardroom.deb")
	m.run("dpkg-deb", "--root-owner-group", "--build", tree.root, file)
	m.said = m.run("dpkg", "--root="+m.root, "--force-script-chrootless", "--force-not-root", "--force-confold", "--log="+filepath.Join(m.bin, "log"), "--install", file)
}

func (m *debian) run(program string, args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), program, args...)
	cmd.Env = m.env()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		m.t.Fatalf("%s %v: %v\n%s", program, args, err, &out)
	}
	return out.String()
}
