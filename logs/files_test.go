//go:build linux

package logs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// openOf is how many descriptors of this process lead into a folder.
func openOf(t *testing.T, dir string) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// manyFiles writes a trace a rank: plain ones, archives and text logs.
func manyFiles(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		var b bytes.Buffer
		w := testWriter(&b)
		w.Emit(Text(CompileID{Frame: i}, "dynamo_graph_break_reason", fmt.Sprint("of rank ", i)))
		name, text := fmt.Sprintf("rank_%d.log", i), b.String()
		switch i % 5 {
		case 3:
			name, text = name+".gz", gz(t, text)
		case 4:
			text = fmt.Sprintf("V1122 10:00:00.000000 1 torch/_dynamo/guards.py:1 [%d/0] [__guards] GUARDS:\n", i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFewDescriptors: any number of files is read with a few descriptors, and every record
// can be loaded afterwards, by several goroutines too.
func TestFewDescriptors(t *testing.T) {
	dir := t.TempDir()
	const n, most = 60, 4
	manyFiles(t, dir, n)
	st, recs := readAll(t, Options{openFiles: most, SpoolMemory: 100, SpoolDir: dir}, dir)
	if len(recs) < n {
		t.Fatalf("%d records of %d files", len(recs), n)
	}
	if got := openOf(t, dir); got > most+1 { // and the spool
		t.Errorf("%d files are open", got)
	}
	texts := make([]string, len(recs)) // here: a record is one goroutine's
	for i, r := range recs {
		texts[i] = r.Text()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, want := range recs {
				r, err := st.Record(i)
				if err != nil || r.Text() != texts[i] || r.Key() != want.Key() {
					t.Errorf("record %d: %v, %v", i, r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if got := openOf(t, dir); got > most+1 {
		t.Errorf("%d files are open", got)
	}
	if err := st.Close(); err != nil || openOf(t, dir) != 0 {
		t.Errorf("%d files stay open, %v", openOf(t, dir), err)
	}
}

// TestFollowWithFewDescriptors: what is added to any of many followed files is read, once.
func TestFollowWithFewDescriptors(t *testing.T) {
	dir := t.TempDir()
	const n, most = 40, 4
	const record = `V1121 12:00:00.000000 7 torch/a.py:1] {"artifact": {"name": "x", "encoding": "string"}}` + "\n"
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("rank_%d.log", i))
		if err := os.WriteFile(name, []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := Open([]string{dir}, Options{Follow: true, openFiles: most})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := map[int]int{}
	rounds := 0
	err = st.Follow(ctx, func(r *Record) { seen[r.Source]++ }, func() {
		for i := range n {
			if seen[i] != rounds+1 {
				return
			}
		}
		if got := openOf(t, dir); got > most+1 { // and the watch
			t.Errorf("%d files are open", got)
		}
		if rounds++; rounds == 3 {
			cancel()
			return
		}
		for i := range n {
			f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("rank_%d.log", i)), os.O_APPEND|os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString(record)
				f.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || rounds != 3 || st.Len() != 3*n {
		t.Errorf("%d rounds, %d records, %v", rounds, st.Len(), err)
	}
}

// TestReplacedFile: a file that was replaced while it was closed is not read as if
// it were the first.
func TestReplacedFile(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a.log", "b.log", "c.log"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte(oneRecord), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, _ := readAll(t, Options{openFiles: 1}, paths...)
	if err := os.WriteFile(paths[0]+".new", []byte(strings.Replace(oneRecord, `"x"`, `"y"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(paths[0]+".new", paths[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(paths[1]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{paths[0] + ": " + errReplaced.Error(), paths[1] + ": " + errReplaced.Error(), ""} {
		if _, err := st.Record(i); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("record %d: %v", i, err)
		}
	}
}
