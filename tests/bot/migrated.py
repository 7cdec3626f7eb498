"""Where older tests look for the kit's databases."""

from tests.kit.databases import copy_instead_of_migrating, migrated_file, migrated_postgresql

__all__ = ["copy_instead_of_migrating", "migrated_file", "migrated_postgresql"]
