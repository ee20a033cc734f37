package fold

import "testing"

// TestTogether: the record marks decisions of its graph, and numbers that there are not are passed over.
func TestTogether(t *testing.T) {
	of := func(name, data string) string {
		return payload(`{"artifact": {"name": "tcdbg_`+name+`", "encoding": "json"}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0`,
			`{"v": 1, "data": `+data+`}`)
	}
	r := foldText(t, of("fusion_step", `{"A": "op0", "B": "op1", "kind": "vertical", "score": 8}`)+
		of("fusion_step", `{"A": "op1", "B": "op2", "kind": "vertical", "score": 8}`)+of("together", `{"steps": [1, 2, -1]}`))
	if len(r.Fusions) != 1 || len(r.Fusions[0].Steps) != 2 {
		t.Fatalf("%+v", r.Fusions)
	}
	if s := r.Fusions[0].Steps; s[0].Together || !s[1].Together {
		t.Errorf("%+v", s)
	}
}
