"""Names that people know from elsewhere: :mod:`mldf.compat.ffcv`, :mod:`mldf.compat.turboloader`,
:mod:`mldf.compat.torchvision`.

Each has the other library's names and arguments and gives mldf's own operations, so that a script needs other imports
and little else. The pages docs/migrate-*.md have the tables, and say what differs.
"""
