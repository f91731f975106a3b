#!/bin/bash
# Four machines with two ranks each, under Slurm:
#     sbatch examples/cluster/slurm.sh --edges edges.parquet --features x.npy --out /shared/run
# All machines must see the files and the folder of --out. A job that was stopped and is submitted
# again goes on from the last checkpoint.
#SBATCH --job-name=brgcl
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --requeue
set -euo pipefail
RANKS=2  # on each machine; with GPUs, as many as it has

FIRST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK / RANKS))

srun torchrun \
    --nnodes "$SLURM_NNODES" --nproc-per-node "$RANKS" --max-restarts 3 \
    --rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$FIRST:29500" \
    -m brgcl.distributed "$@"
