package golden

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestWants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.go")
	src := "package main\n\nfoo() // want break GB0170; want graphs 2\nbar() // want recompile \"size; mismatch\" x\n"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Wants(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Want{{3, "break", []string{"GB0170"}}, {3, "graphs", []string{"2"}}, {4, "recompile", []string{"size; mismatch", "x"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestClose(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		got, want []float64
		ok        bool
	}{
		{[]float64{1, nan, inf}, []float64{1.0001, nan, inf}, true},
		{[]float64{1}, []float64{1.1}, false},
		{[]float64{nan}, []float64{1}, false},
		{[]float64{1}, []float64{inf}, false},
		{[]float64{1, 2}, []float64{1}, false},
	} {
		if diff := Close(c.got, c.want, Tolerance{Rel: 1e-3}); (diff == "") != c.ok {
			t.Errorf("Close(%v, %v) = %q", c.got, c.want, diff)
		}
	}
}

func TestDiffShowsTheLinesThatDiffer(t *testing.T) {
	d := Diff("a\nb\nc", "a\nx\nc")
	if !strings.Contains(d, "- b") || !strings.Contains(d, "+ x") || strings.Contains(d, "- c") {
		t.Errorf("diff is\n%s", d)
	}
}
