"""The fingerprint format idem1 a second time: checks the digests of vector files. Needs the package xxhash.
usage: fingerprint.py testdata/fingerprint/*.json
"""
import json, math, struct, sys
from decimal import Decimal
from xxhash import xxh3_64_intdigest as h, xxh3_128_intdigest as H128

M = 1 << 128
ELEMENT, KEY, VALUE = (struct.pack("<I", 0xFFFFFFFF - i) for i in range(3))

def u128(x): return x.to_bytes(16, "little")
def i64(x): return struct.pack("<q", x)
def field(path, name): return path + struct.pack("<I", len(name.encode())) + name.encode()
def H(path, tag, payload): return H128(payload, seed=h(path + tag))

def number(path, x, tag, payload):
    if x == x and abs(x) != math.inf and x == int(x) and -2**63 <= x < 2**63:
        return H(path, b"i", i64(int(x)))
    return H(path, tag, payload())

def decimal(text):
    sign, digits, exponent = Decimal(text).as_tuple()
    c, scale = int("".join(map(str, digits))), -exponent
    while c % 10 == 0:
        c, scale = c // 10, scale - 1
    return (-c if sign else c).to_bytes(16, "little", signed=True) + struct.pack("<i", scale)

def double(x): return struct.pack("<d", x) if x == x else struct.pack("<Q", 0x7FF8 << 48)

def date(path, days):
    us = days * 86400 * 10**6
    return H(path, b"l", i64(us)) if -2**63 <= us < 2**63 else H(path, b"d", i64(days))

def C(path, t, v):
    if v is None: return 0
    if isinstance(t, dict):
        (kind, of), = t.items()
        if kind == "struct":
            return (H(path, b"r", b"") + sum(C(field(path, n), ft, x) for (n, ft), x in zip(of, v))) % M
        if kind == "list":
            return H(path, b"a", struct.pack("<Q", len(v)) + b"".join(u128(C(path + ELEMENT, of, x)) for x in v))
        entries = sum(H128(u128((C(path + KEY, of[0], k) + C(path + VALUE, of[1], x)) % M), seed=h(b"idem1:entry")) for k, x in v)
        return H(path, b"m", struct.pack("<Q", len(v)) + u128(entries % M))
    if t.startswith("int"): return H(path, b"i", i64(v))
    if t == "float32": v = struct.unpack("<f", struct.pack("<f", float(v)))[0]
    if t.startswith("float"): return number(path, float(v), b"f", lambda: double(float(v)))
    if t.startswith("decimal"): return number(path, Decimal(v), b"n", lambda: decimal(v))
    if t == "date": return date(path, v)
    tag, payload = {"bool": (b"b", lambda: bytes([v])), "timestamp": (b"t", lambda: i64(v)), "timestamp_ntz": (b"l", lambda: i64(v)),
                    "string": (b"s", lambda: v.encode()), "binary": (b"x", lambda: bytes.fromhex(v))}[t]
    return H(path, tag, payload())

def digest(schema, rows):
    sums = (sum(C(field(b"", n), t, v) for (n, t), v in zip(schema, row)) % M for row in rows)
    return f"{sum(H128(u128(s), seed=h(b'idem1:row')) for s in sums) % M:032x}"

if __name__ == "__main__":
    vectors = [v for name in sys.argv[1:] for v in json.load(open(name, encoding="utf-8"))]
    wrong = [f"{v['name']}: {digest(v['schema'], v['rows'])}, not {v['digest']}" for v in vectors if digest(v["schema"], v["rows"]) != v["digest"]]
    sys.exit("\n".join(wrong) or (0 if vectors else "no vectors"))
