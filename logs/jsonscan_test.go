package logs

import (
	"bytes"
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
)

// TestSkipString: eight bytes at a time are read as one at a time, wherever
// quotes and backslashes fall.
func TestSkipString(t *testing.T) {
	plainly := func(b []byte, i int) int {
		for i++; i < len(b); i++ {
			switch b[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return -1
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const letters = `""\\\\#]!a` // neighbours of both in the code table, too
	for range 200_000 {
		b := make([]byte, 1+rng.IntN(40))
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		b[0] = '"'
		if got, want := skipString(b, 0), plainly(b, 0); got != want {
			t.Fatalf("%s ends at %d, want %d", b, got, want)
		}
	}
}

// sameFields checks that a record knows the fields that its metadata has.
func sameFields(t *testing.T, r *Record) {
	t.Helper()
	var known, read []byte
	list := func(out *[]byte) func(k, v []byte) bool {
		return func(k, v []byte) bool {
			*out = append(append(append(append(*out, k...), 0), v...), 0)
			return true
		}
	}
	r.EachField(list(&known))
	EachField(r.Meta(), list(&read))
	if !bytes.Equal(known, read) {
		t.Errorf("record %d has the fields\n%q, its metadata\n%q", r.Seq, known, read)
	}
}

// TestFields: the fields that were noted while a header was read are those of
// the metadata, on records that are borrowed, kept, loaded and changed.
func TestFields(t *testing.T) {
	path := file(t, "fields.log", prefix+`{"a": {"k": "v", "l": {"k": 1}, "": []}, "frame_id": 0}`+"\n"+
		prefix+`{"frame_id": 1, "b": ["k", 1]}`+"\n"+prefix+`{"c": {"m": 2, "k" 1}, "d": {"e": 1}}`+"\n"+prefix+`{"d": {}}`+"\n"+
		prefix+`{"artifact": {"name": "n", "k": "w"}}`+"\n")
	st, err := Open([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var kept []*Record
	if err := st.Read(context.Background(), func(r *Record) {
		sameFields(t, r)
		kept = append(kept, r.Keep())
	}); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 5 || string(kept[0].Field("k")) != `"v"` || kept[1].Field("k") != nil || string(kept[4].Field("k")) != `"w"` {
		t.Errorf("%d records in %s", len(kept), filepath.Base(path))
	}
	for i, r := range kept {
		sameFields(t, r)
		if again, err := st.Record(i); err != nil {
			t.Error(err)
		} else {
			sameFields(t, again)
		}
		r.SetMeta([]byte(`{"k": 2}`))
		sameFields(t, r)
	}
}
