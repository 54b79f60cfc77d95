"""Workloads: the queries a release is judged by."""

from dprap.workload.kway import all_kway, eligible, random_kway
from dprap.workload.workload import MAX_CELLS, Workload, weighted

__all__ = ["MAX_CELLS", "Workload", "all_kway", "eligible", "random_kway", "weighted"]
