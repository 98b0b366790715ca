from support.apart import apart
from support.real import real

__all__ = ["apart", "real"]
