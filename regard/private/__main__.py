"""`python -m regard.private`: which fast paths are on here, and why the others are off."""

from regard.private.feature import feature_states

for state in feature_states():
    print(
        f"{'on ' if state.on else 'off'}  {state.name}"
        + ("" if state.on else f": {state.reason}; {state.cost}")
    )
