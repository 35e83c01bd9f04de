package docker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
)

// parseUser reads UID or UID:GID; nil for none.
func parseUser(text string) (*local.Owner, error) {
	if text == "" {
		return nil, nil
	}
	uid, gid, both := strings.Cut(text, ":")
	if !both {
		gid = uid
	}
	u, err := strconv.ParseUint(uid, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("%q is no UID or UID:GID", text)
	}
	g, err := strconv.ParseUint(gid, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("%q is no UID or UID:GID", text)
	}
	if u == 0 || g == 0 {
		return nil, fmt.Errorf("%q is root; name a user without rights", text)
	}
	if me := os.Getuid(); me != 0 && (int(u) != me || int(g) != os.Getgid()) {
		return nil, fmt.Errorf("%q is another user than that of the service, %d:%d, which takes root to give rooms to", text, me, os.Getgid())
	}
	return &local.Owner{UID: uint32(u), GID: uint32(g)}, nil
}

// identity is who agents run as.
type identity struct {
	user  string       // for the engine, UID:GID in the container
	owner *local.Owner // whom rooms are given to on this machine; nil: the service itself
}

// identify decides who agents run as on an engine. In the containers of a rootless engine root is the user that runs the
// engine, who is no root outside; any other user of a container could not read what the service writes.
func (c *Config) identify(f facts) identity {
	if f.rootless {
		var stat unix.Stat_t
		if os.Getuid() == 0 && unix.Stat(c.Socket, &stat) == nil && stat.Uid != 0 {
			return identity{user: "0:0", owner: &local.Owner{UID: stat.Uid, GID: stat.Gid}}
		}
		return identity{user: "0:0"}
	}
	asked, _ := parseUser(c.User) // problems has refused anything else
	uid, gid := os.Getuid(), os.Getgid()
	switch {
	case uid != 0:
		return identity{user: fmt.Sprintf("%d:%d", uid, gid)}
	case asked == nil:
		asked = &local.Owner{UID: defaultUser, GID: defaultUser}
	}
	return identity{user: fmt.Sprintf("%d:%d", asked.UID, asked.GID), owner: asked}
}

// accounts are the files that give the user of an agent a name and a home, whatever the image has: tools ask for them.
func accounts(id identity, home string) (passwd, group string) {
	uid, gid, _ := strings.Cut(id.user, ":")
	if uid == "0" {
		return "root:x:0:0:agent:" + home + ":/bin/sh\n", "root:x:0:\n"
	}
	passwd = "root:x:0:0:root:/root:/sbin/nologin\nagent:x:" + uid + ":" + gid + ":agent:" + home + ":/bin/sh\n"
	group = "root:x:0:\n"
	if gid != "0" {
		group += "agent:x:" + gid + ":\n"
	}
	return passwd, group
}
