"""Choosing settings: xi and gamma0 for a graph, or those of any method."""

from brgcl.tune.search import Tuning as Tuning
from brgcl.tune.search import tune as tune
from brgcl.tune.tried_setting import TriedSetting as TriedSetting
