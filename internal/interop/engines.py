"""Serves the other engines to the Go tests: one JSON request a line on stdin, one JSON answer a line on stdout, in any order.

A request is {"id": number, "engine": "spark"|"deltars"|"duckdb", "op": NAME, …arguments}; the answer {"id": the request's, "ok": …} or
{"id": the request's, "error": text}. Spark does several requests at a time, the others one.
Rows travel as {"schema": [[name, delta type], …], "rows": [[cell, …], …]}. Cells: integers, floats and strings as in JSON
(NaN, Infinity, -Infinity as strings), decimals as strings with the column's scale, dates as YYYY-MM-DD, timestamps as
YYYY-MM-DDTHH:MM:SS.ffffffZ, timestamp_ntz without the Z, binary as base64:…, struct as object, array as array, map as
array of [key, value] in the order of its keys. Conditions are text that all three read. IDEM_INTEROP_JARS is the directory of
Delta's jars.
"""
import base64, contextlib, ctypes, datetime, glob, json, math, os, sys, threading, time, traceback
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

os.environ["TZ"] = "UTC"
time.tzset()

import pyarrow as pa

EPOCH = datetime.datetime(1970, 1, 1)
MICRO = datetime.timedelta(microseconds=1)
ARROW = {
    "string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "short": pa.int16(), "byte": pa.int8(), "float": pa.float32(),
    "double": pa.float64(), "boolean": pa.bool_(), "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def delta_type(t):
    """The Delta name of an Arrow type: what an engine made of a column."""
    if pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t): return "string"
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_binary_view(t): return "binary"
    if pa.types.is_decimal(t): return f"decimal({t.precision},{t.scale})"
    if pa.types.is_timestamp(t): return "timestamp_ntz" if t.tz is None else "timestamp"
    if pa.types.is_struct(t): return "struct"
    if pa.types.is_map(t): return "map"
    if pa.types.is_list(t) or pa.types.is_large_list(t): return "array"
    return next((name for name, a in ARROW.items() if a == t), str(t))


def split(text):
    """Cuts at the commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0: parts.append("")
        else: parts[-1] += c
    return parts


def arrow_type(name):
    if name.endswith(">"):
        outer, inner = name[:-1].split("<", 1)
        if outer == "array": return pa.list_(arrow_type(inner))
        if outer == "map": return pa.map_(*map(arrow_type, split(inner)))
        return pa.struct([pa.field(f, arrow_type(t)) for f, t in (p.split(":", 1) for p in split(inner))])
    if name.startswith("decimal("):
        precision, scale = name[len("decimal("):-1].split(",")
        return pa.decimal128(int(precision), int(scale))
    return ARROW[name]


def civil(days):
    """The day of the calendar, in any year: Python's dates end at 9999."""
    cycles, rest = divmod(days + 719_468, 146_097)  # of 400 years, which begin in March
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    day = rest - (365 * year + year // 4 - year // 100)
    month = (5 * day + 2) // 153
    year += cycles * 400 + (month > 9)
    return f"{'-' * (year < 0)}{abs(year):04d}-{month - 9 if month > 9 else month + 3:02d}-{day - (153 * month + 2) // 5 + 1:02d}"


def encode(x, t):
    """The canonical cell of an Arrow scalar."""
    if not x.is_valid: return None
    if pa.types.is_timestamp(t):
        days, micros = divmod(x.cast(pa.timestamp("us", t.tz)).value, 86_400_000_000)
        seconds, micros = divmod(micros, 1_000_000)
        iso = f"{civil(days)}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micros:06d}"
        return iso if t.tz is None else iso + "Z"
    if pa.types.is_date(t): return civil(x.value)
    if pa.types.is_decimal(t): return format(x.as_py(), "f")
    if pa.types.is_struct(t): return {f.name: encode(x[f.name], f.type) for f in t}
    if pa.types.is_map(t):
        cells = [[encode(e["key"], t.key_type), encode(e["value"], t.item_type)] for e in x.values]
        return sorted(cells, key=lambda e: json.dumps(e[0]))
    if delta_type(t) == "array": return [encode(e, t.value_type) for e in x.values]
    if delta_type(t) == "binary": return "base64:" + base64.b64encode(x.as_py()).decode()
    v = x.as_py()
    if isinstance(v, float) and not math.isfinite(v): return "NaN" if v != v else "Infinity" if v > 0 else "-Infinity"
    return shortest(v) if t == pa.float32() else v


def shortest(v):
    """The number of fewest digits that is v as a float of 32 bits."""
    return next(x for x in (float(f"{v:.{digits}g}") for digits in range(1, 18)) if ctypes.c_float(x).value == v)


def decode(cell, t):
    """The Python value of a canonical cell."""
    if cell is None: return None
    if pa.types.is_struct(t): return {f.name: decode(cell[f.name], f.type) for f in t}
    if pa.types.is_map(t): return [(decode(k, t.key_type), decode(v, t.item_type)) for k, v in cell]
    if pa.types.is_list(t): return [decode(e, t.value_type) for e in cell]
    if pa.types.is_timestamp(t): return (datetime.datetime.fromisoformat(cell.removesuffix("Z")) - EPOCH) // MICRO
    if pa.types.is_date(t): return datetime.date.fromisoformat(cell)
    if pa.types.is_decimal(t): return Decimal(cell)
    if pa.types.is_binary(t): return base64.b64decode(cell.removeprefix("base64:"))
    if pa.types.is_floating(t): return float(cell)
    if pa.types.is_integer(t): return int(cell)
    return cell


def decode_rows(source):
    arrays, fields = [], []
    for i, (name, type_name) in enumerate(source["schema"]):
        t = arrow_type(type_name)
        values = [decode(row[i], t) for row in source["rows"]]
        arrays.append(pa.array(values, pa.int64()).cast(t) if pa.types.is_timestamp(t) else pa.array(values, t))
        fields.append(pa.field(name, t))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def answer(table):
    columns = [[encode(x, c.type) for x in c] for c in table.columns]
    return {"schema": [[f.name, delta_type(f.type)] for f in table.schema], "rows": list(map(list, zip(*columns)))}


def attempt(f, *args):
    """What f answers, or says."""
    try: return {"ok": f(*args)}
    except BaseException as e: # delta-rs panics with one that is no Exception
        if isinstance(e, (KeyboardInterrupt, SystemExit)): raise
        return {"error": f"{type(e).__name__}: {e}"[:2000]}


def select(table, where):
    return f"SELECT * FROM {table}" + (f" WHERE {where}" if where else "")


class Spark:
    def __init__(self):
        from pyspark.sql import SparkSession
        found = [j for name in ("delta-*.jar", "unitycatalog-client-*.jar") for j in sorted(glob.glob(os.path.join(os.environ["IDEM_INTEROP_JARS"], name)))]
        if not any("delta-spark" in j for j in found): raise RuntimeError("no delta-spark jar in IDEM_INTEROP_JARS")
        settings = {
            "spark.jars": ",".join(found), "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog", "spark.driver.memory": "4g",
            "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            # tiny tables: what a query costs is planning it, its tasks and what is done for each task
            "spark.default.parallelism": "1", "spark.sql.shuffle.partitions": "1", "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.files.minPartitionNum": "1", "spark.sql.leafNodeDefaultParallelism": "1", "spark.sql.adaptive.enabled": "false",
            "spark.broadcast.compress": "false", "spark.shuffle.compress": "false", "spark.shuffle.spill.compress": "false",
            "spark.driver.extraJavaOptions": "-XX:ReservedCodeCacheSize=512m -Ddelta.log.cacheSize=100",
            "spark.sql.ui.explainMode": "simple", "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.databricks.delta.retentionDurationCheck.enabled": "false", "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
            "spark.sql.warehouse.dir": os.environ["IDEM_INTEROP_SCRATCH"] + "/warehouse",
        }
        builder = SparkSession.builder.master("local[2]").appName("interop")
        for name, value in settings.items(): builder = builder.config(name, value)
        self.session = builder.getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def version(self):
        return self.session.version

    def rows(self, path, where=None, version=None):
        at = "" if version is None else f" VERSION AS OF {version}"
        return answer(self.session.sql(select(f"delta.`{path}`{at}", where)).toArrow())

    def sql(self, sql):
        return answer(self.session.sql(sql).toArrow())

    def many(self, jobs):
        """Does lists of statements, several lists at a time: small queries leave the processors idle for the most part."""
        with ThreadPoolExecutor(3) as pool: return list(pool.map(self.job, jobs))

    def job(self, statements):
        """The answers to statements, of which each wants those before it that write."""
        answers, broken = [], None
        for s in statements:
            if s["read"]: answers.append(attempt(self.sql, s["sql"]))
            elif broken: answers.append({"error": f"not done after {broken}"})
            else:
                answers.append(attempt(lambda: self.session.sql(s["sql"]) and None))
                broken = answers[-1].get("error", "")[:200]
        return answers

    def frame(self, source):
        from pyspark.sql.types import StructType
        ddl = ", ".join(f"`{name}` {t}" for name, t in source["schema"])
        return self.session.createDataFrame(decode_rows(source), StructType.fromDDL(ddl))

    def views(self, name, source):
        """Registers rows as a view, and each row as one of its own with its number behind the name. They are local to the
        planner, so that a query of them starts no job."""
        for view, rows in [(name, source["rows"])] + [(f"{name}_{i + 1}", [r]) for i, r in enumerate(source["rows"])]:
            self.frame({"schema": source["schema"], "rows": rows}).createOrReplaceTempView(view)

    def write(self, path, source, mode, where=None, tag=None, partition_by=()):
        w = self.frame(source).write.format("delta").mode(mode)
        if where: w = w.option("replaceWhere", where)
        if tag: w = w.option("txnAppId", tag["app"]).option("txnVersion", tag["version"])
        if partition_by: w = w.partitionBy(*partition_by)
        w.save(path)

    def delete(self, path, where):
        self.session.sql(f"DELETE FROM delta.`{path}` WHERE {where}")

    def update(self, path, where, set):
        self.session.sql(f"UPDATE delta.`{path}` SET " + ", ".join(f"{c} = {e}" for c, e in set.items()) + f" WHERE {where}")

    def merge(self, path, source, on):
        view = f"source_{threading.get_ident()}"
        self.frame(source).createOrReplaceTempView(view)
        self.session.sql(f"MERGE INTO delta.`{path}` t USING {view} s ON {on} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")

    def optimize(self, path):
        self.session.sql(f"OPTIMIZE delta.`{path}`")

    def restore(self, path, version):
        self.session.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {version}")

    def checkpoint(self, path):
        jvm = self.session._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.session._jsparkSession, path)
        log.checkpoint(log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty()), jvm.scala.Option.empty())


class DeltaRs:
    def __init__(self):
        import deltalake
        self.lib = deltalake

    def version(self):
        return self.lib.__version__

    def table(self, path, version=None):
        return self.lib.DeltaTable(path, version=version)

    def rows(self, path, where=None, version=None):
        query = self.lib.QueryBuilder().register("t", self.table(path, version))
        return answer(pa.table(query.execute(select("t", where)).read_all()))

    def many(self, paths):
        return [attempt(self.rows, p) for p in paths]

    def tagged(self, tag):
        if not tag: return None
        # last_updated in milliseconds: without it the tag would never expire
        return self.lib.CommitProperties(app_transactions=[self.lib.Transaction(tag["app"], tag["version"], int(time.time() * 1000))])

    def write(self, path, source, mode, where=None, tag=None, partition_by=()):
        self.lib.write_deltalake(path, decode_rows(source), mode=mode, predicate=where, partition_by=list(partition_by) or None,
                                 commit_properties=self.tagged(tag))

    def delete(self, path, where):
        self.table(path).delete(where)

    def update(self, path, where, set):
        self.table(path).update(updates=set, predicate=where)

    def merge(self, path, source, on):
        m = self.table(path).merge(decode_rows(source), predicate=on, source_alias="s", target_alias="t")
        m.when_matched_update_all().when_not_matched_insert_all().execute()

    def optimize(self, path):
        self.table(path).optimize.compact()

    def restore(self, path, version):
        self.table(path).restore(version)

    def checkpoint(self, path):
        self.table(path).create_checkpoint()

    def tag(self, path, app):
        return self.table(path).transaction_version(app)


class DuckDB:
    def __init__(self):
        import duckdb, duckdb_ext
        self.lib, self.session = duckdb, duckdb.connect()
        root = list(duckdb_ext.__path__)[0]
        found = glob.glob(f"{root}/extensions/v{duckdb.__version__}/*/delta.duckdb_extension")
        if len(found) != 1: raise RuntimeError(f"{len(found)} Delta extensions for DuckDB {duckdb.__version__} under {root}")
        self.session.execute(f"LOAD '{found[0]}'")
        self.session.execute("SET TimeZone = 'UTC'")

    def version(self):
        return self.lib.__version__

    def rows(self, path, where=None):
        return answer(self.session.execute(select(f"delta_scan('{path}')", where)).fetch_arrow_table())

    def many(self, paths):
        return [attempt(self.rows, p) for p in paths]


class Server:
    def __init__(self):
        self.out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what an engine prints does not get between the answers
        self.kinds, self.engines = {"spark": Spark, "deltars": DeltaRs, "duckdb": DuckDB}, {}
        self.making, self.writing = threading.Lock(), threading.Lock()
        self.turn = {"spark": contextlib.nullcontext(), "deltars": threading.Lock(), "duckdb": threading.Lock()}

    def engine(self, name):
        with self.making:
            if name not in self.engines: self.engines[name] = self.kinds[name]()
            return self.engines[name]

    def serve(self, line):
        request = json.loads(line)
        number, name, op = request.pop("id"), request.pop("engine"), request.pop("op")
        try:
            engine = self.engine(name)
            with self.turn[name]: reply = {"ok": getattr(engine, op)(**request)}
        except BaseException as e: # delta-rs panics with one that is no Exception
            traceback.print_exc(file=sys.stderr)
            reply = {"error": f"{type(e).__name__}: {e}"[:4000]}
        with self.writing: print(json.dumps({"id": number, **reply}), file=self.out, flush=True)


def main():
    server = Server()
    with ThreadPoolExecutor(16) as pool:
        for line in sys.stdin: pool.submit(server.serve, line)


if __name__ == "__main__":
    main()
