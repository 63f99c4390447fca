import type { PublisherContext } from '../../../catalog/pages.ts';
import { payoutKinds } from '../../../catalog/rules.ts';
import type { Section } from '../../../management/crud-definition.ts';
import { sectionParameter } from '../../../management/crud-sections.ts';
import { choicesOf } from '../../../management/page-client.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values, View } from '../../../management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { type MessageKey, t } from '../../../platform/i18n/messages.ts';
import { collapsedCard, hiddenField, notice } from '../../../shell/components.ts';
import { type Fields, hasRole, queryText } from '../../../shell/context.ts';
import { columns, createForm, type FormBuilder, fieldGroup, splitList } from '../../../shell/forms.ts';
import { advertisers } from '../../resources/advertisers.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { type PageServices, reachPath } from '../services.ts';
import { frequencyCapFields, totalCapFields } from './caps-form.ts';
import { conditionFields } from './conditions-form.ts';
import { goalFields, readGoal } from './goals.ts';
import { landingField } from './landing-field.ts';
import { createPicker, ownKindsFor, type Picker } from './options.ts';
import { copiedValues, pacingField, type RuleSection, readRules } from './rules-form.ts';
import { storedField } from './rules-part.ts';
import { scheduleFields } from './schedule-form.ts';
import {
  basicsSummary,
  budgetSummary,
  landingSummary,
  offersSummary,
  payoutSummary,
  prioritySummary,
  scheduleSummary,
  targetingSummary,
  usersSummary,
} from './summaries.ts';
import { audienceFields, identityField, targetingFields } from './targeting-form.ts';

export const editors = 'manager';

export const canEdit = ({ viewer }: PublisherContext): boolean => hasRole(viewer.user.role, editors);

type CampaignSection = Section<PublisherContext>;

/** Returns the sections of the campaign page, in order. */
export function campaignSections(services: PageServices): CampaignSection[] {
  return [
    basics(services),
    landing(services),
    payout(services),
    ruleSection(services, {
      key: 'schedule',
      title: 'campaigns.schedule',
      summary: scheduleSummary,
      fields: (form, { publisher }) => scheduleFields(form, publisher.timeZone),
      hasReach: true,
    }),
    ruleSection(services, {
      key: 'budget',
      title: 'campaigns.budgetAndGoal',
      summary: budgetSummary,
      fields: (form, { publisher }) => html`
        ${totalCapFields(form, 'rules.', ownKindsFor(publisher))}
        ${columns([
          pacingField(form),
          form.input('overspend_percent', {
            label: t('campaigns.overspend'),
            type: 'number',
            min: 0,
            hint: t('campaigns.overspendHint'),
          }),
        ])}
        ${goalFields(form, publisher.timeZone)}`,
      read: (fields, { publisher }) => ({
        overspend_percent: fields.number('overspend_percent') ?? 0,
        goal: readGoal(fields, publisher.timeZone),
      }),
    }),
    ruleSection(services, {
      key: 'targeting',
      title: 'campaigns.targeting',
      summary: targetingSummary,
      fields: (form, _context, picker) => targetingFields(form, picker),
      hasReach: true,
    }),
    ruleSection(services, {
      key: 'users',
      title: 'campaigns.usersAndFrequency',
      summary: usersSummary,
      fields: userFields,
      read: (fields) => readColumns(campaigns, fields, ['opt_out_days']),
      hasReach: true,
    }),
    ruleSection(services, {
      key: 'priority',
      title: 'campaigns.priorityAndRanking',
      summary: prioritySummary,
      fields: (form, _context, picker) => priorityFields(form, picker),
      read: (fields) => readColumns(campaigns, fields, ['priority', 'weight', 'ranking']),
    }),
    {
      key: 'offers',
      title: 'nav.offers',
      summary: (context, view) => offersSummary(services, context, view),
      links: (context, { id }) => html`
        ${canEdit(context) && smallLink(context.path(`/offers/new?campaign_id=${id}`), t('campaigns.addOffer'))}
        ${smallLink(context.path(`/offers?campaign_id=${id}`), t('campaigns.allOffers'))}`,
    },
  ];
}

const smallLink = (href: string, text: string): Html => html`<a class="button small" href="${href}">${text}</a>`;

type RuleSectionOptions = {
  key: RuleSection;
  title: MessageKey;
  summary: CampaignSection['summary'];
  fields: (form: FormBuilder, context: PublisherContext, picker: Picker) => Html;
  /** Reads the columns that the section changes in addition to the rules. */
  read?: (fields: Fields, context: PublisherContext) => Values;
  /** Whether the section changes who is reached. The estimated reach is then shown next to the form. */
  hasReach?: true;
};

/** Creates a section that edits a part of the rules. */
function ruleSection(services: PageServices, options: RuleSectionOptions): CampaignSection {
  const { key, title, summary, fields, read, hasReach } = options;
  const { reach } = services.extensions;
  const reachPanel = (context: PublisherContext, values: Values): Html | Promise<Html> => {
    if (reach === undefined || hasReach !== true) return nothing;
    const source = canEdit(context) ? { estimateUrl: context.path(estimateOf(key, values)) } : { stored: values };
    return reach.panel(context, source);
  };
  return {
    key,
    title,
    summary,
    form: {
      fields: async (form, context) => {
        const source = hasReach === true ? await copySource(services, context) : null;
        const filled = source === null ? form : withRulesOf(source, form, context, key);
        return html`
          ${source !== null && notice('info', html`<p>${t('campaigns.copied', { name: String(source.name) })}</p>`)}
          ${hiddenField(storedField, String(form.values[storedField] ?? '{}'))}
          ${fields(filled, context, createPicker(context))}`;
      },
      read: (submitted, context) => ({
        ...read?.(submitted, context),
        rules: readRules(submitted, context.publisher.timeZone, key),
      }),
      beside: async (context, { view, values }) => html`
        <div class="sticky">
          ${await reachPanel(context, values)}
          ${forecastPanel(services, context, { key, view })}
          ${hasReach === true && (await copyCard(services, context, { key, view }))}
        </div>`,
    },
  };
}

/** Query parameter with the ID of the campaign whose rules are copied into the form. */
const copyParameter = 'copy';

/** Returns the campaign whose rules are to be copied, or null if the URL names no campaign of the publisher. */
async function copySource({ management }: PageServices, context: PublisherContext): Promise<View | null> {
  const id = queryText(context, copyParameter);
  return id === '' ? null : management.get(context, campaigns, id).catch(() => null);
}

const withRulesOf = (source: View, form: FormBuilder, { publisher }: PublisherContext, key: RuleSection): FormBuilder =>
  createForm(copiedValues(form.values, source.rules, publisher.timeZone, key), [], form.to);

/** Renders the card that fills the form of a section with the rules of another campaign, without saving them. */
async function copyCard(
  { management }: PageServices,
  context: PublisherContext,
  { key, view }: { key: string; view: View | null },
): Promise<Html> {
  if (view === null || !canEdit(context)) return nothing;
  const others = (await choicesOf(management, context, campaigns, '')).filter(({ value }) => value !== String(view.id));
  if (others.length === 0) return nothing;
  const form = createForm({ [copyParameter]: '' });
  return collapsedCard(
    t('campaigns.copyTitle'),
    html`
      <form class="form" method="get" action="${context.path(`/campaigns/${view.id}`)}#${key}">
        ${hiddenField(sectionParameter, key)}
        ${form.select(copyParameter, { label: t('campaigns.copyFrom'), choices: others })}
        <p class="actions"><button class="button small">${t('campaigns.copy')}</button></p>
      </form>`,
    { lead: t('campaigns.copyLead') },
  );
}

/** Renders the forecast panel next to the form of a section, for users who can edit the campaign. */
function forecastPanel(
  { extensions: { forecast } }: PageServices,
  context: PublisherContext,
  { key, view }: { key: string; view: View | null },
): Html {
  if (forecast === undefined || view === null || !canEdit(context)) return nothing;
  return forecast.panel(context, context.path(`/campaigns/${view.id}/forecast?${sectionParameter}=${key}`));
}

const estimateOf = (key: RuleSection, { is_loyalty: isLoyalty }: Values): string =>
  `${reachPath}?${new URLSearchParams({ edit: key, ...(isLoyalty === true && { loyalty: 'yes' }) })}`;

const basics = ({ management }: PageServices): CampaignSection => ({
  key: 'basics',
  title: 'campaigns.basics',
  summary: async (context, view) => {
    const advertiser = await management.get(context, advertisers, Number(view.advertiser_id)).catch(() => null);
    return basicsSummary(view, String(advertiser?.name ?? view.advertiser_id));
  },
  form: {
    fields: async (form, context, { values }) => {
      const picker = createPicker(context);
      const choices = await choicesOf(management, context, advertisers, values.advertiser_id);
      return html`
        ${columns([
          form.input('name', { label: t('common.name'), required: true }),
          form.select('advertiser_id', { label: t('campaigns.advertiser'), choices }),
        ])}
        ${form.checkbox('active', { label: t('campaigns.active'), hint: t('campaigns.activeHint') })}
        ${columns([
          form.input('category', { label: t('campaigns.category'), suggestFrom: picker('categories', '').source }),
          form.input('tags', { label: t('campaigns.tags'), picker: picker('tags', form.values.tags) }),
        ])}
        ${form.textarea('offer_description', { label: t('campaigns.fullDescription') })}
        ${form.checkbox('is_product', { label: t('campaigns.isProduct') })}
        ${form.checkbox('is_loyalty', { label: t('campaigns.isLoyalty') })}`;
    },
    read: (fields) => ({
      ...readColumns(campaigns, fields, ['name', 'advertiser_id', 'active', 'category']),
      ...readColumns(campaigns, fields, ['offer_description', 'is_product', 'is_loyalty']),
      tags: splitList(fields.text('tags')),
    }),
  },
});

const landing = (services: PageServices): CampaignSection => ({
  key: 'landing',
  title: 'campaigns.landingPage',
  summary: (_context, view) => landingSummary(view),
  form: {
    fields: (form, context) => html`
      ${landingField(form, context, services)}
      ${form.input('click_id_param', { label: t('campaigns.clickIdParam'), code: true })}`,
    read: (fields) => readColumns(campaigns, fields, ['landing_url', 'click_id_param']),
  },
});

const payoutChoices = () => payoutKinds.map((kind) => ({ value: kind, text: t(`campaigns.payout_${kind}`) }));

/** Renders the fields for the pricing model and the amount. */
export const payoutFields = (form: FormBuilder, hint?: string): Html[] => [
  form.select('payout_kind', { label: t('campaigns.model'), choices: payoutChoices() }),
  form.input('payout_amount', {
    label: t('campaigns.amount'),
    type: 'number',
    min: 0,
    step: 'any',
    ...(hint !== undefined && { hint }),
  }),
];

export const currencyField = (form: FormBuilder): Html =>
  form.input('payout_currency', { label: t('campaigns.currency'), hint: t('campaigns.currencyHint') });

export const readPayout = (fields: Fields): Values => ({
  ...readColumns(campaigns, fields, ['payout_kind', 'payout_amount']),
  payout_currency: fields.text('payout_currency').toUpperCase(),
});

const payout = (services: PageServices): CampaignSection => ({
  key: 'payout',
  title: 'campaigns.payout',
  summary: (_context, view) => payoutSummary(view),
  form: {
    fields: (form) => columns([...payoutFields(form), currencyField(form)], 'tight'),
    read: readPayout,
    beside: (context, { view }) =>
      html`<div class="sticky">${forecastPanel(services, context, { key: 'payout', view })}</div>`,
  },
});

const userFields: RuleSectionOptions['fields'] = (form, { publisher }, picker) => html`
  ${audienceFields(form, picker)}
  ${conditionFields(form, picker('attributes', '').source)}
  ${fieldGroup(
    t('campaigns.frequencyCapping'),
    frequencyCapFields(form, 'rules.', ownKindsFor(publisher)),
    columns([
      identityField(form),
      form.input('opt_out_days', {
        label: t('campaigns.optOutDays'),
        type: 'number',
        min: 1,
        hint: t('campaigns.optOutHint'),
      }),
    ]),
  )}`;

const priorityFields = (form: FormBuilder, picker: Picker): Html => html`
  ${columns([
    form.input('priority', {
      label: t('campaigns.priority'),
      type: 'number',
      min: 0,
      hint: t('campaigns.priorityHint'),
    }),
    form.input('weight', { label: t('campaigns.weight'), type: 'number', min: 0, hint: t('campaigns.weightHint') }),
    form.select('ranking', {
      label: t('campaigns.ranking'),
      choices: [
        { value: 'learned', text: t('campaigns.rankingLearned') },
        { value: 'fixed', text: t('campaigns.rankingFixed') },
      ],
      hint: t('campaigns.rankingHint'),
    }),
  ])}
  ${form.input('rules.exclusion_groups', {
    label: t('campaigns.exclusionGroups'),
    hint: t('campaigns.exclusionGroupsHint'),
    picker: picker('groups', form.values['rules.exclusion_groups']),
  })}
  ${form.checkbox('rules.force_priority', {
    label: t('campaigns.forcePriority'),
    hint: t('campaigns.forcePriorityHint'),
  })}`;
