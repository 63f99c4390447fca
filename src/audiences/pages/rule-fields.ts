import { isOwnKind, ownKind, splitKind } from '../../catalog/event-kinds.ts';
import type { PublisherContext } from '../../catalog/pages.ts';
import type { Offer, Publisher } from '../../catalog/types.ts';
import type { Values, View } from '../../management/resource.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { Fields, FormValues } from '../../shell/context.ts';
import { type Choice, columns, type FormBuilder } from '../../shell/forms.ts';
import { askedKinds, type Rule } from '../rules/rule.ts';

/** Describes who belongs to an audience. */
export const ruleText = (rule: Rule | null): string =>
  rule === null
    ? t('audiences.list')
    : t('audiences.ruleText', {
        event: eventText(rule.event),
        times: rule.times ?? 1,
        days: rule.within_days,
      });

const eventText = (event: Rule['event']): string =>
  isOwnKind(event) ? t('audiences.event_own', splitKind(event)) : t(`audiences.event_${event}`);

const numbers = ['times', 'within_days', 'campaign_id', 'advertiser_id'] as const;
const texts = ['outcome', 'category', 'audience'] as const;
const ruleFields = ['event', ...numbers, ...texts] as const;

/** Converts an audience to form values. */
export function ruleToForm(values: Values): FormValues {
  const { rule, ...rest } = values;
  const current = (rule ?? {}) as Partial<Rule>;
  return {
    ...(rest as FormValues),
    ...Object.fromEntries(ruleFields.map((name) => [`rule.${name}`, current[name] ?? ''])),
  };
}

/** Reads an audience from the form. */
export function readAudience(fields: Fields): Values {
  const event = fields.text('rule.event');
  const rule = {
    event,
    ...Object.fromEntries(numbers.flatMap((name) => optional(name, fields.number(`rule.${name}`)))),
    ...Object.fromEntries(texts.flatMap((name) => optional(name, fields.text(`rule.${name}`).trim() || null))),
  };
  return {
    ...(fields.text('key') !== '' && { key: fields.text('key') }),
    name: fields.text('name'),
    rule: event === '' ? null : rule,
  };
}

const optional = <Value>(name: string, value: Value | null): [string, Value][] =>
  value === null ? [] : [[name, value]];

/**
 * Returns the custom events that the user can choose: the publisher's own events, and the event in the rule, which may
 * belong to an advertiser.
 */
const eventChoices = ({ ownEvents }: Publisher, rule: Rule | null) =>
  [...new Set([...askedKinds, ...ownEvents.map(ownKind), ...(rule === null ? [] : [rule.event])])].map((event) => ({
    value: event,
    text: eventText(event),
  }));

/**
 * Returns the campaigns or advertisers of the publisher's offers as choices, sorted by name, and the selected one even
 * if it no longer has any offers.
 */
function ownedChoices(
  { index }: Publisher,
  selected: unknown,
  of: (campaign: Offer['campaign']) => [id: number, name: string],
): Choice[] {
  const names = new Map(index.offers.map(({ campaign }) => of(campaign)));
  const id = Number(selected ?? '');
  if (id > 0 && !names.has(id)) names.set(id, `#${id}`);
  const choices = [...names].sort(([, a], [, b]) => a.localeCompare(b));
  return [
    { value: '', text: t('audiences.anyChoice') },
    ...choices.map(([value, text]) => ({ value: String(value), text })),
  ];
}

/** Renders the fields of an audience. */
export function audienceFields(form: FormBuilder, { publisher }: PublisherContext, view: View | null): Html {
  const isNew = view === null;
  const events = eventChoices(publisher, (view?.rule ?? null) as Rule | null);
  const others = [...publisher.audiences.keys()].filter((key) => key !== view?.key);
  const hasRule = isNew || view.rule !== null;
  const list = { value: '', text: t('audiences.list') };
  const days = { type: 'number', min: 1, max: 180 } as const;
  return html`
    ${columns([
      isNew &&
        form.input('key', { label: t('audiences.key'), required: true, code: true, hint: t('audiences.keyHint') }),
      form.input('name', { label: t('common.name'), required: true }),
    ])}
    ${
      hasRule
        ? html`
          ${form.select('rule.event', {
            label: t('audiences.filledBy'),
            choices: isNew ? [list, ...events] : events,
            hint: t('audiences.filledByHint'),
          })}
          <div class="rule-fields">
            ${columns([
              form.input('rule.times', { label: t('audiences.times'), type: 'number', min: 1, max: 100 }),
              form.input('rule.within_days', { label: t('audiences.withinDays'), ...days }),
            ])}
            ${columns([
              form.select('rule.campaign_id', {
                label: t('audiences.campaign'),
                choices: ownedChoices(publisher, form.values['rule.campaign_id'], ({ id, name }) => [id, name]),
              }),
              form.select('rule.advertiser_id', {
                label: t('audiences.advertiser'),
                choices: ownedChoices(publisher, form.values['rule.advertiser_id'], (campaign) => [
                  campaign.advertiserId,
                  campaign.advertiserName,
                ]),
              }),
              form.input('rule.category', { label: t('audiences.category') }),
            ])}
            ${columns([
              form.input('rule.outcome', { label: t('audiences.outcome') }),
              form.select('rule.audience', {
                label: t('audiences.audience'),
                choices: [{ value: '', text: '–' }, ...others.map((key) => ({ value: key, text: key }))],
              }),
            ])}
          </div>`
        : nothing
    }`;
}
