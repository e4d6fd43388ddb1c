//go:build race

package shardmap

// raceEnabled tells that the race detector, which makes everything slow, is on.
const raceEnabled = true
