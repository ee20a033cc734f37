package explain

import (
	"context"

	"tcdbg/logs"
)

// Follow folds a growing store until ctx ends. changed, if not nil, is called
// after each batch of records; it may take a snapshot.
func Follow(ctx context.Context, st *logs.Store, f *Fold, changed func()) error {
	f.SetLive(true)
	err := st.Follow(ctx, f.Add, func() {
		f.touch() // a source may have come to its end without a record
		if changed != nil {
			changed()
		}
	})
	f.SetLive(false)
	if changed != nil {
		changed()
	}
	return err
}
