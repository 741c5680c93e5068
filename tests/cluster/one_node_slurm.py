"""A Slurm cluster of one node, this machine, made of Debian's packages; its files are in one folder."""

import os
import platform
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

PACKAGES = ("slurm-wlm", "munge")
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}
SlurmUser=root
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} CPUs={cores} NodeAddr=127.0.0.1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def install():
    """Install Slurm if it is not there."""
    if not all(shutil.which(name, path=_PATH) for name in ("slurmctld", "slurmd", "munged", "sbatch")):
        subprocess.run(["apt-get", "install", "--yes", *PACKAGES], check=True)


@contextmanager
def slurm(folder: Path):
    """A running cluster: the environment for its commands."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    folder.chmod(0o755)  # munge refuses a folder that others can write to
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    host = platform.node().partition(".")[0]
    text = CONFIGURATION.format(folder=folder, host=host, cores=len(os.sched_getaffinity(0)))
    (folder / "slurm.conf").write_text(text)
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PATH": _PATH}
    commands = (
        ["munged", "--force", "--foreground", *_munge(folder)],
        ["slurmctld", "-D", "-f", str(folder / "slurm.conf")],
        ["slurmd", "-D", "-f", str(folder / "slurm.conf"), "-N", host],
    )
    with open(folder / "daemons.log", "w") as log:
        daemons = []
        try:
            for command in commands:
                daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
                time.sleep(1)
            _wait_until_idle(environment, folder)
            yield environment
        finally:
            for daemon in reversed(daemons):
                daemon.terminate()
                daemon.wait(timeout=30)


def _munge(folder):
    names = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid"}
    names |= {"log-file": "munged.log", "seed-file": "munge.seed"}
    return [f"--{option}={folder / name}" for option, name in names.items()]


def _wait_until_idle(environment, folder):
    command, found = ["sinfo", "--noheader", "--format=%t"], None
    for _ in range(60):
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if found.stdout.strip() == "idle":
            return
        time.sleep(0.5)
    raise RuntimeError(f"Slurm did not start; see the logs in {folder}: {found}")


_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
