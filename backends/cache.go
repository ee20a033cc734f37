package backends

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// cache keeps compiled code on disk under the hash of everything that it
// depends on. Several processes may share the folder: a file appears by rename,
// whole or not at all.
type cache struct{ dir string }

// openCache makes the folder, or a private one for this process where it cannot
// be written, which warn is told.
func openCache(dir string, warn func(format string, args ...any)) (*cache, error) {
	if dir == "" {
		dir = defaultCacheDir()
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = writable(dir)
	}
	if err == nil {
		return &cache{dir}, nil
	}
	tmp, terr := os.MkdirTemp("", "tcdbg-cache-")
	if terr != nil {
		return nil, fmt.Errorf("no folder for compiled code: %w; %w", err, terr)
	}
	warn("cannot write the cache folder %s (%v): compiled code is kept for this run only", dir, err)
	return &cache{tmp}, nil
}

func defaultCacheDir() string {
	if d := os.Getenv("XDG_CACHE_HOME"); d != "" {
		return filepath.Join(d, "tcdbg")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "tcdbg-cache")
	}
	return filepath.Join(home, ".cache", "tcdbg")
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, "probe-")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// key hashes the parts, each with its length.
func key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// get returns the shared object for the key, made by build when it is not there.
// build writes its result to the path it is given; dir is a scratch folder.
func (c *cache) get(kind, key string, build func(dir, out string) error) (path string, hit bool, err error) {
	path = filepath.Join(c.dir, kind+"-"+key+".so")
	if st, err := os.Stat(path); err == nil && st.Size() > 0 {
		return path, true, nil
	}
	dir, err := os.MkdirTemp(c.dir, "build-")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out := filepath.Join(dir, "out.so")
	if err := build(dir, out); err != nil {
		return "", false, err
	}
	if err := os.Rename(out, path); err != nil {
		return "", false, err
	}
	return path, false, nil
}
