"""Forms: what pointers make together, kept to while they are written: a tour, a convex polygon, a triangulation.

Each state of a form says which positions may come next so that the form can still be completed. A search chooses among
those alone, so that whatever it finds is a whole form, of any model.
"""

from regard.nn.forms.form import FormState, begin_form
from regard.nn.forms.polygon import PolygonState
from regard.nn.forms.tour import TourState
from regard.nn.forms.triangles import TrianglesState

__all__ = ["FormState", "PolygonState", "TourState", "TrianglesState", "begin_form"]
