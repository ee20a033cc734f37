package codecache

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// tried is a cache whose warnings are kept.
type tried struct {
	*Cache
	t      *testing.T
	builds atomic.Int64
	mu     sync.Mutex
	said   []string
}

func open(t *testing.T, dir string, limit int64) *tried {
	t.Helper()
	c := &tried{t: t}
	var err error
	c.Cache, err = Open(dir, limit, func(format string, args ...any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.said = append(c.said, fmt.Sprintf(format, args...))
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get asks for the code that is made of a text, which is the text itself. What is loaded
// must be what was built.
func (c *tried) get(text string) (hit bool, err error) {
	return c.Load(Request{
		Kind: "graph", Parts: []string{text},
		Build: func(_, out string) error {
			c.builds.Add(1)
			return errors.Join(os.WriteFile(out, []byte("code of "+text), 0o600), os.Chmod(out, 0o777)) // as under umask 0
		},
		Load: func(path string) error {
			got, err := os.ReadFile(path)
			if err == nil && !bytes.HasPrefix(got, []byte("code of "+text)) {
				c.t.Errorf("%q was loaded for %s", got, text)
			}
			return err
		},
	})
}

func (c *tried) want(text string, hit bool) {
	c.t.Helper()
	if got, err := c.get(text); err != nil || got != hit {
		c.t.Errorf("%s: hit %t, %v; want %t", text, got, err, hit)
	}
}

func (c *tried) path(text string) string {
	r := Request{Kind: "graph", Parts: []string{text}}
	return filepath.Join(c.dir, r.Name())
}

// TestEntriesAreShared wants an entry built once, whoever asks for it.
func TestEntriesAreShared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, 0)
	c.want("a", false)
	c.want("a", true)
	c.want("b", false)
	open(t, dir, 0).want("a", true)
	if len(c.said) > 0 {
		t.Errorf("it said %q", c.said)
	}
}

// TestEveryBitCounts flips bits, cuts entries off and puts one in the place of another:
// none of it is loaded, each is said once and built again.
func TestEveryBitCounts(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "cache"), 0)
	c.want("a", false)
	c.want("b", false)
	whole, err := os.ReadFile(c.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(c.path("b"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := [][]byte{nil, []byte("junk"), whole[:len(whole)-1], whole[:trailerSize], append(bytes.Clone(whole), 0), other}
	for range 600 {
		b := bytes.Clone(whole)
		b[rand.IntN(len(b))] ^= 1 << rand.IntN(8)
		damaged = append(damaged, b)
	}
	for i, b := range damaged {
		if err := os.WriteFile(c.path("a"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		c.want("a", false)
		if len(c.said) != i+1 {
			t.Fatalf("after %d damaged entries %d messages, the last %q", i+1, len(c.said), c.said)
		}
		c.want("a", true)
	}
	if n := c.builds.Load(); n != int64(2+len(damaged)) {
		t.Errorf("%d builds", n)
	}
}

// TestForeignEntries wants links, pipes, folders and what others may write refused, and
// what links lead to untouched.
func TestForeignEntries(t *testing.T) {
	for name, plant := range map[string]func(c *tried, path string) error{
		"link out": func(c *tried, path string) error {
			to := filepath.Join(t.TempDir(), "planted")
			if err := os.WriteFile(to, []byte("code of a"), 0o600); err != nil {
				return err
			}
			return os.Symlink(to, path)
		},
		"link within": func(c *tried, path string) error { return os.Symlink(filepath.Base(c.path("b")), path) },
		"pipe":        func(_ *tried, path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":      func(_ *tried, path string) error { return os.Mkdir(path, 0o700) },
		"writable by all": func(c *tried, path string) error {
			c.want("a", false)
			return os.Chmod(path, 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, filepath.Join(t.TempDir(), "cache"), 0)
			c.t = t
			c.want("b", false)
			if err := plant(c, c.path("a")); err != nil {
				t.Fatal(err)
			}
			c.want("a", false)
			c.want("a", true)
			if len(c.said) != 1 {
				t.Errorf("it said %q", c.said)
			}
		})
	}
}

// TestFolders wants folders refused in which others could have put code, and wide modes of
// the user's own narrowed.
func TestFolders(t *testing.T) {
	none := func(string, ...any) {}
	base := t.TempDir()
	if _, err := Open("cache", 0, none); err == nil {
		t.Error("a relative folder was opened")
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(link, 0, none); err == nil {
		t.Error("a link was opened")
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, 0, none); err == nil {
		t.Error("a file was opened")
	}
	wide := filepath.Join(base, "wide")
	if err := os.Mkdir(wide, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(wide, 0o777); err != nil {
		t.Fatal(err)
	}
	open(t, wide, 0).want("a", false)
	if st, err := os.Stat(wide); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", st.Mode(), err)
	}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(base, "foreign")
		if err := errors.Join(os.Mkdir(foreign, 0o777), os.Chown(foreign, 12345, 12345)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(foreign, 0, none); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("a folder of another user: %v", err)
		}
		c := open(t, filepath.Join(base, "own"), 0)
		c.want("a", false)
		if err := os.Chown(c.path("a"), 12345, 12345); err != nil {
			t.Fatal(err)
		}
		c.want("a", false)
	}
}

// TestDefaultDir wants no folder of an environment that names none for the user.
func TestDefaultDir(t *testing.T) {
	for _, c := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/tcdbg"},
		{"", "/h", "/h/.cache/tcdbg"},
		{"rel", "/h", ""},
		{"", "", ""},
		{"", "rel", ""},
	} {
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		if got, err := DefaultDir(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// TestJunkIsNotKept wants code that cannot be loaded refused with the loader's error, and
// built again by the next who asks.
func TestJunkIsNotKept(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "cache"), 0)
	broken := errors.New("no code")
	_, err := c.Load(Request{
		Kind: "graph", Parts: []string{"a"},
		Build: func(_, out string) error { return os.WriteFile(out, []byte("junk"), 0o600) },
		Load:  func(string) error { return broken },
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	_, err = c.Load(Request{
		Kind: "graph", Parts: []string{"e"},
		Build: func(_, out string) error { return os.WriteFile(out, nil, 0o600) },
		Load:  func(string) error { return nil },
	})
	if err == nil {
		t.Error("an empty file was loaded")
	}
	c.want("a", false)
	c.want("a", true)
}

// TestOneBuilds has many ask at once, and wants one to build.
func TestOneBuilds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var builds atomic.Int64
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			c := open(t, dir, 0)
			_, err := c.Load(Request{
				Kind: "graph", Parts: []string{"a"},
				Build: func(_, out string) error {
					builds.Add(1)
					time.Sleep(20 * time.Millisecond)
					return os.WriteFile(out, []byte("code of a"), 0o600)
				},
				Load: func(string) error { return nil },
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if builds.Load() != 1 {
		t.Errorf("%d builds", builds.Load())
	}
}

// TestStaleBuildsAreSwept wants build folders of dead processes gone at the next start, and
// those of living ones kept.
func TestStaleBuildsAreSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, 0)
	_, err := c.Load(Request{
		Kind: "graph", Parts: []string{"a"},
		Build: func(build, out string) error {
			digits := strings.TrimPrefix(filepath.Base(build), buildPrefix)[:2]
			other := "00"
			if digits == other {
				other = "01"
			}
			stale := filepath.Join(dir, buildPrefix+other+"-1-1")
			if err := errors.Join(os.Mkdir(stale, 0o700), os.WriteFile(filepath.Join(stale, "unit0.c"), nil, 0o600)); err != nil {
				return err
			}
			open(t, dir, 0)
			if _, err := os.Stat(stale); err == nil {
				t.Error("the folder of a process that is gone was kept")
			}
			if _, err := os.Stat(build); err != nil {
				t.Error("the folder of a build that goes on was removed")
			}
			return os.WriteFile(out, []byte("code of a"), 0o600)
		},
		Load: func(string) error { return nil },
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLimit wants what was not used for the longest time to go first, and the newest to
// stay.
func TestLimit(t *testing.T) {
	size := int64(len("code of 00") + trailerSize)
	c := open(t, filepath.Join(t.TempDir(), "cache"), 10*size)
	for i := range 10 {
		c.want(fmt.Sprintf("%02d", i), false)
		old := time.Now().Add(-time.Duration(100-i) * time.Hour)
		if err := os.Chtimes(c.path(fmt.Sprintf("%02d", i)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	c.want("00", true) // used again: now the newest
	c.want("10", false)
	c.want("00", true)
	for _, i := range []int{1, 2} {
		if _, err := os.Stat(c.path(fmt.Sprintf("%02d", i))); err == nil {
			t.Errorf("entry %d was kept", i)
		}
	}
	for _, i := range []int{3, 9, 10} {
		if _, err := os.Stat(c.path(fmt.Sprintf("%02d", i))); err != nil {
			t.Errorf("entry %d is gone", i)
		}
	}
}

// TestSeed: a cache that another seeds has the runtime library of it and nothing else, and
// trusts it no more than what it has made itself.
func TestSeed(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	load := func(c *tried, kind string) (hit bool) {
		hit, err := c.Load(Request{
			Kind: kind, Parts: []string{"text"},
			Build: func(_, out string) error { return os.WriteFile(out, []byte("code"), 0o600) },
			Load:  func(string) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return hit
	}
	c := open(t, from, 0)
	load(c, Runtime)
	load(c, "graph")
	Seed(to, from)
	seeded := open(t, to, 0)
	if !load(seeded, Runtime) || load(seeded, "graph") {
		t.Error("what is in the cache is not the runtime library alone")
	}

	entry := Request{Kind: Runtime, Parts: []string{"text"}}
	if err := os.WriteFile(filepath.Join(from, entry.Name()), []byte("other code"), 0o600); err != nil {
		t.Fatal(err)
	}
	to = filepath.Join(t.TempDir(), "to")
	Seed(to, from)
	damaged := open(t, to, 0)
	if load(damaged, Runtime) || len(damaged.said) != 1 {
		t.Errorf("damaged code is loaded: %q", damaged.said)
	}
	Seed(filepath.Join(t.TempDir(), "none"), filepath.Join(from, "none"))
}
