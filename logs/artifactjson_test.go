package logs

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzPassStep holds what a step of a pass is written as against encoding/json.
func FuzzPassStep(f *testing.F) {
	for _, s := range []string{"", "a\nb\t\"c\" \\ <x> & y\x00\x1f\x7f\b\f\r", "\u2028 é \xff tail\n", "x := a[0] -> b"} {
		f.Add(s, s+"\n", int64(12))
	}
	f.Fuzz(func(t *testing.T, before, after string, us int64) {
		likeJSON(t, PassStep{Stage: "aot", Pass: before, Index: int(us % 99), Before: before, After: after, Micros: us})
	})
}

// likeJSON holds what an artifact is written as against encoding/json.
func likeJSON(t *testing.T, a Versioned) {
	t.Helper()
	_, v := a.ArtifactName()
	want, err := json.Marshal(struct {
		V    int       `json:"v"`
		Data Versioned `json:"data"`
	}{v, a})
	if err != nil {
		t.Fatal(err)
	}
	if got := Artifact(NoCompile, a).Payload; string(got) != string(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzLongArtifacts holds the others that are not written by encoding/json against it. Every field is set in turn, so that one which
// is new and not written fails.
func FuzzLongArtifacts(f *testing.F) {
	f.Add("")
	f.Add("a\tb\r\n\"<c>\" \u2028 \xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, a := range []any{new(TraceSteps), new(Guards), new(GraphCode)} {
			v := reflect.ValueOf(a).Elem()
			likeJSON(t, v.Interface().(Versioned))
			filled(v, s, 1, func() { likeJSON(t, v.Interface().(Versioned)) })
		}
	})
}

// filled sets the fields of a value one after the other and calls f after each.
func filled(v reflect.Value, s string, n int64, f func()) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s + "x")
	case reflect.Int:
		v.SetInt(n)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		f()
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(1), s, n+1, f)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), s, n+int64(i), f)
		}
	default:
		panic(v.Kind().String())
	}
	f()
}
