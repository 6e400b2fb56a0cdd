# How lit runs this suite. A test is a file with RUN lines: a `.test` script, a
# `.cu` that is copied to %t before anything writes to it, or the `.c` of a unit
# program that CMake built.
import ctypes
import os
import shutil
import subprocess

import lit.formats

config.name = "kevin-rewrite"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".test", ".cu", ".c"]
config.excludes = ["corpus", "evidence", "bench", "fuzz", "tools", "server", "Inputs"]

source = getattr(config, "kr_source", None)
build = getattr(config, "kr_build", None)
if not build:
    lit_config.fatal("run lit on a build folder's test/, where lit.site.cfg.py is")
config.test_source_root = os.path.join(source, "test")
config.test_exec_root = os.path.join(build, "test")
bin_dir = os.path.join(build, "bin")
llvm_bin = config.kr_llvm_bin


def llvm_tool(name, needed=True):
    for candidate in (os.path.join(llvm_bin, name), shutil.which(name + "-19"), shutil.which(name)):
        if candidate and os.path.exists(candidate):
            return candidate
    if not needed:
        return name
    lit_config.fatal("%s is missing (Debian: llvm-19-tools)" % name)


# Nothing of the user's may leak into a test: no key, no home, no configuration.
for name in list(config.environment):
    if name.startswith(("OPENAI_", "ANTHROPIC_", "KEVIN_", "XDG_", "GIT_")) or name.lower().endswith("_proxy"):
        del config.environment[name]
home = os.path.join(config.test_exec_root, "home")
os.makedirs(home, exist_ok=True)
config.environment.update(
    HOME=home,
    XDG_STATE_HOME=os.path.join(home, "state"),
    XDG_CONFIG_HOME=os.path.join(home, "config"),
    LC_ALL="C.UTF-8",
    PATH=os.pathsep.join([bin_dir, os.environ.get("PATH", "")]),
    PYTHONDONTWRITEBYTECODE="1",
    GIT_CONFIG_NOSYSTEM="1",
    # Reports of sanitizers fail a test even when a `not` expects failure.
    ASAN_OPTIONS="abort_on_error=1:detect_leaks=1",
    UBSAN_OPTIONS="abort_on_error=1:print_stacktrace=1",
)
# KR_FIGURES: where test/evidence/evidence.py writes what it measured.
for name in ("LD_LIBRARY_PATH", "CUDA_PATH", "CUDA_HOME", "TERM", "KR_FIGURES"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%unit", os.path.join(build, "test", "unit")),
    ("%tool", os.path.join(build, "test", "tools")),
    ("%build", build),
    ("%bin", bin_dir),
    ("%corpus", os.path.join(source, "test", "corpus")),
    ("%source", source),
    ("%cuda", os.path.dirname(config.kr_cuda_include)),
    ("%nvcc", shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"),
    ("%double", "python3 " + os.path.join(source, "test", "tools", "fake_worker.py") + " install"),
    ("%hack", "env KR_BIN=%s KR_TOOLS=%s python3 %s" % (
        bin_dir, os.path.join(build, "test", "tools"),
        os.path.join(source, "test", "evaluator", "hacks", "judge.py"))),
    ("%server", "python3 " + os.path.join(source, "test", "server", "loopback.py")),
    (r"\bFileCheck\b", llvm_tool("FileCheck") + " --dump-input=fail"),
    (r"\bnot\b", llvm_tool("not")),
    (r"%clang\b", llvm_tool("clang", needed=False)),
    (r"\bsplit-file\b", llvm_tool("split-file", needed=False)),
]

# Features. Each is found out here, once, and by looking; .ci/run compares the
# tests that were skipped for lack of one with a list.
features = config.available_features
features.update(f for f in config.kr_features if f)
if config.kr_sanitize:
    features.add("sanitizer")
for s in config.kr_sanitize.split(","):
    if s:
        features.add({"address": "asan", "undefined": "ubsan", "thread": "tsan"}.get(s, s))
if config.kr_have_cuda:
    features.add("cuda-build")
if shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc"):
    features.add("nvcc")
for tool in ("strace", "git", "clang-format", "mandoc", "openssl"):
    if shutil.which(tool):
        features.add(tool)


clang_format = shutil.which("clang-format-19") or shutil.which("clang-format")
if clang_format:
    features.add("clang-format")
    config.substitutions.append(("%clang_format", clang_format))


def has_device():
    try:
        out = subprocess.run(["nvidia-smi", "-L"], capture_output=True, timeout=30, text=True)
        return out.returncode == 0 and "GPU 0" in out.stdout
    except (OSError, subprocess.TimeoutExpired):
        return False


def has_nvrtc():
    folders = [os.environ.get("CUDA_PATH", ""), os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    names = ["libnvrtc.so.13", "libnvrtc.so.12"]
    if any(os.path.exists(os.path.join(f, d, n)) for f in folders if f for d in ("lib64", "lib") for n in names):
        return True
    for name in names:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


# Compiling for a GPU needs none.
if config.kr_have_cuda and has_nvrtc():
    features.add("nvrtc")
if has_device():
    features.add("cuda-device")
# One GPU is timed by one test at a time.
lit_config.parallelism_groups["cuda-device"] = 1
