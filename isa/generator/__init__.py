"""Generator of everything that is derived from isa.json and chip_schema.json (see isa/README.md)."""
