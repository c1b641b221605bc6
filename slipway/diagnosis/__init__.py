"""Why an attempt is in its state, in one sentence, with what was seen and what happens next."""

from slipway.diagnosis.reason import Reason
from slipway.diagnosis.why import why

__all__ = ["Reason", "why"]
