package edgemill

import "context"

// Alter reads a schema text and puts it in force.
func (db *DB) Alter(ctx context.Context, text string) error { panic("unwritten") }

// recoverAlter finishes or undoes an Alter that a crash ended.
func (db *DB) recoverAlter(ctx context.Context) error { return nil }
