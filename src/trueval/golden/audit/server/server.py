"""The server of an audit's page: it listens on loopback until it is stopped."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from trueval.errors import InputError
from trueval.extras import need
from trueval.golden.audit.server.page_address import Address, read_address, write_address
from trueval.golden.audit.server.request_guard import hosts_of

if TYPE_CHECKING:
    import uvicorn

    from trueval.golden.audit.store.audit_store import AuditStore

HOST: Final = "127.0.0.1"
PATIENCE: Final = 10.0  # timeout in seconds for the header of a request, and for its body
MOST: Final = 100  # maximum connections; above it the oldest is closed
LEAVING: Final = 2  # grace period in seconds for open requests when the server stops


def serve(
    store: AuditStore, host: str = HOST, port: int | None = None, *, ready: Callable[[str], object] = print
) -> None:
    """Serve the page of an audit on this machine until Ctrl-C.

    Args:
        host: address to listen on; must be a loopback address.
        port: port to listen on; by default the last one used, or a free one the first time.
        ready: called with the address for raters, which includes the token.

    Raises:
        MissingExtraError: starlette or uvicorn is not installed.
        InputError: the host is not this machine alone, or the port is not free.
    """
    need("uvicorn", "The pages of audits", "web")
    need("starlette", "The pages of audits", "web")
    known = read_address(store.folder)
    with open_socket(host, known.port if port is None else port) as place:
        address = Address(known.token, place.getsockname()[1])
        write_address(store.folder, address)
        server = server_of(store, address, host)
        try:
            ready(address.url(host))
            server.run(sockets=[place])
        except KeyboardInterrupt:  # uvicorn has shut down cleanly, and re-raises Ctrl-C
            return


def server_of(
    store: AuditStore, address: Address, host: str = HOST, *, patience: float = PATIENCE, most: int = MOST
) -> uvicorn.Server:
    """The server of an audit, not yet started.

    Args:
        patience: timeout in seconds for the header of a request, and for its body.
        most: maximum number of connections.
    """
    import uvicorn

    from trueval.golden.audit.server.app import App
    from trueval.golden.audit.server.connections import timeout_protocol

    return uvicorn.Server(
        uvicorn.Config(
            App(store, address.token, hosts_of(host, address.port), patience),
            http=timeout_protocol(patience, most),
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",  # a flood of bad requests must not fill the log
            access_log=False,
            proxy_headers=False,  # no proxy in between
            server_header=False,
            timeout_graceful_shutdown=LEAVING,
        )
    )


def open_socket(host: str, port: int) -> socket.socket:
    """A bound socket on loopback that accepts connections at once.

    Raises:
        InputError: as in `serve`.
    """
    try:
        address = ipaddress.ip_address(HOST if host == "localhost" else host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise InputError(
            f"host must be an address of this machine alone, such as {HOST}. Got {host}. For raters elsewhere use "
            "--export, or a tunnel: ssh -L PORT:127.0.0.1:PORT."
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A killed server leaves closing connections, which must not block its port. Windows needs no option for this;
        # there it would let two servers share a port.
        if os.name == "posix":
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((str(address), port))
        place.listen(128)
    except OSError as error:
        place.close()
        raise InputError(
            f"port {port} of {host} cannot be used ({error.strerror}). Stop what uses it, or name another with --port; "
            "labels that a browser keeps unsent stay with the old one."
        ) from None
    return place
