import { html } from '../../lib/html.js';
import { describeDetail, numberOf } from './describe-detail.js';

/** @import { RuleDetail, TermDetail } from '#shared/contracts/checks/result.ts' */
/** @import { Blocks } from './describe-detail.js' */

/**
 * Why each rule ended as it did, where the check asked for it.
 * @param {{ details?: readonly (RuleDetail | TermDetail)[] | undefined, rules?: readonly any[], roleIds?: readonly
 *   (string | undefined)[], blocks?: Blocks | undefined, path?: string }} props the rules as they
 *   were sent, and the role of each, as far as they are known
 */
export function Why({ details, rules = [], roleIds = [], blocks, path = '' }) {
  if (!Array.isArray(details)) return null;
  return html`<ul class="why">${details.map((detail, place) => {
    /** @type {Partial<RuleDetail>} */
    const { ruleIndex: at = place, outcome, rules: inner } = detail;
    const rule = rules[at];
    const role = roleIds[at] ?? rule?.roleId;
    const ended = outcome && html` <strong class=${outcome}>${outcome}</strong>`;
    return html`<li key=${at}><span>${outcome === undefined ? 'Amount' : 'Rule'} ${numberOf(`${path}/${at}`)}${role && html`, <span class="break">${role}</span>`}</span>${ended}${': '}<span class="break">${describeDetail(detail, rule, blocks)}</span>
      <${Why} details=${inner} rules=${rule?.rules ?? []} blocks=${blocks} path=${`${path}/${at}`} /></li>`;
  })}</ul>`;
}
