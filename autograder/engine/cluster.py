"""Grading on a Dask cluster: which workers can grade as this machine would, which submission goes to whom, and what is said when nobody is left.

The scheduler passes on bytes: the function that it is given is `pickle.loads`, so it needs Dask and nothing of ours.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import logging
import pickle
import ssl
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from autograder.engine import cluster_worker, fingerprint
from autograder.engine.cluster_worker import Reply, Setup, WorkerReport
from autograder.engine.graded_submission import GradedSubmission
from autograder.engine.job import TRIES, Job
from autograder.engine.pool import GradingPool, WorkerDied
from autograder.errors import UserError
from autograder.jail.limits import Limits
from autograder.jail.sandbox import Mode
from autograder.keys.problem import KeyProblem

try:
    from dask.distributed import Client, KilledWorker
except ImportError:
    raise UserError("--scheduler needs Dask: pip install 'dask[distributed]'") from None

CONNECT_SECONDS = 10
REFRESH_SECONDS = 1.0  # between two looks at which workers there are
ANSWER_SECONDS = 5  # that the scheduler may take to say so
SILENT_SECONDS = 10.0  # without a worker that can grade, until it is said
FIRST_SECONDS = 600.0  # until the first worker has come
CALLS_PER_THREAD = 10  # waiting tasks that make an adaptive cluster start one more thread: Dask counts each as 0.5 s, and 5 s as a thread's share


@contextlib.contextmanager
def on_cluster(
    address: str,
    limits: Limits,
    mode: Mode = Mode.BUBBLEWRAP,
    private: Sequence[Path] = (),
    also: Sequence[str] = (),
    say: Callable[[str], None] = print,
    dry: bool = False,
) -> Iterator[GradingPool]:
    """The workers of a Dask scheduler, those that join later included.

    private, also: as for a Jail. say: prints a line for the person at the keyboard. dry: nothing that is graded is saved.

    Raises:
        UserError: nobody answers at the address. Within the context: the scheduler is gone, or no worker can grade.
    """
    for name in ("distributed", "distributed.client", "tornado.application"):  # what matters is said in our words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with _connect(address) as client:
        setup = Setup(fingerprint.HERE, limits, mode, tuple(path.resolve() for path in private), tuple(also))
        yield Cluster(client, address, setup, say, dry)


@contextlib.contextmanager
def _connect(address: str) -> Iterator[Client]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other versions of what does not matter
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            raise UserError(f"no Dask scheduler answers at {address}: {_why_not(address, error)}") from None
    with client:
        yield client


def _why_not(address: str, error: Exception) -> str:
    """Why there is no connection, and what to do."""
    if isinstance(error, TypeError) and "ssl_context" in str(error):
        return "tls:// needs three settings, DASK_DISTRIBUTED__COMM__TLS__CA_FILE and the two beside it in docs/clusters.md"
    if isinstance(error, (FileNotFoundError, PermissionError, ssl.SSLError)):
        return f"a file that is set as DASK_DISTRIBUTED__COMM__TLS__… can't be used ({error.strerror or error})"
    if isinstance(error, TypeError):
        return f"it runs another version of Dask than this machine ({error})"
    first: BaseException = error
    while first.__cause__ and str(first.__cause__):  # the first that says something
        first = first.__cause__
    reason = (str(first) or type(first).__name__).splitlines()[0].rpartition("Error: ")[2]
    if address.startswith("tls://") and (isinstance(first, ssl.SSLError) or not isinstance(first, OSError)):
        return f"{reason}. It must use TLS, with the certificate that is set here"
    if address.startswith("tcp://") and "reset" in reason:
        return f"{reason}. If it uses TLS, its address begins with tls://"
    return reason


class _Call:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._reduced = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._reduced


@dataclass
class _ClusterWorker:
    """A worker of the cluster."""

    threads: int
    host: str
    files: set[str] = field(default_factory=set)  # of reference outputs, which it has; the name of none is empty
    preparation: tuple[str, Future[WorkerReport]] | None = None  # what it is asked to take in
    problem: str = ""  # why it is left out
    failures: int = 0  # how often it could not grade what was sent to it


@dataclass(eq=False)
class _ClusterTask:
    """A job that is not done."""

    job: Job
    file: str
    result: Future[GradedSubmission]
    future: Future[Reply] | None = None  # Dask's, which one of the `workers` will settle
    workers: frozenset[str] = frozenset()
    losses: int = 0  # how often all workers had ended before

    def follow(self, result: Future[GradedSubmission]) -> None:
        """Once nobody wants its result, cancel what was sent."""
        if result.cancelled():
            result.set_running_or_notify_cancel()
            self.take_back()

    def take_back(self) -> None:
        """Cancel what was sent; it may be sent again."""
        if self.future:
            self.future.cancel()


class Cluster(GradingPool):
    """The workers of a Dask scheduler that can grade as this machine would. All but `_deliver_grade` runs in the thread of whoever grades."""

    def __init__(self, client: Client, address: str, setup: Setup, say: Callable[[str], None], dry: bool) -> None:
        super().__init__(setup.limits, setup.mode)
        self._client = client
        self._scheduler: Any = client.scheduler
        self._executor = client.get_executor(pure=False)
        self._address = address
        self._setup = setup
        self._reference_names: dict[Path, str] = {}  # by the file with the reference outputs, its name at the workers
        self._say = say
        self._saved = "" if dry else " and saved"
        self._workers: dict[str, _ClusterWorker] = {}  # by address
        self._hosts: dict[str, str] = {}  # by address, of those that are gone as well
        self._waiting: deque[_ClusterTask] = deque()
        self._in_flight: dict[_ClusterTask, None] = {}  # in the order in which they were sent
        # Of those that were sent, what is settled or must be sent again.
        self._back: SimpleQueue[_ClusterTask] = SimpleQueue()
        self._calls: list[Any] = []
        self._next_refresh = 0.0
        self._alone_since: float | None = None  # since when there has been nobody who can grade
        self._messages: set[tuple[str, object]] = set()

    def start(self) -> None:
        self._refresh_workers()
        self._prepare()

    @property
    def side_by_side(self) -> int:
        return sum(worker.threads for worker in self._ready(self._setup.file).values())

    def submit(self, job: Job) -> Future[GradedSubmission]:
        if job.reference_file not in self._reference_names:
            data = job.reference_file.read_bytes()
            self._reference_names[job.reference_file] = file = hashlib.sha256(data).hexdigest()[:16]
            notebook = fingerprint.of_notebook(job.assignment)
            self._setup = replace(
                self._setup, assignment=job.assignment, notebook=notebook, file=file, reference_data=data
            )
        task = _ClusterTask(job, self._reference_names[job.reference_file], Future())
        task.result.add_done_callback(task.follow)
        self._waiting.append(task)
        self._require_scheduler()
        self._send()
        return task.result

    def cancel(self, futures: Sequence[Future[GradedSubmission]]) -> None:
        super().cancel(futures[self.side_by_side :])  # the first ones are being graded

    def attend(self) -> None:
        self._require_scheduler()
        if time.monotonic() >= self._next_refresh:
            self._refresh_workers()
        self._take_back()
        self._prepare()
        self._send()
        self._call_for_more()
        self._tell_who_is_missing()

    def _require_scheduler(self) -> None:
        stream = self._client.scheduler_comm
        if self._client.status != "running" or stream is None or stream.comm.closed():
            raise UserError(
                f"the Dask scheduler at {self._address} is gone: {self.count} submissions are graded{self._saved}. "
                "Start it and its workers, then run the same command"
            )

    # Who is there

    def _refresh_workers(self) -> None:
        """See who has come and who has gone; what all that might have settled it can't any more is to be sent again."""
        self._next_refresh = time.monotonic() + REFRESH_SECONDS
        try:
            present = self._client.sync(self._scheduler.ncores, callback_timeout=ANSWER_SECONDS)
        except (OSError, TimeoutError):
            return  # it may be busy; if it is gone, that is seen next time
        for address in [address for address in self._workers if address not in present]:
            worker = self._workers.pop(address)
            if worker.preparation:
                worker.preparation[1].cancel()
        for address, threads in present.items():
            host = self._hosts.setdefault(address, str(urlsplit(address).hostname))
            self._workers.setdefault(address, _ClusterWorker(threads, host)).threads = threads
        for task in [task for task in self._in_flight if not task.workers & present.keys()]:
            task.losses += 1
            task.take_back()
        addresses = (self._scheduler.address, *present)
        if addresses[0].startswith("tcp://") and not all(map(_is_loopback, addresses)):
            self._tell(
                f"{self._address} is not encrypted: whoever is on this network can read what is graded, and run programs on the "
                "workers. docs/clusters.md shows how to use tls://"
            )

    def _ready(self, file: str) -> dict[str, _ClusterWorker]:
        """Those that have what submissions of one assignment need, by address."""
        return {
            address: worker for address, worker in self._workers.items() if file in worker.files and not worker.problem
        }

    def _prepare(self) -> None:
        """Have each worker take in what it does not have yet, and hear from those that have done so."""
        for address, worker in self._workers.items():
            if worker.preparation and worker.preparation[1].done():
                file, future = worker.preparation
                worker.preparation = None
                self._hear(address, file, future)
            file = self._setup.file
            if not worker.preparation and not worker.problem and file not in worker.files:
                worker.preparation = file, self._call([address], cluster_worker.prepare, self._setup)

    def _hear(self, address: str, file: str, future: Future[WorkerReport]) -> None:
        if future.cancelled():
            return
        worker, error = self._workers[address], future.exception()
        if error is None:
            report = future.result()
            self._hosts[address] = worker.host = report.host
            problem = report.problem
        elif isinstance(error, (ImportError, AttributeError, TypeError)):
            problem = (
                f"it has another version of this project, or none ({error}): install the same one on both machines"
            )
        elif isinstance(error, KilledWorker):
            problem = "it crashes when it is asked whether it can grade"
        else:
            problem = _in_a_line(error)
        if problem:
            self._leave_out(worker, problem)
        else:
            capacity = self.side_by_side
            worker.files.add(file)
            for task in list(self._in_flight)[capacity:]:  # they waited for the others; this one may have them, too
                task.take_back()

    # What is graded

    def _call(self, workers: list[str], function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Call a function of ours on one of these workers. Dask estimates how long a task takes by what its key begins with."""
        key = f"autograder_{function.__name__}-{uuid.uuid4().hex}"
        future: Future[Any] = self._executor.submit(
            pickle.loads, pickle.dumps(_Call(function, *arguments)), key=key, workers=workers
        )
        return future

    def _send(self) -> None:
        """Give what waits to those that can grade it; Dask chooses among them, and chooses anew where one ends."""
        for task in [self._waiting.popleft() for _ in range(len(self._waiting))]:
            workers = self._ready(task.file)
            if not workers:
                self._waiting.append(task)
            elif not task.result.cancelled():
                job = replace(task.job, reference_file=Path(task.file))
                task.workers = frozenset(workers)
                task.future = self._call(list(workers), cluster_worker.grade, self._setup.build, job)
                self._in_flight[task] = None
                task.future.add_done_callback(partial(self._deliver_grade, task))

    def _deliver_grade(self, task: _ClusterTask, future: Future[Reply]) -> None:
        """Hand on a grade at once. Called in a thread of Dask's."""
        if (
            not future.cancelled()
            and not future.exception()
            and (graded_submission := future.result().graded_submission)
        ):
            _set_outcome(task.result, graded_submission)
        self._back.put(task)

    def _take_back(self) -> None:
        """Look through what has come back without a grade: it is sent again, or its failure is told to whoever submitted it."""
        for task in [self._back.get() for _ in range(self._back.qsize())]:
            self._in_flight.pop(task, None)
            assert task.future
            if task.result.done():
                continue
            error = None if task.future.cancelled() else task.future.exception()
            if task.future.cancelled() and task.losses <= TRIES:
                self._waiting.append(task)
            elif task.future.cancelled():
                _set_outcome(task.result, WorkerDied(self._address, "all workers that it was sent to ended, each time"))
            elif isinstance(error, KilledWorker):
                host = self._hosts.get(error.last_worker.address, error.last_worker.address)
                _set_outcome(task.result, WorkerDied(host, "this worker and earlier ones ended while they graded it"))
            elif error:
                _set_outcome(task.result, WorkerDied(self._address, _in_a_line(error)))
            else:
                self._settle_failure(task, task.future.result())

    def _settle_failure(self, task: _ClusterTask, reply: Reply) -> None:
        if reply.key:
            _set_outcome(task.result, KeyProblem(f"{reply.host}: {reply.problem}"))
        elif not reply.unfit:
            _set_outcome(task.result, WorkerDied(reply.host, reply.problem))
        else:
            self._waiting.append(task)
            if worker := self._workers.get(reply.address):
                worker.files.clear()  # it is asked again
                worker.failures += 1
                if worker.failures == TRIES:
                    self._leave_out(worker, reply.problem)

    # What is missing

    def _call_for_more(self) -> None:
        """Let an adaptive cluster know that more is to be done than is sent: tasks that no worker can take, for twice the threads there are."""
        threads = sum(worker.threads for worker in self._workers.values())
        if threads and len(self._in_flight) + len(self._waiting) < 2 * self.side_by_side:
            self._calls.clear()  # what is under way is all there is
        elif (shortfall := CALLS_PER_THREAD * (2 * threads + 1) - len(self._calls)) > 0:
            payloads = [pickle.dumps(None)] * shortfall
            self._calls += self._client.map(
                pickle.loads, payloads, key="autograder_more", pure=False, resources={"autograder": 1}
            )

    def _tell_who_is_missing(self) -> None:
        if self.side_by_side:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = since = self._alone_since or now
        problems = [f"{worker.host}: {worker.problem}" for worker in self._workers.values() if worker.problem]
        if problems and len(problems) == len(self._workers):
            raise UserError(f"no worker at {self._address} can grade. {problems[0]}")
        start_one = f"`dask worker {self._address} --nthreads 1` starts one"
        if self._workers:
            if now > since + SILENT_SECONDS:
                self._tell("no worker is ready yet; waiting")
        elif self._hosts:
            if now > since + SILENT_SECONDS:
                self._tell("no workers at the moment; waiting", since)
        elif now > since + FIRST_SECONDS:
            raise UserError(
                f"no worker has connected to {self._address} in {FIRST_SECONDS / 60:.0f} minutes: {start_one}"
            )
        else:
            self._tell(f"no workers at {self._address} yet; waiting for the first: {start_one}")

    def _leave_out(self, worker: _ClusterWorker, problem: str) -> None:
        worker.problem = problem
        self._tell(f"{worker.host} is left out: {problem}")

    def _tell(self, line: str, about: object = None) -> None:
        """Print a line, once. about: what it is said of, where it may be said of another."""
        if (line, about) not in self._messages:
            self._messages.add((line, about))
            self._say(line)


def _set_outcome(result: Future[GradedSubmission], outcome: GradedSubmission | Exception) -> None:
    if not result.set_running_or_notify_cancel():
        return
    if isinstance(outcome, GradedSubmission):
        result.set_result(outcome)
    else:
        result.set_exception(outcome)


def _in_a_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _is_loopback(address: str) -> bool:
    host = str(urlsplit(address).hostname)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
