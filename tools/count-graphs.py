#!/usr/bin/env python3
"""Imports logs into sessions and counts: is every AOT graph that a log holds a row of recorded_graphs?

  count-graphs.py AOTSCOPE FILE...

Names the files where the numbers differ on standard error and prints the share of the others.
For .ci/run; the product and its tests need no Python.
"""
import gzip, json, os, re, sqlite3, subprocess, sys, tempfile

KINDS = ("aot_joint_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph")
TITLE = re.compile(r"===== (Joint|Forward|Backward|Inference|Forward only)? ?graph \d+ =====", re.I)


def graphs_in(path):
    """AOT graphs of a log: headers of TORCH_TRACE, titles of TORCH_LOGS."""
    n = 0
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as log:
        for line in log:
            if TITLE.search(line):
                n += 1
            elif not line.startswith("\t") and "{" in line:
                try:
                    header = json.loads(line[line.index("{"):])
                except ValueError:
                    continue
                n += isinstance(header, dict) and any(k in header for k in KINDS)
    return n


def graphs_kept(aotscope, path, folder):
    """Rows of recorded_graphs after an import; None if it made no session."""
    session = os.path.join(folder, "s.aots")
    run = subprocess.run([aotscope, "import", path, "-o", session], capture_output=True, text=True, timeout=300)
    if run.returncode not in (0, 1) or not os.path.exists(session):
        return None, run
    db = sqlite3.connect(session)
    n = db.execute("select count(*) from recorded_graphs").fetchone()[0]
    db.close()
    os.remove(session)
    return n, run


def main(aotscope, files):
    same = 0
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            want = graphs_in(path)
            got, run = graphs_kept(aotscope, path, folder)
        # an input that holds nothing known is refused with exit code 2, which is right if it has no graph
        if got == want or (got is None and want == 0 and run.returncode == 2):
            same += 1
        else:
            print(f"  {path}: {want} graphs, {got} recorded (exit {run.returncode})", file=sys.stderr)
    print(f"{100 * same / max(len(files), 1):.2f}")


main(sys.argv[1], sys.argv[2:])
