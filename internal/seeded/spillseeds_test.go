package seeded_test

// spillSeeds are in how rows are set aside on disk.
var spillSeeds = []seed{
	{
		name:   "a write of a spill file that fails is taken for done",
		breaks: "contract §1.5: nothing lost",
		file:   "internal/spill/frame.go",
		old:    "\tif err != nil {\n\t\treturn fmt.Errorf(\"write spill file %s: %w\", b.file, err)",
		new:    "\tif err != nil && b.end < 0 {\n\t\treturn fmt.Errorf(\"write spill file %s: %w\", b.file, err)",
		caught: []suite{in("internal/spill", "TestADiskThatFailsOnceLosesNothing")},
	},
	{
		name:   "rows that cannot be read back from a spill file are left out",
		breaks: "contract §1.5: nothing lost",
		file:   "internal/spill/buffer.go",
		old:    "\t\t\t\tyield(nil, err)\n\t\t\t\treturn\n\t\t\t}\n\t\t\tbatch = upTo",
		new:    "\t\t\t\treturn\n\t\t\t}\n\t\t\tbatch = upTo",
		caught: []suite{in("internal/spill", "TestDamagedFile", "TestADiskThatFailsOnceLosesNothing")},
	},
	{
		name:   "the directory of spill files stays behind",
		breaks: "contract §1.5: nothing outside the root but spill files, which go with the call",
		file:   "internal/spill/area.go",
		old:    "\tif a.dir != \"\" {\n",
		new:    "\tif a.dir != \"\" && !a.closed {\n",
		caught: []suite{in("internal/spill", "TestADiskThatFailsOnceLosesNothing")},
	},
}
