"""Functions that other packages do not promise, in one place: their use, their trial and their replacement."""

from regard.private.ahead import OPENED, compile_ahead, open_compiled
from regard.private.compiler import postpone_compiler, take_step
from regard.private.feature import Feature, FeatureState, feature_states
from regard.private.functions import (
    add_to_all,
    apply,
    copy_all,
    gru_cell,
    lent,
    lstm_cell,
    move_all,
    norm_of_all,
    unflattened,
)
from regard.private.libraries import (
    binaries_known,
    chrf_of,
    chrf_rows,
    chrf_unusable,
    compile_in_turns,
    forget_accelerator,
    inside_kernels,
    keep_in,
    triton_works,
)
from regard.private.observers import (
    eager,
    global_hooks,
    hooked,
    hooks_of,
    recorded,
    step_hooks,
    traced,
    transforms_active,
)
from regard.private.scanning import can_scan, scanned
from regard.private.team import behind, team
from regard.private.tensor_node import tensor_node

__all__ = [
    "OPENED",
    "Feature",
    "FeatureState",
    "add_to_all",
    "apply",
    "behind",
    "binaries_known",
    "can_scan",
    "chrf_of",
    "chrf_rows",
    "chrf_unusable",
    "compile_ahead",
    "compile_in_turns",
    "copy_all",
    "eager",
    "feature_states",
    "forget_accelerator",
    "global_hooks",
    "gru_cell",
    "hooked",
    "hooks_of",
    "inside_kernels",
    "keep_in",
    "lent",
    "lstm_cell",
    "move_all",
    "norm_of_all",
    "open_compiled",
    "postpone_compiler",
    "recorded",
    "scanned",
    "step_hooks",
    "take_step",
    "team",
    "tensor_node",
    "traced",
    "transforms_active",
    "triton_works",
    "unflattened",
]
