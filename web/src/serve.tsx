// The page of a server.

import { render } from 'preact';
import { Guard } from './parts/app.tsx';
import { Shell } from './views/shell.tsx';

const root = document.getElementById('app');
if (root) {
  render(
    <Guard>
      <Shell />
    </Guard>,
    root,
  );
}
