"""Oracles of the retry storm: every call from one heap. Slow, plain, and written from the definitions."""

import heapq


def collapse_or_serve(calls, served, per_window, limit):
    """Decide a window by all its calls, each (time, job, retry): the retry served of each job, or None if it falls."""
    live = [call for call in calls if call[1] not in served]
    if limit is not None and len(live) > limit:
        return None
    chosen = {}
    for _, job, retry in sorted(live):
        if job not in chosen and len(chosen) < per_window:
            chosen[job] = retry
    return chosen


def heap_storm(waits, downstream, poll_ms=0):
    """Every job's calls from one heap, window by window. `waits[job][retry]` in ms; returns as `window.serve` does."""

    def tick(time):
        return -(-time // poll_ms) * poll_ms if poll_ms else time

    heap = [(tick(w[0]), job, 1) for job, w in enumerate(waits)]
    heapq.heapify(heap)
    served, knocked, down_until = {}, [], downstream.outage_ms
    while heap:
        window = (heap[0][0] - downstream.outage_ms) // downstream.window_ms
        start = downstream.outage_ms + window * downstream.window_ms
        end = start + downstream.window_ms if heap[0][0] >= downstream.outage_ms else downstream.outage_ms
        calls = []
        while heap and heap[0][0] < end:  # as if all of them were refused
            time, job, retry = heapq.heappop(heap)
            if job in served:
                continue
            calls.append((time, job, retry))
            if retry < len(waits[job]):
                heapq.heappush(heap, (tick(time + waits[job][retry]), job, retry + 1))
        if end <= downstream.outage_ms or start < down_until:
            continue
        chosen = collapse_or_serve(calls, served, downstream.per_window, downstream.limit)
        if chosen is None:
            knocked.append(start)
            down_until = start
            while down_until < start + max(downstream.down_ms, 1):
                down_until += downstream.window_ms
        else:
            served |= chosen
    return [served.get(job, 0) for job in range(len(waits))], knocked


def heap_pool(waits, downstream, pool, poll_ms=0):
    """The storm through a pool, from one heap of due calls, with a collapse too."""

    def tick(time):
        return -(-time // poll_ms) * poll_ms if poll_ms else time

    due = [(tick(w[0]), job, 1) for job, w in enumerate(waits)]
    heapq.heapify(due)
    served, times, knocked = {}, {}, []
    free, down_until = 0, downstream.outage_ms
    open_window, calls = None, []

    def close():
        nonlocal down_until
        start = downstream.outage_ms + open_window * downstream.window_ms
        chosen = {}
        if open_window >= 0 and start >= down_until:
            chosen = collapse_or_serve(calls, served, downstream.per_window, downstream.limit)
            if chosen is None:
                knocked.append(start)
                down_until = start
                while down_until < start + max(downstream.down_ms, 1):
                    down_until += downstream.window_ms
                chosen = {}
        served.update(chosen)
        for time, job, retry in calls:
            if job not in chosen and retry < len(waits[job]):
                heapq.heappush(due, (tick(time + pool.service_ms + waits[job][retry]), job, retry + 1))
        calls.clear()

    def serve_now(time, job, retry):
        # Without a collapse the answer is known at once: what was let in before in this window counts.
        window = (time - downstream.outage_ms) // downstream.window_ms
        count[window] = count.get(window, 0) + 1
        if time >= downstream.outage_ms and count[window] <= downstream.per_window:
            served[job] = retry
        elif retry < len(waits[job]):
            heapq.heappush(due, (tick(time + pool.service_ms + waits[job][retry]), job, retry + 1))

    count = {}
    while due or calls:
        start = max(due[0][0] * pool.workers, free) // pool.workers if due else None
        window = None if start is None else (start - downstream.outage_ms) // downstream.window_ms
        if calls and window != open_window:
            close()
            continue
        time, job, retry = heapq.heappop(due)
        free = max(time * pool.workers, free) + pool.service_ms
        times[job, retry] = start
        if downstream.limit is None:
            serve_now(start, job, retry)
        else:
            open_window = window
            calls.append((start, job, retry))
    return [served.get(job, 0) for job in range(len(waits))], times, knocked
