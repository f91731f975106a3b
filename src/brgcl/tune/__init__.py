"""Choosing xi and gamma0 for a graph, from noisy labels or without any."""

from brgcl.tune.search import Tuning as Tuning
from brgcl.tune.search import tune as tune
from brgcl.tune.tried_setting import TriedSetting as TriedSetting
