package interop_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemtable/idem/maintain"
)

// vacuum has Spark say what it would delete, delete it, and read the table. In the cases of pairs it need
// not say: what is gone then tells.
func (s *subject) vacuum() []statement {
	do := []statement{{"VACUUM " + s.sql() + " RETAIN 0 HOURS", false}, {"SELECT " + s.selected() + " FROM " + s.sql(), true}}
	if s.told() {
		return append([]statement{{"VACUUM " + s.sql() + " RETAIN 0 HOURS DRY RUN", true}}, do...)
	}
	return do
}

func (s *subject) told() bool { return len(s.traits) != 2 }

// beforeVacuum notes what idem's vacuum would delete, and which files there are.
func (s *subject) beforeVacuum() {
	s.objects = s.listed()
	if s.refused != "" {
		return
	}
	res, err := maintain.VacuumTable(s.t.Context(), s.table, maintain.Vacuum{Retention: 1, AllowShortRetention: true, DryRun: true})
	if s.faulty(err, "what a vacuum would delete"); err == nil {
		s.stale = plainNames("", res.Names)
	}
}

// listed are the files of the table outside of its log, by their paths in it.
func (s *subject) listed() (out []string) {
	err := filepath.WalkDir(s.path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == "_delta_log":
			return filepath.SkipDir
		case !d.IsDir():
			rel, err := filepath.Rel(s.path, name)
			out = append(out, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	s.faulty(err, "list the files")
	return plainNames("", out)
}

// plainNames are the paths of files below a root as their names, sorted. Two kinds are left out: directories,
// which Spark names and deletes once they are empty and which a store of objects does not have; and side files
// ".NAME.crc" of Hadoop's local file system, which go with the file beside them.
func plainNames(root string, paths []string) []string {
	var out []string
	for _, p := range paths {
		p = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(p, "file:"), "//"), root+"/")
		if text, err := url.PathUnescape(p); err == nil && !slices.Contains(paths, text) {
			p = text
		}
		if ext := path.Ext(p); ext == ".parquet" || ext == ".bin" {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// vacuumed holds what Spark's vacuum would have deleted, by name, and what it did delete against what ours
// would have, and reads the table afterwards.
func (s *subject) vacuumed(o []outcome) {
	if s.told() {
		var names []string
		for _, r := range o[0].rows {
			names = append(names, fmt.Sprint(r["path"]))
		}
		s.checked(spark, s.sameFiles(plainNames(s.path, names), o[0].err), "VACUUM DRY RUN")
		o = o[1:]
	}
	left := s.listed()
	gone := slices.DeleteFunc(slices.Clone(s.objects), func(name string) bool { return slices.Contains(left, name) })
	s.checked(spark, s.sameFiles(gone, o[0].err), "VACUUM")
	rows, err := s.scan()
	if err == nil {
		err = sameTexts(s.texts(rows), s.expected(s.facts))
	}
	s.faulty(err, "after a vacuum: idem beside the model")
	s.checked(spark, o[1].beside(whole(rows)), "rows after a vacuum")
	if s.refused == "" {
		res, err := maintain.VacuumTable(s.t.Context(), s.table, maintain.Vacuum{Retention: 1, AllowShortRetention: true, DryRun: true})
		if err == nil && res.Files > 0 {
			err = fmt.Errorf("ours would delete %v too", res.Names)
		}
		s.checked(spark, err, "what a vacuum leaves")
	}
	s.check("a vacuum")
}

// sameFiles holds files that Spark deletes against ours, where idem has a vacuum for the table.
func (s *subject) sameFiles(theirs []string, err error) error {
	if s.refused != "" {
		return err
	}
	return differ(answer{rows: s.stale}, answer{rows: theirs}, err)
}
