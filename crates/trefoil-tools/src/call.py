# Calls one function; see python.rs. Runs on every Python from 3.8 on, and imports nothing that it does not need.
import sys

# First of all: no module of the current folder takes the place of an installed one, nor of those that this file imports.
sys.path[:] = [place for place in sys.path if place not in ("", ".")]
import json, os, re  # noqa: E402

answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what is printed, by whatever means, is not the result


def end(**what):
    try:
        text = json.dumps(what, allow_nan=False)
        # Whole numbers beyond 64 bits are read as floats, as in every JSON. Python writes those, too, that are too large for that.
        if re.search("[0-9]{309}", text):
            json.loads(text, parse_int=lambda digits: float(int(digits)))
    except OverflowError:
        text = json.dumps({"error": "its result has a whole number that is too large; return it as text", "kind": "result"})
    except (TypeError, ValueError, RecursionError) as why:
        text = json.dumps({"error": "its result cannot be written as JSON: %s" % why, "kind": "result"})
    answer.write(text)
    answer.flush()
    sys.stdout.flush()
    sys.exit(0)


asked = json.loads(sys.stdin.buffer.read().decode("utf-8"))
call = asked["call"]
sys.path += asked["path"]
module, function = call["module"], call["function"]
import importlib  # noqa: E402

answer.write(" ")  # the interpreter works: if it ends without a result from here on, the module ended it
answer.flush()

try:
    found = importlib.import_module(module)
except ModuleNotFoundError as why:
    end(error="cannot import the module `%s`: %s" % (module, why), kind="missing")
except BaseException as why:
    end(error="cannot import the module `%s`: %s: %s" % (module, type(why).__name__, why), kind="import")
if function is None:  # only the import is tried
    end(result=None)
if not hasattr(found, function):
    end(error="the module `%s` has no function `%s`" % (module, function), kind="function")
target = getattr(found, function)
if not callable(target):
    end(error="`%s.%s` is not a function" % (module, function), kind="function")
try:
    result = target(**call.get("args", {}))
    if hasattr(result, "__await__"):
        import asyncio

        async def wait():
            return await result

        result = asyncio.run(wait())
except BaseException as why:
    import traceback

    traceback.print_exc()
    end(error="`%s.%s` raised %s: %s" % (module, function, type(why).__name__, why))
end(result=result)
