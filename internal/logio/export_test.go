package logio

// SetSidecarRows makes sidecars small.
func (l *Log) SetSidecarRows(n int) { l.sidecarRows = n }
