//! Random programs of every step kind. Failures are always handled somewhere: what an unhandled failure cancels depends
//! on timing, so there would be nothing to compare.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use trefoil_ir::{
    Attempts, Budget, CommandCall, ConsensusRule, ConsensusStrategy as Formula, Conversation, FlowCallee, FlowId,
    GraphEdge, GraphNode, HumanCall, IndexVec, Judge, MatchedOutcome, NodeId, Offer, OnExceeded, OnItemFailure,
    OnStepFailure, OnTimeout, Program, Retry, RetryBackoff, RetryOn, Source, StateId, StateMachine, StateTransition,
    StepGraph, StepId, StepKind, SubflowCall, ToolCall, ToolKind, Validator, ValidatorKind, ValueExpression,
    WorkflowState,
};
use trefoil_template::Value;

use testbed::build::{Build, nowhere};

/// A step to be generated.
#[derive(Debug, Clone)]
pub enum Node {
    Model {
        read: u8,
        sort: u8,
        when: u8,
    },
    Compute(u8),
    Wait,
    Human,
    Tool(u8),
    Command(u8),
    Sequence(Vec<Node>),
    Parallel {
        branches: Vec<Node>,
        concurrency: u8,
        bad: bool,
    },
    Branch {
        on: u8,
        arm: Box<Node>,
        otherwise: Option<Box<Node>>,
    },
    Loop(Box<Node>),
    ForEach {
        items: u8,
        body: Box<Node>,
        concurrency: u8,
        bad: bool,
    },
    Graph(Vec<(Node, u8, u8)>),
    States(Vec<Node>),
    Attempts {
        body: Box<Node>,
        validators: u8,
    },
    Call(Box<Node>),
    /// A model with tools, and with flows that have these bodies.
    Talk(Vec<Node>),
    /// With a time limit and without a label.
    Bare(Box<Node>),
}

pub fn node() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        6 => (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(read, sort, when)| Node::Model { read, sort, when }),
        1 => any::<u8>().prop_map(Node::Compute),
        1 => Just(Node::Wait),
        1 => Just(Node::Human),
        1 => any::<u8>().prop_map(Node::Tool),
        1 => any::<u8>().prop_map(Node::Command),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        let one = inner.clone().prop_map(Box::new);
        prop_oneof![
            2 => some.clone().prop_map(Node::Sequence),
            2 => (some.clone(), 0u8..3, any::<bool>())
                .prop_map(|(branches, concurrency, bad)| Node::Parallel { branches, concurrency, bad }),
            1 => (any::<u8>(), one.clone(), prop::option::of(one.clone()))
                .prop_map(|(on, arm, otherwise)| Node::Branch { on, arm, otherwise }),
            1 => one.clone().prop_map(Node::Loop),
            1 => (0u8..4, one.clone(), 0u8..3, any::<bool>())
                .prop_map(|(items, body, concurrency, bad)| Node::ForEach { items, body, concurrency, bad }),
            2 => prop::collection::vec((inner.clone(), any::<u8>(), any::<u8>()), 1..5).prop_map(Node::Graph),
            1 => some.clone().prop_map(Node::States),
            1 => some.prop_map(Node::Talk),
            1 => (one.clone(), 0u8..5).prop_map(|(body, validators)| Node::Attempts { body, validators }),
            1 => one.clone().prop_map(Node::Call),
            1 => one.prop_map(Node::Bare),
        ]
    })
}

pub fn program(root: &Node) -> Arc<Program> {
    let mut lower = Lower { build: Build::new(), count: 0, visible: vec!["input".into()], judge: None };
    let body = lower.node(root);
    let all: Vec<String> = lower.visible.iter().map(|name| format!("{{{{{name}}}}}")).collect();
    let main = lower.build.flow("main", body, Some(&all.join("|")));
    // Every call has its own timer, so that the keys of the timers must differ too.
    for flow in lower.build.flows.iter_mut().flatten() {
        let ceiling = Some(1_000_000);
        let budget = Budget {
            max_tokens: None,
            max_duration_ms: ceiling,
            max_calls: None,
            calls_at: None,
            max_cost_micro: None,
            on_exceeded: OnExceeded::Warn,
        };
        flow.budget = Some(budget);
    }
    let program = lower.build.program(main);
    assert_eq!(trefoil_ir::validation::validate_program(&program), Vec::<String>::new());
    program
}

struct Lower {
    build: Build,
    count: u32,
    /// Slots that can be read here without a race.
    visible: Vec<String>,
    judge: Option<FlowId>,
}

impl Lower {
    fn label(&mut self, name: &str) -> String {
        self.count += 1;
        format!("{name}{}", self.count)
    }

    fn read(&self, at: u8) -> String {
        format!("{{{{{}}}}}", self.visible[usize::from(at) % self.visible.len()])
    }

    fn cond(&self, on: u8) -> String {
        match on % 3 {
            0 => "{{env.FLAG}} == \"on\"".into(),
            1 => format!("{} != \"\"", self.read(on / 3)),
            _ => format!("{} == \"x\"", self.read(on / 3)),
        }
    }

    fn model(&mut self, speaker: &str, label: &str, user: &str) -> StepId {
        let call = self.build.model_call(speaker, user);
        let id = self.build.step(label, StepKind::Model(Box::new(call)));
        if label.is_empty() { id } else { self.build.out(id, label) }
    }

    fn node(&mut self, node: &Node) -> StepId {
        match node {
            Node::Model { read, sort, when } => self.model_node(*read, *sort, *when),
            Node::Compute(read) => {
                let (text, label) = (self.read(*read), self.label("value"));
                let id = self.build.compute(&label, &text);
                self.visible.push(label);
                id
            }
            Node::Wait => {
                let label = self.label("wait");
                self.build.wait(&label, 5)
            }
            Node::Human => {
                let prompt = ValueExpression::Template(self.build.text("well?"));
                let call = HumanCall {
                    prompt,
                    timeout_ms: Some(50),
                    on_timeout: OnTimeout::Answer("no".into()),
                    answer_at: None,
                };
                self.effect("ask", StepKind::Human(Box::new(call)))
            }
            Node::Tool(read) => {
                let text = self.read(*read);
                let arguments = ValueExpression::Object(vec![("a".into(), self.build.value(&text))]);
                self.effect(
                    "tool",
                    StepKind::Tool(Box::new(ToolCall { name: "t".into(), kind: ToolKind::Local, arguments })),
                )
            }
            Node::Command(read) => {
                let text = self.read(*read);
                let arguments = vec![self.build.value(&text)];
                let call = CommandCall { script: "echo \"${1}\"".into(), arguments, env: vec![], workdir: None };
                self.effect("run", StepKind::Command(Box::new(call)))
            }
            Node::Sequence(steps) => {
                let steps: Vec<StepId> = steps.iter().map(|n| self.node(n)).collect();
                self.build.sequence("", &steps)
            }
            Node::Parallel { branches, concurrency, bad } => {
                let mut steps: Vec<StepId> = branches.iter().map(|n| self.node(n)).collect();
                let on_failure = if *bad { OnItemFailure::Continue } else { OnItemFailure::Abort };
                if *bad {
                    steps.push(self.model("bad", "broken", "x"));
                }
                let id = self.build.parallel("", &steps, on_failure);
                if let StepKind::Parallel(parallel) = &mut self.build.at(id).kind {
                    parallel.concurrency = (*concurrency > 0).then_some(u32::from(*concurrency));
                }
                id
            }
            Node::Branch { on, arm, otherwise } => {
                let cond = self.cond(*on);
                let arm = self.node(arm);
                let otherwise = otherwise.as_ref().map(|n| self.node(n));
                self.build.branch("", &[(&cond, arm)], otherwise)
            }
            Node::Loop(body) => {
                let inner = self.node(body);
                let label = self.label("loop");
                let last = self.model("looping", &label, "again");
                let body = self.build.sequence("", &[inner, last]);
                self.build.repeat("", body, &format!("{{{{{label}}}}} == \"stop\""), 3)
            }
            Node::ForEach { items, body, concurrency, bad } => self.for_each(*items, body, *concurrency, *bad),
            Node::Graph(nodes) => self.graph(nodes),
            Node::States(states) => self.states(states),
            Node::Attempts { body, validators } => self.attempts(body, *validators),
            Node::Call(body) => {
                let callee = self.flow(body, false);
                let label = self.label("call");
                let id = self.build.call(&label, callee, "{{input}}");
                self.visible.push(label);
                id
            }
            Node::Talk(bodies) => self.talk(bodies),
            Node::Bare(inner) => {
                let id = self.node(inner);
                let step = self.build.at(id);
                step.label = None;
                step.policy.timeout_ms = Some(1000);
                id
            }
        }
    }

    fn effect(&mut self, name: &str, kind: StepKind) -> StepId {
        let label = self.label(name);
        let id = self.build.step(&label, kind);
        self.visible.push(label.clone());
        self.build.out(id, &label)
    }

    fn model_node(&mut self, read: u8, sort: u8, when: u8) -> StepId {
        let user = format!("about {}", self.read(read));
        let speaker = match sort % 8 {
            0 => "flaky",
            1 | 2 => "bad",
            3 => "list",
            _ => "plain",
        };
        let label = self.label(speaker);
        let id = self.model(speaker, &label, &user);
        let retry = Retry {
            max_attempts: 3,
            backoff: RetryBackoff::Exponential,
            base_delay_ms: u64::from(sort / 8 % 2) * 100,
            max_delay_ms: 1000,
            jitter: true,
            on: vec![RetryOn::Status(429)],
        };
        let policy = &mut self.build.at(id).policy;
        policy.retry = Some(retry);
        policy.timeout_ms = (sort / 16 % 2 == 1).then_some(10_000);
        policy.on_failure = match sort % 8 {
            1 => OnStepFailure::Skip,
            2 => OnStepFailure::Use(Box::new(ValueExpression::Const(Value::from("default")))),
            _ => OnStepFailure::Fail,
        };
        if when.is_multiple_of(4) {
            let cond = self.cond(when / 4);
            self.build.when(id, &cond);
        }
        self.visible.push(label);
        id
    }

    /// A separate flow around a node; the slots of the current flow are saved meanwhile.
    fn flow(&mut self, body: &Node, item: bool) -> FlowId {
        let slots = std::mem::replace(&mut self.build.slots, vec!["input".into()]);
        let visible = std::mem::replace(&mut self.visible, vec!["input".into()]);
        if item {
            self.build.begin_item();
            self.visible.extend(["item", "index"].map(str::to_owned));
        }
        let body = self.node(body);
        let name = self.label("flow");
        let output = format!("{{{{{}}}}}", self.visible.last().map_or("input", String::as_str));
        let id = self.build.flow(&name, body, Some(&output));
        self.build.slots = slots;
        self.visible = visible;
        id
    }

    /// Offers: a tool described in the manifest, one that describes itself, and the flows.
    fn talk(&mut self, bodies: &[Node]) -> StepId {
        let input = json!({"type": "object", "required": ["input"], "properties": {"input": {"type": "string"}}});
        let schema = self.build.schema(input);
        let offer = |name: &str, step, parameters, member: Option<&str>| Offer {
            name: name.into(),
            description: None,
            parameters,
            pinned: Vec::new(),
            member: member.map(Into::into),
            all: false,
            step,
            origin: nowhere(),
        };
        let mut offers = Vec::new();
        for (name, parameters) in [("tool", Some(schema)), ("unknown", None)] {
            let call =
                ToolCall { name: name.into(), kind: ToolKind::Local, arguments: ValueExpression::Read(Source::Result) };
            let step = self.build.step(name, StepKind::Tool(Box::new(call)));
            offers.push(offer(name, step, parameters, None));
        }
        for (n, body) in bodies.iter().enumerate() {
            let (callee, name) = (FlowCallee::Flow(self.flow(body, false)), format!("flow_{n}"));
            let call =
                SubflowCall { callee, input: Some(ValueExpression::Read(Source::Result)), exports: None, span: None };
            let step = self.build.step(&name, StepKind::Call(Box::new(call)));
            offers.push(offer(&name, step, Some(schema), Some("input")));
        }
        let user = format!("about {}", self.read(bodies.len() as u8));
        let turn = self.model("talker", "", &user);
        let conversation =
            Conversation { turn, offers, gate: None, max_turns: 5, max_turns_at: None, calls: Default::default() };
        self.effect("talk", StepKind::Conversation(Box::new(conversation)))
    }

    fn for_each(&mut self, items: u8, body: &Node, concurrency: u8, bad: bool) -> StepId {
        let body = if bad {
            Node::Sequence(vec![body.clone(), Node::Model { read: 0, sort: 4, when: 1 }])
        } else {
            body.clone()
        };
        let body = self.flow(&body, true);
        if bad
            && let StepKind::Sequence(steps) = self.build.at(self.build.flows[body].clone().unwrap().body).kind.clone()
        {
            // The last one always fails.
            if let StepKind::Model(call) = &mut self.build.at(steps[1]).kind {
                call.speaker = "bad".into();
            }
        }
        let list: Vec<Value> = (0..items).map(|n| Value::from(u32::from(n))).collect();
        let label = self.label("each");
        let on_failure = if bad { OnItemFailure::Continue } else { OnItemFailure::Abort };
        let id = self.build.for_each(&label, "{{input}}", body, on_failure);
        if let StepKind::ForEach(each) = &mut self.build.at(id).kind {
            each.items = trefoil_ir::FanOutItems::List(ValueExpression::Const(Value::from(list)));
            each.concurrency = (concurrency > 0).then_some(u32::from(concurrency));
            each.timeout_ms = bad.then_some(500);
        }
        self.visible.push(label);
        id
    }

    fn graph(&mut self, nodes: &[(Node, u8, u8)]) -> StepId {
        let before = self.visible.clone();
        let mut after = before.clone();
        let mut graph = StepGraph { nodes: IndexVec::default() };
        for (at, (node, edges, sort)) in nodes.iter().enumerate() {
            // Only what existed before the graph, because the order within it is uncertain.
            self.visible = before.clone();
            let step = self.node(node);
            after.extend(self.visible[before.len()..].iter().cloned());
            self.visible = before.clone();
            let mut node = GraphNode { step, incoming: vec![], after: vec![], fallback_of: vec![], fallback: None };
            for from in 0..at {
                if edges >> from & 1 == 1 {
                    let when = (edges >> 4 & 1 == 1).then(|| {
                        let cond = self.cond(*sort);
                        self.build.cond(&cond)
                    });
                    node.incoming.push(GraphEdge { from: NodeId(from as u32), when, carry: None, origin: nowhere() });
                } else if sort >> from & 1 == 1 {
                    node.after.push(NodeId(from as u32));
                }
            }
            graph.nodes.push(node);
        }
        if nodes.len() > 2 {
            // A node that fails, and its fallback.
            let count = graph.nodes.len() as u32;
            let (bad, good) = (self.label("failing"), self.label("fallback"));
            let step = self.model("bad", &bad, "x");
            graph.nodes.push(GraphNode {
                step,
                incoming: vec![],
                after: vec![],
                fallback_of: vec![],
                fallback: Some(NodeId(count + 1)),
            });
            let step = self.model("plain", &good, "instead");
            graph.nodes.push(GraphNode {
                step,
                incoming: vec![],
                after: vec![],
                fallback_of: vec![NodeId(count)],
                fallback: None,
            });
            after.push(good);
        }
        self.visible = after;
        self.build.step("", StepKind::Graph(graph))
    }

    fn states(&mut self, nodes: &[Node]) -> StepId {
        let mut states = Vec::new();
        let count = nodes.len() as u32 + 1; // and the gate before the end
        // Concurrent machines must not write to each other's slots.
        let (before, said) = (self.label("previous"), self.label("feedback"));
        let (previous, feedback) = (self.build.slot(&before), self.build.slot(&said));
        for (at, node) in nodes.iter().enumerate() {
            let inner = self.node(node);
            let label = self.label("S");
            let last = self.model(
                if at % 2 == 0 { "state" } else { "bad" },
                &label,
                &format!("{{{{{said}}}}}{{{{{before}}}}}"),
            );
            // The state's step is the structure around both; its slot is that of the last one.
            let step = self.build.sequence("", &[inner, last]);
            let slot = self.build.slot(&label);
            self.build.at(step).out = Some(slot);
            let back = self.build.cond(&format!("{{{{{label}}}}} == \"back\""));
            let to = |takes, when, target, feedback| StateTransition {
                takes,
                when,
                target: StateId(target),
                target_at: nowhere(),
                feedback,
                origin: nowhere(),
                text: "go".into(),
            };
            let text = self.build.text("again after {{result}}");
            states.push(WorkflowState {
                name: label.as_str().into(),
                step,
                failed: Some(ValueExpression::Template(self.build.text("failed: {{failure}}"))),
                max_visits: 20,
                max_visits_at: None,
                transitions: vec![
                    to(MatchedOutcome::Success, Some(back), 0, Some(text)),
                    to(MatchedOutcome::Both, None, at as u32 + 1, None),
                ],
                ends_unmatched: false,
                fails_when: None,
            });
            self.visible.push(label);
        }
        let gate = self.label("GATE");
        let prompt = ValueExpression::Template(self.build.text("sure?"));
        let call = HumanCall { prompt, timeout_ms: Some(50), on_timeout: OnTimeout::Fail, answer_at: None };
        let step = self.build.step(&gate, StepKind::Human(Box::new(call)));
        let step = self.build.out(step, &gate);
        let sure = self.build.cond(&format!("{{{{{gate}}}}} == \"sure\""));
        states.push(WorkflowState {
            name: gate.as_str().into(),
            step,
            failed: None,
            max_visits: 20,
            max_visits_at: None,
            transitions: vec![StateTransition {
                takes: MatchedOutcome::Success,
                when: Some(sure),
                target: StateId(count),
                target_at: nowhere(),
                feedback: None,
                origin: nowhere(),
                text: "sure".into(),
            }],
            ends_unmatched: false,
            fails_when: None,
        });
        let label = self.label("END");
        let step = self.model("plain", &label, &format!("done {{{{{before}}}}}"));
        self.visible.push(label.clone());
        // One that ends without a match, because its only transition is for failures.
        let unmatched = nodes.len() % 2 == 1;
        let on_failure = StateTransition {
            takes: MatchedOutcome::Failure,
            when: None,
            target: StateId(0),
            target_at: nowhere(),
            feedback: None,
            origin: nowhere(),
            text: "on failure".into(),
        };
        states.push(WorkflowState {
            name: label.as_str().into(),
            step,
            failed: None,
            max_visits: 1,
            max_visits_at: None,
            transitions: unmatched.then_some(on_failure).into_iter().collect(),
            ends_unmatched: unmatched,
            fails_when: None,
        });
        debug_assert_eq!(states.len() as u32, count + 1);
        let kind = StepKind::StateMachine(StateMachine {
            states: states.into(),
            initial: StateId(0),
            max_entries: 100,
            max_entries_at: None,
            feedback: Some(feedback),
            previous_error: Some(previous),
            visit: None,
        });
        self.build.step("", kind)
    }

    fn attempts(&mut self, body: &Node, validators: u8) -> StepId {
        let inner = self.node(body);
        let label = self.label("try");
        // Concurrent steps must not write to each other's slots.
        let (iteration, why) = (self.label("iteration"), self.label("why"));
        let last = self.model("plain", &label, &format!("why: {{{{{why}}}}}"));
        let body = self.build.sequence("", &[inner, last]);
        let judge = self.judge();
        let validator = |kind, min_score| Validator {
            kind,
            min_score,
            min_confidence: 0.0,
            origin: nowhere(),
            name: "check".into(),
        };
        let judges = |this: &mut Self, count: usize| {
            let one = Judge {
                name: "judge".into(),
                flow: judge,
                input: ValueExpression::Template(this.build.text("judge {{result}}")),
                weight: 1.0,
                timeout_ms: Some(1000),
                timeout_at: None,
            };
            let consensus = ConsensusRule {
                strategy: Formula::WeightedAverage,
                threshold: 0.5,
                min_judges: 1,
                n: None,
                agreement_factor: 0.7,
                confidence_factor: 0.3,
            };
            ValidatorKind::Judges { judges: vec![one; count], consensus }
        };
        let mut all = vec![validator(ValidatorKind::Regex { pattern: "plain".into(), stderr: false }, 1.0)];
        for _ in 0..validators / 2 {
            let kind = judges(self, 2);
            all.push(validator(kind, 0.5));
        }
        if validators % 2 == 1 {
            all.insert(0, validator(ValidatorKind::ExitCode { expected: 0 }, 1.0));
        }
        let attempts = Attempts {
            body,
            max: 3,
            validators: all,
            iteration: self.build.slot(&iteration),
            previous_error: self.build.slot(&why),
            retry_failures: true,
        };
        self.visible.push(label);
        let outer = self.label("attempts");
        self.build.step(&outer, StepKind::Attempts(attempts))
    }

    fn judge(&mut self) -> FlowId {
        if let Some(flow) = self.judge {
            return flow;
        }
        let slots = std::mem::replace(&mut self.build.slots, vec!["input".into()]);
        let say = self.model("judge", "", "{{input}}");
        let id = self.build.flow("judge", say, None);
        self.build.slots = slots;
        self.judge = Some(id);
        id
    }
}
