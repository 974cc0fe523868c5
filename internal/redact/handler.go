package redact

import (
	"context"
	"fmt"
	"log/slog"
)

// Logger gives a logger whose records are redacted: message and attributes.
func Logger(l *slog.Logger) *slog.Logger {
	if _, done := l.Handler().(*handler); done {
		return l
	}
	return slog.New(&handler{l.Handler()})
}

type handler struct{ to slog.Handler }

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.to.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, Text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(attribute(a))
		return true
	})
	return h.to.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.to.WithAttrs(attributes(attrs))}
}

func (h *handler) WithGroup(name string) slog.Handler { return &handler{h.to.WithGroup(name)} }

func attributes(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = attribute(a)
	}
	return clean
}

func attribute(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(attributes(v.Group())...)}
	case slog.KindString:
		return slog.String(a.Key, Text(v.String()))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return slog.Any(a.Key, Error(err))
		}
		if text := fmt.Sprint(v.Any()); Text(text) != text {
			return slog.String(a.Key, Text(text))
		}
	}
	return slog.Attr{Key: a.Key, Value: v}
}
