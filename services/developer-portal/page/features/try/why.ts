import type { RuleDetail } from '#shared/contracts/checks/result.ts';
import { html } from '../../lib/html.ts';
import { describeDetail, numberOf } from './describe-detail.ts';

/** Why each rule ended as it did, where the check asked for it: `details` of a result, the rules as they
 * were sent, and the role of each, as far as they are known. */
export function Why({ details, rules, roleIds, blocks, path = '' }) {
  if (!Array.isArray(details)) return null;
  return html`<ul class="why">${details.map((detail, place) => {
    const { ruleIndex: at = place, outcome, rules: inner }: Partial<RuleDetail> = detail;
    const rule = rules?.[at];
    const role = roleIds?.[at] ?? rule?.roleId;
    const ended = outcome && html` <strong class=${outcome}>${outcome}</strong>`;
    return html`<li key=${at}><span>${outcome === undefined ? 'Amount' : 'Rule'} ${numberOf(`${path}/${at}`)}${role && html`, <span class="break">${role}</span>`}</span>${ended}${': '}<span class="break">${describeDetail(detail, rule, blocks)}</span>
      <${Why} details=${inner} rules=${rule?.rules} blocks=${blocks} path=${`${path}/${at}`} /></li>`;
  })}</ul>`;
}
