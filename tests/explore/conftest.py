from support.real import real

__all__ = ["real"]
