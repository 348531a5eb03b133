"""Files from anywhere: s3://, gs://, https://, hf:// and what else fsspec opens, copied once into the cache."""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.data.remote.copies import cached_copy, matching
    from regard.data.remote.names import url_of
else:
    __getattr__ = at_first_use(__name__)

__all__ = ["cached_copy", "matching", "url_of"]
