package delta

import (
	"fmt"
	"strings"
)

// SidecarDir is the directory of the sidecars of V2 checkpoints below the table's root, with its
// slash.
const SidecarDir = LogDir + "_sidecars/"

// SidecarKey gives the key of a sidecar that a V2 checkpoint names: a relative path counts from
// SidecarDir, an absolute one, or a URI, must lie in it. root is the table's, a URL. A path that
// leads elsewhere wraps ErrUnsupported, one that is malformed or tries to climb ErrCorrupt.
func SidecarKey(root, path string) (string, error) {
	key, err := ResolvePath(root, path)
	if err != nil {
		return "", fmt.Errorf("sidecar: %w", err)
	}
	if _, absolute := splitURI(path); !absolute {
		return SidecarDir + key, nil
	}
	if below := strings.TrimPrefix(key, SidecarDir); below == key || below == "" {
		return "", fmt.Errorf("%w: the sidecar %s lies outside of %s, and idem reads none elsewhere", ErrUnsupported, path, SidecarDir)
	}
	return key, nil
}

// CheckpointUUIDKey is the key of the V2 checkpoint of a version in Parquet; id is a UUID that
// nobody else uses.
func CheckpointUUIDKey(version int64, id string) string {
	return fmt.Sprintf("%s%020d.checkpoint.%s.parquet", LogDir, version, id)
}

// CheckpointsV2 says whether the table asks for V2 checkpoints: it supports them and sets
// delta.checkpointPolicy.
func (s *Snapshot) CheckpointsV2() bool {
	return s.Protocol().Supports("v2Checkpoint") && checkpointPolicyV2(s.Metadata(), nil)
}

// CheckpointStats says in which forms checkpoints hold statistics: as text unless
// delta.checkpoint.writeStatsAsJson is false, in typed form if delta.checkpoint.writeStatsAsStruct is
// true, or absent while the text is not wanted.
func (s *Snapshot) CheckpointStats() (text, typed bool) {
	const keyText, keyTyped = "delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct"
	off, _ := s.Property(keyText)
	text = !strings.EqualFold(off, "false")
	on, set := s.Property(keyTyped)
	return text, strings.EqualFold(on, "true") || !set && !text
}
