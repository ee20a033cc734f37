//go:build !race

package backends

// raceDetector tells that pools drop what they are given at random.
const raceDetector = false
