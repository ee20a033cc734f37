package logs

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packed is n bytes of one record that packs very well, as .gz and as .zst.
func packed(t *testing.T, n int) map[string]string {
	text := oneRecord + strings.Repeat("\taaaaaaaaaaaaaaa\n", n/17)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"a.log.gz": gz(t, text), "a.log.zst": b.String()}
}

// TestArchivesAreBounded: what an archive holds beyond the limits is not read; what came before
// is, and the source says where it stopped.
func TestArchivesAreBounded(t *testing.T) {
	for name, archive := range packed(t, 20<<20) {
		for _, c := range []struct {
			limits
			want string // "" where all is read
		}{
			{limits{1 << 20, 1 << 20, 1 << 30, 1 << 30}, "unpack to more than 1 MB"},
			{limits{1 << 30, 50, 1 << 20, 1 << 30}, "more than 50 times its size"},
			{limits{1 << 30, 1 << 20, 0, 1 << 30}, ""},
			{limits{1 << 30, 50, 1 << 30, 1 << 30}, ""},
		} {
			for _, follow := range []bool{false, true} {
				o := Options{limits: c.limits, Follow: follow, Stdin: strings.NewReader(archive)}
				o.SpoolMemory, o.SpoolDir = 1<<10, t.TempDir()
				path := "-"
				if !follow {
					path = file(t, name, archive)
				}
				st, err := Open([]string{path}, o)
				if err != nil {
					t.Fatal(err)
				}
				read := st.Read
				if follow {
					read = func(ctx context.Context, each func(*Record)) error { return st.Follow(ctx, each, nil) }
				}
				err = read(t.Context(), func(*Record) {})
				said := st.Sources()[0].Err
				if err != nil || (said == nil) != (c.want == "") || said != nil && !strings.Contains(said.Error(), c.want) {
					t.Errorf("%s, followed %v, %v: %v, said %v", name, follow, c.limits, err, said)
				}
				if got := st.unpacked.Load(); c.want != "" && got > 4<<20 || st.Len() == 0 {
					t.Errorf("%s, followed %v, %v: %d bytes were unpacked, %d records", name, follow, c.limits, got, st.Len())
				}
				st.Close()
			}
		}
	}
}

// TestStandardLimits: a trace that packs as real ones do is read whole, and one that is made
// to fill a disk is not: 2 MB of archive held 20 GB.
func TestStandardLimits(t *testing.T) {
	dir := t.TempDir()
	name := dir + "/bomb.log.zst"
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte("\taaaaaaaaaaaaaa\n"), 1<<16)
	_, _ = w.Write([]byte(oneRecord))
	for range (3 * freeUnpacked) >> 20 {
		_, _ = w.Write(block)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	st, err := Open([]string{name}, Options{SpoolDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Read(t.Context(), func(*Record) {}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := st.unpacked.Load(); got > freeUnpacked+(4<<20) || st.Sources()[0].Err == nil {
		t.Errorf("%d MB were unpacked, %v", got>>20, st.Sources()[0].Err)
	}
	if held := int64(after.HeapSys) - int64(before.HeapSys); held > 512<<20 {
		t.Errorf("the heap grew by %d MB", held>>20)
	}
}

// TestPipesAreBounded: what a pipe brings beyond the limit is not kept; what came before is read, the
// source says where it stopped, and the program that writes into the pipe goes on.
func TestPipesAreBounded(t *testing.T) {
	for name, line := range map[string]string{"trace": "\tpayload of a record\n", "text": "a line of a log\n"} {
		for _, follow := range []bool{false, true} {
			in, out := io.Pipe()
			written := make(chan error, 1)
			go func() {
				_, err := io.WriteString(out, map[string]string{"trace": oneRecord, "text": pipedLine}[name])
				for range 300 {
					if err == nil {
						_, err = io.WriteString(out, strings.Repeat(line, 1000))
					}
				}
				written <- err
				_ = out.Close()
			}()
			o := Options{limits: limits{1 << 30, 1 << 20, 1 << 30, 1 << 20}, Follow: follow, Stdin: in}
			o.SpoolMemory, o.SpoolDir = 1<<10, t.TempDir()
			st, err := Open([]string{"-"}, o)
			if err != nil {
				t.Fatal(err)
			}
			read := st.Read
			if follow {
				read = func(ctx context.Context, each func(*Record)) error { return st.Follow(ctx, each, nil) }
			}
			err = read(t.Context(), func(*Record) {})
			said := st.Sources()[0].Err
			const want = "it brought 1 MB, what came after that is not read"
			if err != nil || said == nil || !strings.Contains(said.Error(), want) || st.Len() == 0 {
				t.Errorf("%s, followed %v: %v, said %v, %d records", name, follow, err, said, st.Len())
			}
			if follow {
				if err := <-written; err != nil {
					t.Errorf("%s: the program that writes: %v", name, err)
				}
			}
			if f := st.spools.file(); f != nil {
				if info, err := f.Stat(); err != nil || info.Size() > 4<<20 {
					t.Errorf("%s, followed %v: %d bytes are kept, %v", name, follow, info.Size(), err)
				}
			}
			st.Close()
			_ = in.Close()
		}
	}
}

const pipedLine = "V1122 10:00:00.000000 1 torch/_dynamo/guards.py:1 [0/0] [__guards] GUARDS:\n"
