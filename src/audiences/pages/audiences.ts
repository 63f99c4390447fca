import { isOwnKind, ownKind, splitKind } from '../../catalog/event-kinds.ts';
import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Publisher } from '../../catalog/types.ts';
import { crudPages } from '../../management/crud-pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Values, View } from '../../management/resource.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { type Cell, type Column, strongLink } from '../../shell/components.ts';
import type { Fields, FormValues } from '../../shell/context.ts';
import { count, moment } from '../../shell/format.ts';
import { columns, type FormBuilder } from '../../shell/forms.ts';
import type { Shell } from '../../shell/layout.ts';
import { audiences } from '../audiences.ts';
import { askedKinds, type Rule } from '../rules/rule.ts';
import { type MemberServices, memberCards, memberPages } from './members.ts';

export type AudienceServices = Shell & MemberServices & { management: ManagementClient };

/** Registers the audience pages: the list, the form, the members and the lookups. */
export function audiencePages(app: App, services: AudienceServices): void {
  const pages = publisherPages(app, services);
  memberPages(pages, services);
  crudPages(pages, services.management, {
    resource: audiences,
    path: '/audiences',
    nav: 'audiences',
    icon: 'users',
    title: 'audiences.title',
    lead: 'audiences.lead',
    writes: 'admin',
    columns: audienceColumns,
    cells: audienceCells,
    empty: { title: 'audiences.none', text: 'audiences.noneText' },
    nameOf: (row) => String(row.name),
    toForm: ruleToForm,
    read: readAudience,
    errorsToForm: (errors) => errors.map((error) => ({ ...error, path: error.path.replace(/^\/rule\/?/, '/rule.') })),
    fields: (form, context, { view }) => audienceFields(form, context, view),
    below: (context, view) => memberCards(services, context, view),
  });
}

const audienceColumns = (): Column[] => [
  { text: t('common.name') },
  { text: t('audiences.filledBy') },
  { text: t('audiences.members'), numeric: true },
  { text: t('settings.created') },
];

const audienceCells = ({ path, publisher }: PublisherContext, row: View): Cell[] => [
  html`
    ${strongLink(path(`/audiences/${encodeURIComponent(String(row.key))}`), String(row.name))}<br>
    <code class="hint">${String(row.key)}</code>`,
  ruleText(row.rule as Rule | null),
  count(Number(row.size)),
  moment(publisher, String(row.created_at), 'day'),
];

const ruleText = (rule: Rule | null): string =>
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

function ruleToForm(values: Values): FormValues {
  const { rule, ...rest } = values;
  const current = (rule ?? {}) as Partial<Rule>;
  return {
    ...(rest as FormValues),
    ...Object.fromEntries(ruleFields.map((name) => [`rule.${name}`, current[name] ?? ''])),
  };
}

function readAudience(fields: Fields): Values {
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

function audienceFields(form: FormBuilder, { publisher }: PublisherContext, view: View | null): Html {
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
              form.input('rule.campaign_id', { label: t('audiences.campaignId'), type: 'number', min: 1 }),
              form.input('rule.advertiser_id', { label: t('audiences.advertiserId'), type: 'number', min: 1 }),
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
