"""Forms: the shapes that pointers must make together: a tour, a convex polygon, a triangulation.

The state of a form says which positions may come next so that the form can still be completed. A search
considers only these, so that every result is a complete form, whatever the model.
"""

from typing import TYPE_CHECKING

from regard.lazy import at_first_use

if TYPE_CHECKING:
    from regard.nn.forms.form import FormState
    from regard.nn.forms.polygon import PolygonState
    from regard.nn.forms.start import begin_form
    from regard.nn.forms.tour import TourState
    from regard.nn.forms.triangles import TrianglesState
else:
    __getattr__ = at_first_use(__name__)

__all__ = ["FormState", "PolygonState", "TourState", "TrianglesState", "begin_form"]
