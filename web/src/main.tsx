// Shows the trace that stands in the page.
import { render } from 'preact';

const element = document.getElementById('trace');
const data = JSON.parse(element?.textContent ?? 'null');
render(<pre>{JSON.stringify(data, null, 2)}</pre>, document.getElementById('app')!);
