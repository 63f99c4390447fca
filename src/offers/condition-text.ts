import { requiredParts } from '../catalog/conditions.ts';
import type { CampaignRules, TargetingKey } from '../catalog/rules.ts';
import type { DraftCondition } from '../decision/draft-eligibility.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { countryName } from '../shell/format.ts';
import { comparisonText } from './fetch/reason-text.ts';

/** Maximum number of displayed values of a targeting list. */
const maxValues = 4;

/** Describes a condition of a campaign in the reader's language, with the values of targeting lists. */
export function conditionText(condition: { rule: string; key: string | null }, rules: CampaignRules): string {
  const { rule, key } = condition;
  if (rule === 'conditions' && key !== null) {
    const part = requiredParts(rules.conditions)[Number(key)];
    if (part !== undefined) return comparisonText(part);
  }
  if (rule === 'audience') return listText('audiences', rules);
  return rule === 'targeting' && key !== null
    ? listText(key as TargetingKey, rules)
    : t('forecasts.rule', { rule: rule as DraftCondition['rule'] });
}

function listText(key: TargetingKey, { targeting = {} }: CampaignRules): string {
  const { include = [], exclude = [] } = targeting[key] ?? {};
  const textOf = (values: readonly string[]): string => {
    const names = values.slice(0, maxValues).map((value) => (key === 'countries' ? countryName(value) : value));
    return `${names.join(', ')}${values.length > maxValues ? ', …' : ''}`;
  };
  const name = t(`campaigns.target_${key}` as MessageKey);
  if (include.length === 0) return t('forecasts.excludes', { name, values: textOf(exclude) });
  const text = t('forecasts.includes', { name, values: textOf(include) });
  return exclude.length === 0 ? text : t('forecasts.butNot', { text, values: textOf(exclude) });
}
