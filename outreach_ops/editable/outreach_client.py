"""`outreach_client` in an editable install: the checkout's `shared/api` under the name that a wheel gives it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "shared" / "api"
_SPEC = spec_from_file_location(__name__, _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)])
assert _SPEC
assert _SPEC.loader
sys.modules[__name__] = module_from_spec(_SPEC)
_SPEC.loader.exec_module(sys.modules[__name__])
