"""The loader: turns the events of a log into images for publishers."""

from metalog.loader.publishing import PublisherFault
from metalog.loader.record_policy import LoadDoubt, Skipped
from metalog.loader.replay import BUFFER_LIMIT, Loader, feed
from metalog.loader.state import Diverged, Loading, Ready, Stale, State
from metalog.loader.transaction import OpenTransaction

__all__ = [
    "BUFFER_LIMIT",
    "Diverged",
    "LoadDoubt",
    "Loader",
    "Loading",
    "OpenTransaction",
    "PublisherFault",
    "Ready",
    "Skipped",
    "Stale",
    "State",
    "feed",
]
