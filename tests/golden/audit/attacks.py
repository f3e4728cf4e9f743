"""The table of attacks on the page of an audit: name → what is sent, and the status that it must get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.golden.audit.served import SECRET, Answer, Served, event

from trueval.golden.audit.server.request_guard import LONGEST_BODY


class World(NamedTuple):
    """A server in the middle of its work: ann and bob have each graded one item and see three more."""

    served: Served
    mine: str  # an item that ann is shown
    graded: dict[str, Any]  # what ann said
    theirs: str  # an item that only bob is shown
    said_by_bob: dict[str, Any]
    undone: dict[str, Any]  # what ann said and took back
    pair: str  # two passages, shown to ann
    unseen: str  # shown to nobody
    foreign: str  # token of another audit


Send = Callable[[World], Answer]
ATTACKS: dict[str, tuple[Send, int | None]] = {}


def attack(name: str, status: int | None, send: Send) -> None:
    assert name not in ATTACKS
    ATTACKS[name] = (send, status)


def said(**changes: Any) -> Callable[[World], dict[str, Any]]:
    """A grade of ann for an item that she sees, changed."""
    return lambda world: event("ann", world.mine, **changes)


def says(name: str, status: int, **changes: Any) -> None:
    attack(name, status, lambda world: world.served.post("events", said(**changes)(world)))


def with_head(name: str, status: int | None, **changes: str | None) -> None:
    attack(name, status, lambda world: world.served.post("events", said()(world), **changes))


def asks(name: str, status: int | None, method: str, path: str, **changes: str | None) -> None:
    attack(name, status, lambda world: world.served.raw(world.served.head(method, path, **changes)))


def sends(name: str, status: int, body: bytes, call: str = "events", **changes: str | None) -> None:
    attack(name, status, lambda world: world.served.post(call, body, **changes))


# ---- who asks ----
with_head("no token", 401, Authorization=None)
with_head("a wrong token", 401, Authorization=f"Bearer {'A' * 43}")
with_head("an empty token", 401, Authorization="Bearer ")
with_head("a token that is not ASCII", 401, Authorization="Bearer \xe9\xff")
with_head("a token in a cookie", 401, Authorization=None, Cookie="token=1")
attack(
    "the token of another audit",
    401,
    lambda w: w.served.post("start", {"rater": "ann"}, Authorization=f"Bearer {w.foreign}"),
)
attack(
    "the token but for its end",
    401,
    lambda w: w.served.post("start", {"rater": "ann"}, Authorization=f"Bearer {w.served.address.token[:-1]}"),
)
attack(
    "the token and more",
    401,
    lambda w: w.served.post("start", {"rater": "ann"}, Authorization=f"Bearer {w.served.address.token}A"),
)
attack(
    "the token as a password",
    401,
    lambda w: w.served.post("start", {"rater": "ann"}, Authorization=f"Basic {w.served.address.token}"),
)
attack(
    "two tokens, one of them right",
    401,
    lambda w: w.served.post(
        "start", {"rater": "ann"}, Authorization=f"Bearer {w.served.address.token}\r\nAuthorization: Bearer x"
    ),
)
attack(
    "the token in the body",
    401,
    lambda w: w.served.post("start", {"rater": "ann", "token": w.served.address.token}, Authorization=None),
)
attack(
    "the token in the address",
    404,
    lambda w: w.served.post(f"start?token={w.served.address.token}", {"rater": "ann"}, Authorization=None),
)

# ---- other sites: forged requests, and names that point here ----
with_head("another origin", 403, Origin="http://evil.example")
with_head("an origin without a name", 403, Origin="null")
with_head("the same host on another port", 403, Origin="http://127.0.0.1:1")
attack("our origin by https", 403, lambda w: w.served.post("events", said()(w), Origin=f"https://{w.served.host}"))
attack(
    "our own origin and another",
    403,
    lambda w: w.served.post("events", said()(w), Origin=f"http://{w.served.host}\r\nOrigin: http://evil.example"),
)
attack(
    "localhost for 127.0.0.1",
    403,
    lambda w: w.served.post("events", said()(w), Origin=f"http://localhost:{w.served.address.port}"),
)
with_head("a request that another site makes", 403, Sec_Fetch_Site="cross-site")
with_head("a request that a neighbor of the site makes", 403, Sec_Fetch_Site="same-site")
with_head(
    "a navigation to a call", 403, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document"
)
asks(
    "the page in a frame",
    403,
    "GET",
    "/",
    Sec_Fetch_Site="cross-site",
    Sec_Fetch_Mode="navigate",
    Sec_Fetch_Dest="iframe",
)
asks(
    "our script in another site",
    403,
    "GET",
    "/page.js",
    Sec_Fetch_Site="cross-site",
    Sec_Fetch_Mode="no-cors",
    Sec_Fetch_Dest="script",
)
FORM = "application/x-www-form-urlencoded"
sends(
    "a form of another site",
    403,
    b"rater=ann&value=1",
    Authorization=None,
    Content_Type=FORM,
    Origin="http://evil.example",
)
sends("a form of a browser that says nothing", 401, b"rater=ann&value=1", Authorization=None, Content_Type=FORM)
sends("a form that looks like JSON", 401, b'{"rater": "ann", "x": "="}', Authorization=None, Content_Type="text/plain")
with_head("the name of another site", 421, Host="evil.example")
attack(
    "the name of another site with our port",
    421,
    lambda w: w.served.post("events", said()(w), Host=f"evil.example:{w.served.address.port}"),
)
attack(
    "a name that begins as ours",
    421,
    lambda w: w.served.post("events", said()(w), Host=f"127.0.0.1.evil.example:{w.served.address.port}"),
)
attack(
    "another number of this machine",
    421,
    lambda w: w.served.post("events", said()(w), Host=f"127.0.0.2:{w.served.address.port}"),
)
attack(
    "all numbers of this machine",
    421,
    lambda w: w.served.post("events", said()(w), Host=f"0.0.0.0:{w.served.address.port}"),
)
attack(
    "our name after another one's",
    421,
    lambda w: w.served.post("events", said()(w), Host=f"evil.example@{w.served.host}"),
)
attack(
    "our name in a header of proxies",
    421,
    lambda w: w.served.post("events", said()(w), Host="evil.example", X_Forwarded_Host=w.served.host),
)
with_head("our name without a port", 421, Host="127.0.0.1")
with_head("our name with another port", 421, Host="127.0.0.1:1")
with_head("no name", 400, Host=None)
attack("two names", 400, lambda w: w.served.post("events", said()(w), Host=f"{w.served.host}\r\nHost: evil.example"))
attack("no name, as before HTTP/1.1", 421, lambda w: w.served.raw(b"GET / HTTP/1.0\r\n\r\n"))

# ---- paths and methods ----
for path in (
    "/../sample.json",
    "/..%2fsample.json",
    "/%2e%2e/sample.json",
    "/..%252fsample.json",
    "/..%c0%afsample.json",
    "/..%5csample.json",
    "/....//sample.json",
    "//etc/passwd",
    "/page.css/../../../audit.sqlite",
    "/page.css%00.html",
    "/page.js/",
    "/PAGE.JS",
    "/pages/index.html",
    "/index.html",
    "/sample.json",
    "/items.jsonl",
    "/people.jsonl",
    "/audit.sqlite",
    "/address.json",
    "/.git/config",
    "/%61pi/events",
    "/api/../api/events",
    "/api//events",
    "/api/",
    "/api/events/",
    "/api/events;x=1",
    "/api/undo",
    "/page.js?1",
    "/?token=x",
    "*",
    "http://evil.example/",
    "/robots.txt",
):
    asks(f"the path {path}", 404, "GET", path)
for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "post", "PROPFIND"):
    asks(f"{method} of a call", 405, method, "/api/events")
for method in ("HEAD", "POST", "PUT", "OPTIONS", "TRACE"):
    asks(f"{method} of the page", 405, method, "/", Content_Type=None)
asks(
    "the question of another site before its request",
    405,
    "OPTIONS",
    "/api/events",
    Origin="http://evil.example",
    Access_Control_Request_Method="POST",
)
asks("a GET that calls itself a POST", 405, "GET", "/api/events", X_HTTP_Method_Override="POST")
asks(
    "a socket",
    405,
    "GET",
    "/api/events",
    Connection="Upgrade",
    Upgrade="websocket",
    Sec_WebSocket_Key="x",
    Sec_WebSocket_Version="13",
)
asks("a tunnel", 404, "CONNECT", "evil.example:443")
attack("another protocol", 421, lambda w: w.served.raw(b"PRI * HTTP/2.0\r\n\r\n"))
attack("no HTTP", 400, lambda w: w.served.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"))

# ---- bodies ----
for kind in (
    None,
    "text/plain",
    FORM,
    "multipart/form-data; boundary=x",
    "application/json; charset=latin-1",
    "application/jsonp",
):
    with_head(f"a body of type {kind}", 415, Content_Type=kind)
with_head("a body that is compressed", 415, Content_Encoding="gzip")
with_head("a length that is too great", 413, Content_Length="1000000000")
with_head("a length of many digits", 413, Content_Length="9" * 18)
with_head("a length below 0", 400, Content_Length="-1")
with_head("a length that is no number", 400, Content_Length="0x10")
attack("two lengths", 400, lambda w: w.served.post("events", said()(w), Content_Length="5\r\nContent-Length: 6"))
sends("a body that is too long", 413, b" " * (LONGEST_BODY + 1))
attack(
    "a body that is too long and does not say so",
    413,
    lambda w: w.served.raw(
        w.served.head("POST", "/api/events", Transfer_Encoding="chunked")
        + b"4000\r\n"
        + b" " * 0x4000
        + b"\r\n"
        + b"8000\r\n"
        + b" " * 0x8000
        + b"\r\n0\r\n\r\n"
    ),
)
attack(
    "chunks of no size",
    400,
    lambda w: w.served.raw(w.served.head("POST", "/api/events", Transfer_Encoding="chunked") + b"zz\r\n"),
)
attack(
    "a transfer that nobody knows",
    400,
    lambda w: w.served.raw(w.served.head("POST", "/api/events", Transfer_Encoding="gzip")),
)
for name, body in {
    "nothing": b"", "half of it": b'{"rater": "ann"', "no JSON": b"rater=ann", "two values": b"{}{}",
    "a NaN": b'{"want": NaN}', "infinity": b'{"want": -Infinity}', "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"rater": "ann"}'.encode("utf-16"),
    "bytes that are not UTF-8": b'{"rater": "\xff"}', "a key twice": b'{"rater": "bob", "rater": "ann", "want": 1}',
    "depth": b"[" * 16_000 + b"]" * 16_000, "depth of objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "a number of many digits": b'{"want": ' + b"1" * 20_000 + b"}", "a null byte": b'{"rater": "a\x00b", "want": 1}',
}.items():  # fmt: skip
    sends(f"a body that is {name}", 400, body, "items")
for name, body in {
    "a list": b"[]", "a string": b'"ann"', "null": b"null", "a number": b"1", "without keys": b"{}",
    "with a key of a prototype": b'{"rater": "ann", "want": 1, "__proto__": {"admin": true}}',
    "with a key of the store": b'{"rater": "ann", "want": 1, "task": "grade"}',
}.items():  # fmt: skip
    sends(f"a body that is {name}", 422, body, "items")
for want in ("0", "17", "-1", "1.0", "1e0", '"1"', "true", "null", "[1]", "1000000000000"):
    sends(f"a wish for {want} items", 422, b'{"rater": "ann", "want": ' + want.encode() + b"}", "items")

# ---- names ----
for name, rater in {
    "empty": "", "of spaces": "  ", "with a space before it": " ann", "too long": "a" * 65, "of two lines": "ann\nbob",
    "with a null byte": "ann\x00", "that turns text around": "ann\u202ebob", "half of a letter": "ann\ud800",
    "of a number": 1, "of a list": ["ann"], "of an object": {"$ne": ""}, "of nothing": None, "of true": True,
}.items():  # fmt: skip
    attack(f"a name {name}", 422, lambda w, rater=rater: w.served.post("items", {"rater": rater, "want": 1}))

# ---- labels ----
for value in (0, 6, -1, 10**30, -(10**30), 4.0, 4.5, "4", True, [4], {"$gt": 0}):
    says(f"a grade of {value!r}", 422, value=value)
says("no grade", 422, value=None)
attack("a grade of null", 422, lambda w: w.served.post("events", event("ann", w.mine) | {"value": None}))
attack("a grade for two passages", 422, lambda w: w.served.post("events", event("ann", w.pair, value=4)))
attack("a word for two passages", 422, lambda w: w.served.post("events", event("ann", w.pair, value="left")))
says("the value of two passages for one", 422, value=-1)
says("a skip with a grade", 422, kind="skip")
says("a grade with a judge's", 422, judge=5)
says("a label with a stratum", 422, stratum=SECRET)
says("a label of a kind that nobody knows", 422, kind="delete")
says("a label of the store's own kind", 422, kind="note", note="x", value=None)
says("a label without a kind", 422, kind=None)
for seconds in (-1, 1e9, "1", True, [1]):
    says(f"{seconds!r} seconds", 422, seconds=seconds)
says("seconds without end", 400, seconds=float("inf"))
says("seconds that are no number", 400, seconds=float("nan"))
says("a note that is too long", 422, note="a" * 2001)
says("a note that is no text", 422, note=["a"])
says("a note with a null byte", 422, note="a\x00b")
says("a note that moves a cursor", 422, note="\x1b[2J")
says("a note that turns text around", 422, note="\u202eabc")
says("a note with half of a letter", 422, note="\udfff")

# ---- items ----
attack("an item that is not there", 404, lambda w: w.served.post("events", event("ann", "i999")))
attack("an item that nobody is shown", 403, lambda w: w.served.post("events", event("ann", w.unseen)))
attack("an item that another rater is shown", 403, lambda w: w.served.post("events", event("ann", w.theirs)))
attack("an item under a name that is shown nothing", 403, lambda w: w.served.post("events", event("eve", w.mine)))
attack("an item that is graded", 409, lambda w: w.served.post("events", event("ann", w.graded["item"], value=1)))
attack(
    "a skip of an item that is graded",
    409,
    lambda w: w.served.post("events", event("ann", w.graded["item"], kind="skip", value=None)),
)
for item in (
    "",
    "../i0",
    "i0' OR '1'='1",
    "i0\x00",
    "i0;DROP TABLE events",
    "i" * 65,
    SECRET + "/0",
    0,
    ["i0"],
    {"$ne": 1},
    None,
):
    attack(
        f"an item called {item!r}",
        422,
        lambda w, item=item: w.served.post("events", event("ann", "x") | {"item": item}),
    )

# ---- events that came before, and undoing ----
attack("an id again, with another grade", 409, lambda w: w.served.post("events", w.graded | {"value": 5}))
attack("an id again, with a note", 409, lambda w: w.served.post("events", w.graded | {"note": "other"}))
attack("an id again, of another item", 409, lambda w: w.served.post("events", w.graded | {"item": w.mine}))
attack(
    "an id again, as a skip",
    409,
    lambda w: w.served.post("events", event("ann", w.graded["item"], kind="skip", value=None, id=w.graded["id"])),
)
attack("the id of another rater", 409, lambda w: w.served.post("events", event("ann", w.mine, id=w.said_by_bob["id"])))
attack(
    "an id again, as an undo",
    409,
    lambda w: w.served.post(
        "events", event("ann", None, kind="undo", value=None, id=w.graded["id"], of=w.graded["id"])
    ),
)
for name in ("", "1", "' OR 1=1 --", "../../x", "0" * 36, "A" * 8 + "-AAAA-AAAA-AAAA-" + "A" * 12, 7, None, ["x"]):
    attack(
        f"an id that is {name!r}",
        422,
        lambda w, name=name: w.served.post("events", event("ann", w.mine) | {"id": name}),
    )


def undoes(name: str, status: int, of: Callable[[World], Any], rater: str = "ann", **changes: Any) -> None:
    attack(
        name,
        status,
        lambda w: w.served.post("events", event(rater, None, kind="undo", value=None, of=of(w), **changes)),
    )


undoes("undoing what another rater said", 409, lambda w: w.said_by_bob["id"])
undoes("undoing as a rater who said nothing", 409, lambda w: w.graded["id"], rater="eve")
undoes("undoing what nobody said", 409, lambda w: "0" * 8 + "-0000-0000-0000-" + "0" * 12)
undoes("undoing what is undone", 409, lambda w: w.undone["id"])
undoes("undoing without saying what", 422, lambda w: None)
undoes("undoing everything", 422, lambda w: "%")
undoes("undoing with a grade", 422, lambda w: w.graded["id"], grade=5)
