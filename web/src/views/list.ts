// All views. A new one is a file, and a line here.

import type { ComponentType } from 'preact';
import type { Me } from '../server/api.ts';
import type { Route } from '../server/route.ts';
import { EditView } from './edit.tsx';
import { CompareView } from './compare.tsx';
import { CostsView } from './costs.tsx';
import { FlowView } from './flow.tsx';
import { FlowsView } from './flows.tsx';
import { HistoryView } from './history.tsx';
import { QuestionsView } from './questions.tsx';
import { RunView } from './run.tsx';
import { RunsView } from './runs.tsx';
import { StartView } from './start.tsx';

export interface ViewProps {
  route: Route;
}

interface ViewEntry {
  /** What it is called in the menu and in the title of the window. */
  name: (path: string[]) => string;
  /** Whether it shows this path. */
  fits: (path: string[]) => boolean;
  /** What tells one of it from another: it starts anew where this changes. */
  id: (path: string[]) => string;
  view: ComponentType<ViewProps>;
  /** Its address, if it is in the menu. */
  menu?: string;
  /** What a key must allow. */
  scope: Me['scopes'][number];
}

export const VIEWS: ViewEntry[] = [
  { name: () => 'Runs', fits: (path) => path.length === 0 || (path[0] === 'runs' && path.length === 1), id: () => 'runs', view: RunsView, menu: '#/', scope: 'read' },
  { name: (path) => `Run ${path[1]}`, fits: (path) => path[0] === 'runs' && path.length > 1, id: (path) => `run ${path[1]}`, view: RunView, scope: 'read' },
  { name: () => 'Edit', fits: (path) => path[0] === 'edit' && path.length === 2, id: (path) => `edit ${path[1]}`, view: EditView, scope: 'read' },
  { name: () => 'Compare', fits: (path) => path[0] === 'compare', id: () => 'compare', view: CompareView, scope: 'read' },
  { name: () => 'Questions', fits: (path) => path[0] === 'questions', id: () => 'questions', view: QuestionsView, menu: '#/questions', scope: 'read' },
  { name: () => 'Flows', fits: (path) => path[0] === 'flows' && path.length === 1, id: () => 'flows', view: FlowsView, menu: '#/flows', scope: 'read' },
  { name: (path) => `${path[1]} over many runs`, fits: (path) => path[0] === 'flows' && path[2] === 'history', id: (path) => `history ${path[1]}`, view: HistoryView, scope: 'read' },
  { name: () => 'Costs', fits: (path) => path[0] === 'costs', id: () => 'costs', view: CostsView, menu: '#/costs', scope: 'read' },
  { name: (path) => path[1] ?? 'Flow', fits: (path) => path[0] === 'flows' && path.length > 1, id: (path) => `flow ${path[1]}`, view: FlowView, scope: 'read' },
  { name: () => 'Start a run', fits: (path) => path[0] === 'start', id: (path) => `start ${path[1] ?? ''}`, view: StartView, scope: 'run' },
];
