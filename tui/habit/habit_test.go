package habit

import (
	"reflect"
	"slices"
	"testing"
)

func TestHistory(t *testing.T) {
	var h History
	for _, s := range []string{"a", "b", "", "a", "c"} {
		h.Add(s)
	}
	if got := h.Texts(); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("%q", got)
	}
	h.Begin()
	var got []string
	typed := "dr"
	for _, n := range []int{-1, -1, -1, -1, 1, 1, 1, 1} {
		typed = h.Step(n, typed)
		got = append(got, typed)
	}
	if want := []string{"c", "a", "b", "b", "a", "c", "dr", "dr"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for range 3 * maxHistory {
		h.Add(string(rune('A' + len(h.list))))
	}
	if len(h.list) > maxHistory {
		t.Errorf("%d texts are kept", len(h.list))
	}
}

// A session is read back as it was written; what a stranger wrote in its place is no harm.
func TestSession(t *testing.T) {
	s := Session{
		Screen: "Breaks", Panes: map[string]Pane{"Breaks": {Row: "k", Filter: "<f>", Share: 0.3}},
		Marks: map[string]Mark{"a": {"Graph", "g"}}, Searches: []string{"x"},
	}
	if got := ReadSession(s.Text()); !reflect.DeepEqual(got, s) {
		t.Errorf("%+v, want %+v", got, s)
	}
	for _, bad := range []string{"", "{", "[]", `{"screen": 3}`, string(make([]byte, maxSession+1))} {
		if got := ReadSession([]byte(bad)); !reflect.DeepEqual(got, Session{}) {
			t.Errorf("%.20q: %+v", bad, got)
		}
	}
}

func TestSettings(t *testing.T) {
	themes := []string{"terminal", "dark"}
	s, bad := ReadSettings("# mine\n theme = dark # at night\ncolour = red\ntheme = pink\n", themes)
	if s != (Settings{"dark"}) || len(bad) != 2 {
		t.Errorf("%+v, %q", s, bad)
	}
	text := Change("# mine\ntheme = dark\n", ThemeName, "terminal")
	if want := "# mine\ntheme = terminal\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if got := Change("", ThemeName, "dark"); got != "theme = dark\n" {
		t.Errorf("%q", got)
	}
}
