package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/wardroom/wardroom/sdk/execcredential"
	"github.com/wardroom/wardroom/sdk/secret"
	"github.com/wardroom/wardroom/sdk/secret/source"
)

const (
	reconnectPause = time.Second // at the least, between two connections for the same cause
	watchTime      = 5 * time.Minute
	minPause       = time.Second
	maxPause       = 30 * time.Second
)

// store reads a cluster.
type store struct {
	config   Config
	log      hclog.Logger
	provider *source.Provider
	watched  time.Duration // how long a watch is asked for at the least, and half of the most

	mu        sync.Mutex // guards all below
	conn      *connection
	connected time.Time
	unwatched map[string]bool // places that the cluster does not let be watched
}

var (
	_ source.Source   = (*store)(nil)
	_ source.Follower = (*store)(nil)
)

func open(c Config, log hclog.Logger) *store {
	s := &store{config: c, log: log, watched: watchTime, unwatched: map[string]bool{}}
	s.provider = source.New(source.Options{Source: s, Interval: c.poll})
	return s
}

func (s *store) close(context.Context) error {
	s.provider.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.close()
	}
	return nil
}

var (
	namePattern      = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	namespacePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// Locate implements source.Source: a path is a name, or a namespace and a name. The empty one is that of secretRef, whose
// key goes behind its place. A namespace that nothing names is left to the connection.
func (s *store) Locate(path string) (string, error) {
	if path == "" {
		ref := s.config.SecretRef
		if ref.Name == "" {
			return "", &secret.Error{Code: secret.CodeInvalidRef, Message: "a reference without a path needs secretRef in the configuration of the provider"}
		}
		return s.config.Namespace + "/" + ref.Name + "#" + ref.Key, nil
	}
	namespace, name, has := strings.Cut(path, "/")
	if !has {
		namespace, name = s.config.Namespace, path
	}
	if !namePattern.MatchString(name) || has && !namespacePattern.MatchString(namespace) {
		return "", &secret.Error{
			Code: secret.CodeInvalidRef, Message: "the path of a secret of a cluster is NAME or NAMESPACE/NAME, of lower-case letters, digits, - and .",
			Hint: "write it as agents/db#password",
		}
	}
	return namespace + "/" + name, nil
}

// split returns the parts of a place, without a key.
func split(place string) (namespace, name string) {
	place, _, _ = strings.Cut(place, "#")
	namespace, name, _ = strings.Cut(place, "/")
	return namespace, name
}

// connection returns the one to the cluster. After a failure that another reading of the files may mend, another one is
// made.
func (s *store) connection(failed *connection) (*connection, *secret.Error) {
	s.mu.Lock()
	made, before, err := s.connect(failed)
	s.mu.Unlock()
	if before != nil { // a call that waits for its credential goes on with the new one
		before.close()
	}
	return made, err
}

// connect is connection; before is the one that another one took the place of. mu is held.
func (s *store) connect(failed *connection) (conn, before *connection, err *secret.Error) {
	if s.conn != nil && (s.conn != failed || time.Since(s.connected) < reconnectPause) {
		return s.conn, nil, nil
	}
	made, err := s.config.connect()
	if err != nil {
		if s.conn != nil {
			return s.conn, nil, nil
		}
		return nil, nil, err
	}
	before = s.conn
	s.conn, s.connected = made, time.Now()
	return made, before, nil
}

// Read implements source.Source.
func (s *store) Read(ctx context.Context, place string) (source.Entry, error) {
	object, err := s.get(ctx, place)
	if err != nil {
		return source.Entry{}, err
	}
	return entryOf(place, object)
}

// get reads a secret.
func (s *store) get(ctx context.Context, place string) (*corev1.Secret, *secret.Error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	object := &corev1.Secret{}
	shown := place // with its namespace, when that is known
	failed := s.ask(func(conn *connection) error {
		namespace, name := conn.split(place)
		shown = namespace + "/" + name
		return conn.rest.Get().Namespace(namespace).Resource("secrets").Name(name).Do(ctx).Into(object)
	})
	if failed != nil {
		return nil, s.config.fault(ctx, failed, "get", shown)
	}
	return object, nil
}

// ask makes a request. An account or an authority that is not known makes it read the files anew, once.
func (s *store) ask(request func(*connection) error) error {
	conn, problem := s.connection(nil)
	if problem != nil {
		return problem
	}
	err := request(conn)
	if !apierrors.IsUnauthorized(err) && !untrusted(err) && !errors.Is(err, execcredential.ErrClosed) {
		return err
	}
	again, problem := s.connection(conn)
	if problem != nil || again == conn {
		return err
	}
	return request(again)
}

// split returns the parts of a place, with the namespace of the connection where it has none.
func (c *connection) split(place string) (namespace, name string) {
	if namespace, name = split(place); namespace == "" {
		namespace = c.namespace
	}
	return namespace, name
}

// entryOf turns an object into what is at a place.
func entryOf(place string, object *corev1.Secret) (source.Entry, error) {
	entry := source.Entry{Fields: object.Data, Version: object.ResourceVersion}
	if entry.Fields == nil {
		entry.Fields = map[string][]byte{}
	}
	if _, key, has := strings.Cut(place, "#"); has && key != "" {
		value, ok := object.Data[key]
		if !ok {
			return source.Entry{}, secret.Errorf(secret.CodeNotFound, "the secret %s of secretRef has no key %s", object.Name, key)
		}
		entry.Whole = append([]byte{}, value...)
	}
	return entry, nil
}

// Follow implements source.Follower: it reads a secret and watches it from there on. What it missed, because the cluster
// keeps no changes as old as that, it reads again. Where it may not watch, it reads at intervals.
func (s *store) Follow(ctx context.Context, place string, saw func(source.Entry, error)) {
	defer s.watchable(place, true)
	var pause time.Duration
	for ctx.Err() == nil {
		object, failed := s.get(ctx, place)
		version := ""
		wait := time.Duration(0)
		switch {
		case failed == nil:
			entry, err := entryOf(place, object)
			saw(entry, err)
			version = object.ResourceVersion
		case failed.Code == secret.CodeNotFound:
			saw(source.Entry{}, failed) // it is watched for: a watch without a version begins with what is there
		default:
			saw(source.Entry{}, failed)
			pause = min(max(2*pause, minPause), maxPause)
			wait = pause
		}
		if wait == 0 {
			began := time.Now()
			err := s.watch(ctx, place, version, saw)
			switch {
			case ctx.Err() != nil:
				return
			case apierrors.IsForbidden(err):
				if s.watchable(place, false) {
					s.log.Warn("a secret cannot be watched", "hint", s.config.fault(ctx, err, "watch", place).Hint)
				}
				wait = s.config.poll
			case time.Since(began) > maxPause:
				pause = 0
			case err != nil && !apierrors.IsGone(err) && !apierrors.IsResourceExpired(err):
				pause = min(max(2*pause, minPause), maxPause)
				wait = pause
			default:
				pause = min(max(2*pause, 50*time.Millisecond), maxPause) // a watch that ends at once does not turn into a flood
				wait = pause
			}
		}
		timer := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// watch passes on the states of a secret from a version on, until the watch ends. The error says why, if it is one.
func (s *store) watch(ctx context.Context, place, version string, saw func(source.Entry, error)) error {
	conn, problem := s.connection(nil)
	if problem != nil {
		return problem
	}
	namespace, name := conn.split(place)
	life := s.watched + rand.N(s.watched)
	seconds := int64(life / time.Second)
	// The server ends it by then. A proxy may hold a stream open whose server is gone: that would be silent for ever.
	limited, cancel := context.WithTimeout(ctx, life+s.config.timeout)
	defer cancel()
	stream, err := conn.rest.Get().Namespace(namespace).Resource("secrets").VersionedParams(&metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), ResourceVersion: version, Watch: true,
		AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
	}, parameterCodec).Watch(limited)
	if err != nil {
		return err
	}
	defer stream.Stop()
	s.watchable(place, true)
	for {
		select {
		case <-limited.Done():
			return ctx.Err()
		case event, ok := <-stream.ResultChan():
			if !ok {
				return nil
			}
			switch object, is := event.Object.(*corev1.Secret); {
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			case !is || object.Name != name || event.Type == watch.Bookmark:
			case event.Type == watch.Deleted:
				saw(source.Entry{}, secret.Errorf(secret.CodeNotFound, "the secret %s/%s was deleted", namespace, name))
			default:
				entry, err := entryOf(place, object)
				saw(entry, err)
			}
		}
	}
}

// watchable notes whether a place can be watched, and returns whether that is new.
func (s *store) watchable(place string, can bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.unwatched[place]
	if can {
		delete(s.unwatched, place)
	} else {
		s.unwatched[place] = true
	}
	return was == can
}
