import { formatMs } from '../../lib/format.js';
import { html } from '../../lib/html.js';

/** The words for each step; those of the previous step end there. */
const WORDS = {
  started: 'Waited for its evaluation',
  evaluated: 'Evaluated',
  stored: 'Stored',
  delivered: 'Delivered',
};
/** A bar that is shorter cannot be seen. */
const SHARE_MIN = 0.004;

/** How long each step of a check took, as a table with bars. */
export function CheckSteps({ steps }) {
  const totalMs = Math.max(1, steps.at(-1).afterMs);
  const rows = steps.slice(1).map(({ name, afterMs }, place) => ({
    name,
    fromMs: Math.min(steps[place].afterMs, afterMs),
    afterMs,
  }));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Durations of the steps"><table class="steps-table">
    <thead><tr><th scope="col">Step</th><th scope="col" class="number">Took</th><th scope="col" class="number">After acceptance</th><td></td></tr></thead>
    <tbody>${rows.map(
      ({ name, fromMs, afterMs }) => html`<tr key=${name}>
        <th scope="row">${WORDS[name] ?? name}</th>
        <td class="number">${formatMs(afterMs - fromMs)}</td>
        <td class="number">${formatMs(afterMs)}</td>
        <td class="bar-cell"><div class="bar" style=${{
          marginLeft: `${(fromMs / totalMs) * 100}%`,
          width: `${Math.max(SHARE_MIN, (afterMs - fromMs) / totalMs) * 100}%`,
        }}></div></td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}
