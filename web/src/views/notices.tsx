// Notices stay until somebody has read them, in whichever view.

import { forgetNotice, notices } from '../server/notices.ts';
import { brief } from '../text.ts';

export function Notices() {
  return (
    <div class="notices" role="alert">
      {notices.value.map((text) => (
        <p key={text} dir="auto">
          {brief(text, 400)}
          <button type="button" class="quiet" onClick={() => forgetNotice(text)}>
            Close
          </button>
        </p>
      ))}
    </div>
  );
}
