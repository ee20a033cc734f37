package codecache

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exported is a cache with two entries, one of them damaged where asked, as an archive.
func exported(t *testing.T, machine string, damage bool) (archive []byte, skipped int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	c := open(t, dir, 0)
	c.want("a", false)
	c.want("b", false)
	if damage {
		content, err := os.ReadFile(c.path("b"))
		if err != nil {
			t.Fatal(err)
		}
		content[0]++
		if err := os.WriteFile(c.path("b"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	list, skipped, err := Export(dir, machine, &out)
	if err != nil || len(list) != 2-skipped {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	return out.Bytes(), skipped
}

// TestCacheTravels: another machine of the same kind finds what was exported, and builds nothing.
func TestCacheTravels(t *testing.T) {
	archive, _ := exported(t, "m", false)
	dir := filepath.Join(t.TempDir(), "cache")
	added, have, err := Import(dir, "m", bytes.NewReader(archive), int64(len(archive)))
	if err != nil || len(added) != 2 || len(have) != 0 {
		t.Fatalf("%d added, %d there, %v", len(added), len(have), err)
	}
	c := open(t, dir, 0)
	c.want("a", true)
	c.want("b", true)
	added, have, err = Import(dir, "m", bytes.NewReader(archive), int64(len(archive)))
	if err != nil || len(added) != 0 || len(have) != 2 {
		t.Errorf("again: %d added, %d there, %v", len(added), len(have), err)
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 || list[0].Kind != "graph" {
		t.Errorf("%+v, %v", list, err)
	}
	if gone, err := Clear(dir); err != nil || len(gone) != 2 {
		t.Errorf("%d removed, %v", len(gone), err)
	}
	c.want("a", false)
}

// TestExportLeavesOutDamage: what is not whole does not travel.
func TestExportLeavesOutDamage(t *testing.T) {
	if _, skipped := exported(t, "m", true); skipped != 1 {
		t.Errorf("%d were left out", skipped)
	}
}

// TestNoCacheToList: where no cache is, none is made.
func TestNoCacheToList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if list, err := List(dir); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if gone, err := Clear(dir); err != nil || len(gone) != 0 {
		t.Errorf("%v, %v", gone, err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the folder is there now")
	}
}

// rezip is an archive whose files change makes others of.
func rezip(t *testing.T, archive []byte, change func(name string, content []byte) (string, []byte)) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		content, err := inflate(f, maxEntry)
		if err != nil {
			t.Fatal(err)
		}
		name, content := change(f.Name, content)
		if name == "" {
			continue
		}
		if err := store(w, name, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestImportRefuses: nothing is added of an archive that is not in all as export writes it.
func TestImportRefuses(t *testing.T) {
	archive, _ := exported(t, "m", false)
	entry := func(name string) bool { return name != manifestName }
	for what, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"another machine's": {func() []byte { a, _ := exported(t, "n", false); return a }(), ErrOtherMachine.Error()},
		"no archive":        {[]byte("zip"), "no archive"},
		"nothing":           {nil, "no archive"},
		"without manifest": {rezip(t, archive, func(name string, b []byte) (string, []byte) {
			if entry(name) {
				return name, b
			}
			return "", nil
		}), "no archive"},
		"of a later format": {rezip(t, archive, func(name string, b []byte) (string, []byte) {
			return name, bytes.Replace(b, []byte(`"version":1`), []byte(`"version":9`), 1)
		}), "version 9"},
		"with a changed byte": {rezip(t, archive, func(name string, b []byte) (string, []byte) {
			if entry(name) {
				b[3]++
			}
			return name, b
		}), errDamaged.Error()},
		"with another's name": {rezip(t, archive, func(name string, b []byte) (string, []byte) {
			if entry(name) {
				name = "graph-" + strings.Repeat("0", 32) + ".so"
			}
			return name, b
		}), "no entry of a cache"},
		"with a path": {rezip(t, archive, func(name string, b []byte) (string, []byte) {
			if entry(name) {
				name = "../" + name
			}
			return name, b
		}), "no entry of a cache"},
		"with something else": {rezip(t, archive, func(name string, b []byte) (string, []byte) {
			if entry(name) {
				return "lock-00", []byte("x")
			}
			return name, b
		}), errDamaged.Error()},
	} {
		dir := filepath.Join(t.TempDir(), "cache")
		added, _, err := Import(dir, "m", bytes.NewReader(c.archive), int64(len(c.archive)))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(added) != 0 {
			t.Errorf("%s: %d added, %v; want %q", what, len(added), err, c.want)
		}
		if list, _ := List(dir); len(list) != 0 {
			t.Errorf("%s: %d entries are there", what, len(list))
		}
	}
}

// TestImportIsBounded: an entry that is larger than it may be is not read.
func TestImportIsBounded(t *testing.T) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	if err := store(w, "x", make([]byte, 5<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inflate(z.File[0], 1<<20); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("%v", err)
	}
}

// FuzzImport: whatever an archive holds, what it adds is whole.
func FuzzImport(f *testing.F) {
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			return
		}
		contents, err := unpack(z, "m")
		if err != nil {
			return
		}
		for i, f := range z.File[1:] {
			if err := wholeEntry(f.Name, contents[i]); err != nil {
				t.Error(err)
			}
		}
	})
}
