"""The durable step of another engine: LangGraph with its SQLite checkpointer.

Reads a line, takes so many steps of one run, each with 1,000 bytes of new state, answers with a line. Needs `langgraph` and
`langgraph-checkpoint-sqlite`. Arguments: the file of the store, and the number of steps.
"""

import sqlite3
import sys
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

path, steps = sys.argv[1], int(sys.argv[2])


class State(TypedDict):
    done: int
    text: str


def step(state: State) -> State:
    return {"done": state["done"] + 1, "text": f"{state['done']:08}" * 125}


graph = StateGraph(State)
graph.add_node("step", step)
graph.add_edge(START, "step")
graph.add_conditional_edges("step", lambda state: END if state["done"] >= steps else "step")
saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))
app = graph.compile(checkpointer=saver)

turn = 0
print("ready", flush=True)
for _ in sys.stdin:
    turn += 1
    config = {"configurable": {"thread_id": f"run-{turn}"}, "recursion_limit": steps + 10}
    app.invoke({"done": 0, "text": ""}, config, durability="sync")
    print("done", flush=True)
