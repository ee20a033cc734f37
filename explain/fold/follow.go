package fold

import (
	"context"

	"tcdbg/logs"
)

// Follow folds a growing store until ctx ends or the store does. also, if not nil,
// gets every record after the fold.
func Follow(ctx context.Context, st *logs.Store, f *Fold, also func(*logs.Record)) error {
	each := f.Add
	if also != nil {
		each = func(r *logs.Record) {
			f.Add(r)
			also(r)
		}
	}
	f.SetLive(true)
	err := st.Follow(ctx, each, f.touch) // a source may come to its end without a record
	f.SetLive(false)
	return err
}
