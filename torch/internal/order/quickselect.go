package order

// QuickSelect brings the k-th smallest element to position k: Hoare's selection with the
// median of three, step for step as Numerical Recipes has it, since the steps decide
// which of equal elements it is.
func QuickSelect(s []int, k int, greater func(a, b int) bool) {
	swap := func(i, j int) { s[i], s[j] = s[j], s[i] }
	order := func(i, j int) {
		if greater(s[i], s[j]) {
			swap(i, j)
		}
	}
	left, right := 0, len(s)-1
	for right > left+1 {
		swap((left+right)/2, left+1) // the median of three becomes the pivot
		order(left+1, right)
		order(left, right)
		order(left+1, left)
		i, j, pivot := left+1, right, s[left]
		for {
			for i++; greater(pivot, s[i]); i++ {
			}
			for j--; greater(s[j], pivot); j-- {
			}
			if j < i {
				break
			}
			swap(i, j)
		}
		swap(left, j)
		if j <= k {
			left = i
		}
		if j >= k {
			right = j - 1
		}
	}
	if right == left+1 {
		order(left, right)
	}
}
