package backends

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tcdbg/tracer"
)

func TestCacheBuildsOnce(t *testing.T) {
	c := &cache{t.TempDir()}
	var builds atomic.Int32
	get := func() (string, bool) {
		path, hit, err := c.get("graph", "k", func(_, out string) error {
			builds.Add(1)
			return os.WriteFile(out, []byte("object"), 0o644)
		})
		if err != nil {
			t.Error(err)
		}
		return path, hit
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { // whoever comes first builds; a file is whole or not there
			path, _ := get()
			if b, err := os.ReadFile(path); err != nil || string(b) != "object" {
				t.Errorf("read %q, %v", b, err)
			}
		})
	}
	wg.Wait()
	n := builds.Load()
	if _, hit := get(); !hit || builds.Load() != n {
		t.Error("a later call built again")
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "build-*")); len(left) > 0 {
		t.Errorf("scratch folders are left: %v", left)
	}
}

func TestCacheKeySeparatesParts(t *testing.T) {
	if key("ab", "c") == key("a", "bc") {
		t.Error("the key does not tell where a part ends")
	}
}

func TestUnwritableCacheWarnsOnce(t *testing.T) {
	needCompiler(t)
	var said bytes.Buffer
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	set := NewSet(Config{CacheDir: filepath.Join(file, "below"), Stderr: &said})
	b, _ := set.Get("inductor")
	m, in := barModule()
	for range 2 {
		run, err := b.Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), m.Run(in), 1e-6); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(said.String(), "cannot write the cache folder"); n != 1 {
		t.Errorf("warned %d times:\n%s", n, said.String())
	}
	_ = os.RemoveAll(set.engine().cache.dir)
}

func TestNoCompilerIsSaidOnce(t *testing.T) {
	var said bytes.Buffer
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CC", "")
	set := NewSet(Config{CacheDir: t.TempDir(), Stderr: &said})
	b, _ := set.Get("inductor")
	m, in := barModule()
	for range 2 {
		run, err := b.Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), m.Run(in), 1e-6); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(said.String(), "in the interpreter"); n != 1 {
		t.Errorf("said %d times:\n%s", n, said.String())
	}
}

func TestUnknownBackendIsRefused(t *testing.T) {
	_, err := NewSet(Config{}).Get("tensorrt")
	if err == nil || !strings.Contains(err.Error(), "aot_eager, eager, inductor") {
		t.Errorf("error: %v", err)
	}
}

func TestModeIsRefusedByName(t *testing.T) {
	m, in := barModule()
	_, err := inductorAt(t, 0).Compile(&tracer.Request{Module: m, Example: in, Mode: "max-autotune"})
	if err == nil || !strings.Contains(err.Error(), "max-autotune") {
		t.Errorf("error: %v", err)
	}
}
