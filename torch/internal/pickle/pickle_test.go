package pickle

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// names is a Resolver that returns what it is asked for.
type names struct{}

func (names) Call(g Global, args Tuple) (any, error) { return Object{g, args}, nil }

func (names) Persistent(id any) (any, error) {
	t, ok := id.(Tuple)
	if !ok {
		return nil, errors.New("no tuple")
	}
	return Persistent{t}, nil
}

func sample() any {
	d := &Dict{}
	for k, v := range map[string]any{"a": 1} {
		_ = d.Set(k, v)
	}
	_ = d.Set(3, 2.5)
	return &List{Items: []any{
		nil, true, false, 0, 255, 256, 65536, -1, 1 << 40, -1 << 40, 1.5, "text",
		Tuple{},
		Tuple{1, "x", Tuple{2}},
		d,
		Object{Global{"m", "f"}, Tuple{"y"}},
		Persistent{Tuple{"storage", 7}},
	}}
}

func TestWriteReadsBack(t *testing.T) {
	text, err := Write(sample())
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(text, names{})
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("got %#v, %v", got, err)
	}
}

func TestMemoMeansTheSameObject(t *testing.T) {
	v, err := Read([]byte("\x80\x02]q\x00h\x00\x86."), names{})
	if err != nil {
		t.Fatal(err)
	}
	if p := v.(Tuple); p[0] != p[1] {
		t.Errorf("two lists: %v", p)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "ends without STOP",
		"\x80\x01.":                  "protocol 1 is not supported",
		"\x80\x02R.":                 "stack underflow",
		"\x80\x02h\x05.":             "memo entry 5 is not there",
		"\x80\x02X\xff\xff\xff\x7f.": "cut off",
		"\x80\x02t.":                 "no mark",
		"\x80\x02i.":                 `opcode 'i' at byte 2: not supported`,
		"\x80\x02]K\x01s.":           "stack underflow",
		"\x80\x02NK\x01b.":           "attributes for <nil>",
		"\x80\x02}))s.":              "dict key of type pickle.Tuple",
		"\x80\x02NNR.":               "a call of <nil>",
		"(.":                         "a mark where a value should be",
		"N(\x86.":                    "a mark where a value should be",
		"}(Ns.":                      "a mark where a value should be",
		"(q\x00h\x00.":               "a mark where a value should be",
	} {
		if _, err := Read([]byte(text), names{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	text, err := Write(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("\x80\x02]q\x00h\x00\x86."))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Read(data, names{})
		if err != nil {
			return
		}
		if strings.ContainsAny(string(data), "hj") { // with a memo, a value may hold itself
			return
		}
		if again, err := Write(v); err == nil {
			if _, err := Read(again, names{}); err != nil {
				t.Errorf("what was written does not read: %v", err)
			}
		}
	})
}
