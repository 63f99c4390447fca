import { Value } from '@sinclair/typebox/value';
import type { PublisherContext } from '../../catalog/pages.ts';
import type { View } from '../../management/resource.ts';
import { AppError } from '../../platform/errors.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import { wordProblem } from '../../platform/problem.ts';
import { liveCard, notice, table } from '../../shell/components.ts';
import { hasRole } from '../../shell/context.ts';
import { count } from '../../shell/format.ts';
import type { Pages } from '../../shell/pages.ts';
import type { RuleEstimate } from '../rules/estimate.ts';
import { checkRule, type Rule, ruleSchema } from '../rules/rule.ts';
import { readAudience } from './rule-fields.ts';

/** Estimates a rule of a publisher. Returns null if there are too many events. */
export type Estimate = (publisherId: number, rule: Rule) => Promise<RuleEstimate | null>;

/** Path of the estimate. It is not below `/audiences`, because an audience could have the key `estimate`. */
const path = '/audience-estimate';

/** Registers the route that estimates the rule in the form. The rule may be incomplete. */
export function estimatePage(pages: Pages<PublisherContext>, estimate: Estimate): void {
  pages.post(path, 'admin', async ({ publisher }, fields) => {
    const { rule } = readAudience(fields);
    if (rule === null) return { fragment: hint(t('audiences.estimateList')) };
    if (!Value.Check(ruleSchema, rule) || checkRule(rule).length > 0)
      return { fragment: hint(t('audiences.estimateHint')) };
    return { fragment: await estimated(estimate, publisher.id, rule) };
  });
}

const hint = (text: string): Html => html`<p class="hint">${text}</p>`;

async function estimated(estimate: Estimate, publisherId: number, rule: Rule): Promise<Html> {
  try {
    const result = await estimate(publisherId, rule);
    return result === null ? notice('warn', html`<p>${t('apiTexts.estimateTooLarge')}</p>`) : figures(result);
  } catch (err) {
    if (err instanceof AppError && err.code === 'too_many_requests') return hint(wordProblem(err.problem));
    throw err;
  }
}

function figures({ users, byTimes }: RuleEstimate): Html {
  const columns = [{ text: t('audiences.times') }, { text: t('audiences.users'), numeric: true }];
  const rows = byTimes.map(({ times, users: selected }) => [t('audiences.estimateTimes', { times }), count(selected)]);
  return html`
    <p class="reach">${tHtml('audiences.estimateUsers', { users: count(users), count: users })}</p>
    ${table(t('audiences.estimateByTimes'), columns, rows)}`;
}

/** Renders the panel next to the form, which is updated after each change. Lists have no rule to estimate. */
export function estimatePanel(context: PublisherContext, view: View | null): Html {
  if (!hasRole(context.viewer.user.role, 'admin') || (view !== null && view.rule === null)) return nothing;
  return liveCard(t('audiences.estimate'), context.path(path), { hint: t('audiences.estimateHint') });
}
