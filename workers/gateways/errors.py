"""What can go wrong at the edge.

GatewayError
  Unreachable   no answer, or the server is in trouble: try again later
  Refused       the answer is no, and will be no again (bad object, forbidden, quota)
  Conflict      somebody else's object has this name, or a write raced
  NotFound      there is no such object
  Gone          the watch position is too old: list again
"""

from __future__ import annotations


class GatewayError(Exception):
    """`retry` says whether the same call may succeed later without anybody changing anything."""

    retry = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Unreachable(GatewayError):
    retry = True


class Refused(GatewayError):
    pass


class Conflict(GatewayError):
    pass


class NotFound(GatewayError):
    pass


class Gone(GatewayError):
    retry = True
