#!/usr/bin/env bash
# A sweep on four machines of a SLURM cluster: sbatch slurm.sh
# ray symmetric-run (Ray 2.49 and later) starts Ray on every machine, runs the command on the first, and ends both.
#SBATCH --job-name=trueval
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=1
#SBATCH --time=08:00:00
set -euo pipefail

# One folder that all machines see holds the environment, the collection, and the cache with the finished shards: after a
# time limit, the same job goes on from there.
cd "$SLURM_SUBMIT_DIR"
source .venv/bin/activate
export TRUEVAL_CACHE=$PWD/cache RAY_USAGE_STATS_ENABLED=0 HF_HUB_OFFLINE=1

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1):6379
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" \
  ray symmetric-run --address "$head" --min-nodes "$SLURM_JOB_NUM_NODES" \
  --num-cpus "$SLURM_CPUS_PER_TASK" --num-gpus "$SLURM_GPUS_ON_NODE" -- \
  trueval sweep sweep.toml --out results --on "ray:$head"
