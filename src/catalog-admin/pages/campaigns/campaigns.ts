import { cardsOf, type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import { type CampaignRules, checkRules } from '../../../catalog/rules.ts';
import type { Campaign, Publisher } from '../../../catalog/types.ts';
import { warningsBeside, withAdditions } from '../../../management/additions.ts';
import { type BulkAction, pauseActions } from '../../../management/crud-definition.ts';
import { crudPages } from '../../../management/crud-pages.ts';
import { sectionParameter } from '../../../management/crud-sections.ts';
import { choicesOf } from '../../../management/page-client.ts';
import type { View, Warning } from '../../../management/resource.ts';
import { completeRow } from '../../../management/rows.ts';
import { AppError } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { wordProblem } from '../../../platform/problem.ts';
import {
  type Column,
  card,
  emptyState,
  fieldWarning,
  link,
  linkButton,
  strongLink,
  table,
  warningNotice,
} from '../../../shell/components.ts';
import { type FormValue, hasRole, keyIn, queryText } from '../../../shell/context.ts';
import { moment } from '../../../shell/format.ts';
import { type Choice, filterSelect, joinList } from '../../../shell/forms.ts';
import type { Pages } from '../../../shell/pages.ts';
import { mayApprove } from '../../approval.ts';
import { payoutText } from '../../payout-text.ts';
import { advertisers } from '../../resources/advertisers.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { duplicateCampaign } from '../../resources/duplicate.ts';
import { duplicateButton, registerDuplicate } from '../duplicate.ts';
import { type PageServices, reachPath } from '../services.ts';
import { registerStop, stopButton, stopNotice, stoppedBadge } from '../stop.ts';
import { deliveryFilter, deliveryListCell, exhaustedNotice } from './delivery.ts';
import { campaignFigures, goalToForm } from './goals.ts';
import { registerLandingCheck } from './landing-field.ts';
import { forecastValuesOf, newCampaign, newForecastPath } from './new-campaign.ts';
import { optionPages } from './options.ts';
import { offersNotice, rulesJson, stateTiles } from './overview.ts';
import { isRuleSection, readRules, ruleErrors, rulesToForm } from './rules-form.ts';
import { storedField } from './rules-part.ts';
import { campaignSections, editors } from './sections.ts';
import { targetingSentence } from './targeting-sentence.ts';

/** Registers the campaign pages: landing page, payout and targeting. */
export function campaignPages(app: App, services: PageServices): void {
  const { management, extensions } = services;
  const { reach, forecast, campaignCards } = extensions;
  const pages = publisherPages(app, services);
  optionPages(pages, services);
  registerReach(pages, reach);
  registerForecast(pages, services, forecast);
  registerLandingCheck(pages, extensions);
  registerPause(pages, services);
  registerStop(pages, services, { resource: campaigns, nameOf });
  registerDuplicate(pages, services, campaigns, duplicateCampaign);

  const advertiserChoices = (context: PublisherContext, selected: unknown): Promise<Choice[]> =>
    choicesOf(management, context, advertisers, selected);

  const warningsOf = warningsIn(services);
  crudPages(pages, management, {
    resource: campaigns,
    path: '/campaigns',
    nav: 'campaigns',
    icon: 'campaigns',
    title: 'nav.campaigns',
    lead: 'campaigns.lead',
    writes: editors,
    undoable: true,
    filters: {
      names: ['advertiser_id', 'active', 'delivery_state'],
      fields: async (context) =>
        filtersOf(context, await advertiserChoices(context, queryText(context, 'advertiser_id'))),
    },
    columns: campaignColumns,
    cells: campaignCells,
    ...campaignFigures(services),
    empty: { title: 'campaigns.none', text: 'campaigns.noneText' },
    nameOf,
    actions: (context, view) =>
      html`${stopButton(context, campaigns, view, nameOf(view))}${duplicateButton(context, campaigns, view)}`,
    blocked: async (context) => ((await advertiserChoices(context, '')).length > 0 ? null : noAdvertisers(context)),
    ...newCampaign(services, advertiserChoices, async (context, view) =>
      (await warningsOf(context, view)).some(isFixedHere),
    ),
    toForm: (values, { publisher }) => ({
      ...(values as Record<string, FormValue>),
      tags: Array.isArray(values.tags) ? joinList(values.tags) : '',
      ...goalToForm(values.goal, publisher.timeZone),
      ...rulesToForm(values.rules, publisher.timeZone),
    }),
    errorsToForm: ruleErrors,
    sections: campaignSections(services),
    storedFields: [storedField],
    assets: ['pickers.js', 'preview.js', 'uplot.css', 'language.js', 'uplot.js', 'charts.js'],
    bulk: [...pauseActions, ...tagActions],
    notice: async (context, view) => {
      const warnings = await warningsOf(context, view);
      const stoppedBy = stoppedOf(context, view.id);
      return html`
        ${stopNotice(context, view, stoppedBy)}
        ${warningNotice(warnings, warningText)}
        ${stoppedBy === null && view.active === true && offersNotice(services, context, view)}`;
    },
    overview: async (context, view) => {
      const row = await deliveredIn(services, context, view);
      return html`
        ${exhaustedNotice(row)}
        <p class="lead">${targetingSentence(rulesOf(view))}</p>
        ${await stateTiles(services, context, row)}`;
    },
    below: async (context, view) =>
      view.deleted_at === null
        ? html`
          ${await cardsOf(campaignCards, context, Number(view.id))}
          ${rulesJson(view.rules)}
          ${campaignLinks(context.path, view.id)}`
        : nothing,
  });
}

/** Returns a function that lists warnings about a saved campaign. */
const warningsIn =
  ({ management, additions }: PageServices) =>
  async (context: PublisherContext, view: View): Promise<Warning[]> =>
    view.deleted_at !== null
      ? []
      : await management.read(context, async (work) => [
          ...((await campaigns.warn?.(view, work)) ?? []),
          ...(await warningsBeside(additions, campaigns, work, view)),
        ]);

/** Adds the delivery state and budget usage to a campaign row. */
const deliveredIn = async (
  { management, additions }: PageServices,
  context: PublisherContext,
  view: View,
): Promise<View> =>
  (await management.read(context, (work) => withAdditions(additions, campaigns, work, [view])))[0] ?? view;

const nameOf = (row: View): string => String(row.name);
const rulesOf = ({ rules }: View): CampaignRules => rules as CampaignRules;

/**
 * Returns the level at which the kill switch stops a campaign according to the snapshot, or null if it is not stopped.
 */
const stoppedOf = ({ publisher }: { publisher: Publisher }, id: unknown): Campaign['stopped'] =>
  publisher.index.offers.find(({ campaign }) => campaign.id === Number(id))?.campaign.stopped ?? null;

function registerReach(pages: Pages<PublisherContext>, reach: PageServices['extensions']['reach']): void {
  if (reach === undefined) return;
  pages.post(reachPath, editors, async (context, fields) => {
    const section = queryText(context, sectionParameter);
    const rules = readRules(fields, context.publisher.timeZone, isRuleSection(section) ? section : undefined);
    const estimate = await reach.ofTyped(context, { rules, is_loyalty: queryText(context, 'loyalty') === 'yes' });
    const isValid = checkRules(rules).length === 0;
    return { fragment: html`${isValid && html`<p>${targetingSentence(rules as CampaignRules)}</p>`}${estimate}` };
  });
}

/** Registers the forecast for the current values of an open section. */
function registerForecast(
  pages: Pages<PublisherContext>,
  services: PageServices,
  forecast: PageServices['extensions']['forecast'],
): void {
  if (forecast === undefined) return;
  const sections = campaignSections(services);
  pages.post('/campaigns/:key/forecast', editors, async (context, fields) => {
    const stored = await services.management.get(context, campaigns, keyIn(context));
    const section = sections.find(({ key }) => key === queryText(context, sectionParameter));
    const typed = section?.form?.read(fields, context) ?? {};
    return { fragment: await forecast.ofTyped(context, stored, typed) };
  });
  pages.post(newForecastPath, editors, async (context, fields) => {
    const values = await services.management
      .read(context, (work) => completeRow(campaigns, work, forecastValuesOf(fields)))
      .catch((err: unknown) => {
        if (err instanceof AppError && err.status === 400) return null;
        throw err;
      });
    if (values === null) return { fragment: html`<p class="hint">${t('campaigns.incomplete')}</p>` };
    return { fragment: await forecast.ofTyped(context, null, values) };
  });
}

/** Registers the button that pauses or resumes a campaign. */
function registerPause(pages: Pages<PublisherContext>, { management }: PageServices): void {
  pages.post('/campaigns/:key/active', editors, async (context, fields) => {
    const active = fields.text('active') === 'yes';
    const view = await management.update(context, campaigns, keyIn(context), { active }, null);
    const path = context.path(`/campaigns/${view.id}`);
    return {
      to: path,
      done: t(active ? 'offers.resumed' : 'offers.paused', { name: nameOf(view) }),
      undo: { to: `${path}/active`, values: { active: active ? 'no' : 'yes' } },
    };
  });
}

const tagActions: readonly BulkAction[] = [
  {
    name: 'tag',
    text: 'campaigns.addTag',
    field: 'campaigns.tag',
    done: 'campaigns.tagged',
    change: ({ tags }, typed) => ({ tags: [...new Set([...(tags as string[]), typed])] }),
    undoneBy: 'untag',
  },
  {
    name: 'untag',
    text: 'campaigns.removeTag',
    done: 'campaigns.untagged',
    change: ({ tags }, typed) => ({ tags: (tags as string[]).filter((tag) => tag !== typed) }),
    undoneBy: 'tag',
    isUndo: true,
  },
];

/**
 * Whether a warning is about a field on this page. If so, the form stays open after saving, so that the user can
 * correct the field.
 */
const isFixedHere = ({ path }: Warning): boolean => /^\/(rules\/|goal\/|landing_url$)/.test(path);

function warningText({ path, message }: Warning): string {
  return path === '/landing_url' ? fieldWarning({ path, message }) : wordProblem(message);
}

const noAdvertisers = ({ path }: PublisherContext): Html =>
  emptyState(
    'advertisers',
    t('campaigns.advertiserFirst'),
    t('campaigns.advertiserFirstText'),
    linkButton(path('/advertisers/new'), t('campaigns.addAdvertiser'), 'main'),
  );

const campaignLinks = (path: PublisherContext['path'], id: unknown): Html => html`
  <p class="actions">
    ${linkButton(path(`/campaigns/${id}/publishers`), t('nav.publishers'))}
    ${linkButton(path(`/why?campaign=${id}`), t('nav.why'))}
  </p>`;

const filtersOf = (context: PublisherContext, advertiserList: readonly Choice[]): Html => html`
  ${filterSelect('advertiser_id', t('campaigns.advertiser'), advertiserList, queryText(context, 'advertiser_id'))}
  ${deliveryFilter(queryText(context, 'delivery_state'))}`;

const campaignColumns = (): Column[] => [
  { text: t('common.name') },
  { text: t('campaigns.category') },
  { text: t('campaigns.payout') },
  { text: t('campaigns.priority'), numeric: true },
  { text: t('nav.offers'), hidden: true },
];

/** Describes who sees a campaign. Empty for a campaign that is shown to all users. */
function restriction(row: View): string {
  const sentence = targetingSentence(rulesOf(row));
  return sentence === targetingSentence({}) ? '' : ` · ${sentence}`;
}

const campaignCells = ({ path }: PublisherContext, row: View) => [
  html`
    ${strongLink(path(`/campaigns/${row.id}`), String(row.name))}
    <span class="hint two-lines">${t('crud.id', { id: Number(row.id) })}${restriction(row)}</span>`,
  String(row.category || '–'),
  html`<span translate="no">${payoutText(row)}</span>`,
  Number(row.priority),
  link(path(`/offers?campaign_id=${row.id}`), t('nav.offers')),
];

/** Maximum number of campaigns on the page of their advertiser. */
const maxListed = 20;

/** Renders the campaigns of an advertiser, with links to their pages and their report. */
async function campaignsCard(
  { management, additions }: PageServices,
  context: PublisherContext,
  advertiserId: number,
): Promise<Html> {
  const { path } = context;
  const query = { advertiser_id: String(advertiserId), limit: String(maxListed), sort: 'name' };
  const { rows, nextCursor } = await management.list(context, campaigns, query);
  const extended = await management.read(context, (work) => withAdditions(additions, campaigns, work, rows));
  const columns = [t('common.name'), t('campaigns.payout'), t('campaigns.delivery')].map((text) => ({ text }));
  const listPath = path(`/campaigns?advertiser_id=${advertiserId}`);
  const list =
    rows.length === 0
      ? html`<p class="hint">${t('campaigns.noneOfAdvertiser')}</p>`
      : table(
          t('nav.campaigns'),
          columns,
          extended.map((row) => [
            strongLink(path(`/campaigns/${row.id}`), String(row.name)),
            html`<span translate="no">${payoutText(row)}</span>`,
            deliveryListCell(row),
          ]),
        );
  const add = linkButton(path(`/campaigns/new?advertiser_id=${advertiserId}`), t('campaigns.addCampaign'));
  return card(
    t('nav.campaigns'),
    html`${list}${nextCursor !== null && html`<p class="actions">${link(listPath, t('campaigns.allCampaigns'))}</p>`}`,
    { ...(hasRole(context.viewer.user.role, 'manager') && { actions: add }) },
  );
}

export function advertiserPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  registerStop(pages, services, { resource: advertisers, nameOf });
  crudPages(pages, services.management, {
    resource: advertisers,
    path: '/advertisers',
    nav: 'advertisers',
    icon: 'advertisers',
    title: 'nav.advertisers',
    lead: 'campaigns.advertisersLead',
    writes: 'manager',
    undoable: true,
    columns: () => [
      { text: t('common.name') },
      { text: t('nav.campaigns'), hidden: true },
      { text: t('campaigns.updated') },
    ],
    cells: ({ path, publisher }, row) => [
      html`${strongLink(path(`/advertisers/${row.id}`), nameOf(row))} ${row.stopped === true && stoppedBadge()}`,
      link(path(`/campaigns?advertiser_id=${row.id}`), t('nav.campaigns')),
      moment(publisher, String(row.updated_at)),
    ],
    empty: { title: 'campaigns.noAdvertisers', text: 'campaigns.noAdvertisersText' },
    nameOf,
    actions: (context, view) => html`
      ${
        hasRole(context.viewer.user.role, 'admin') &&
        linkButton(context.path(`/advertisers/${view.id}/users`), t('account.advertiserUsers'))
      }
      ${stopButton(context, advertisers, view, nameOf(view))}`,
    notice: async (context, view) => stopNotice(context, view),
    below: (context, view) => campaignsCard(services, context, Number(view.id)),
    afterCreate: ({ path }, view) => ({
      to: path(`/campaigns/new?advertiser_id=${view.id}`),
      done: t('campaigns.advertiserSavedNext', { name: String(view.name) }),
    }),
    read: (fields, context) => ({
      name: fields.text('name'),
      ...(mayApprove(services.management.actorOf(context)) && { trusted: fields.checked('trusted') }),
    }),
    fields: (form, context) => html`
      ${form.input('name', { label: t('common.name'), required: true, hint: t('campaigns.advertiserNameHint') })}
      ${
        mayApprove(services.management.actorOf(context)) &&
        form.checkbox('trusted', { label: t('settings.trustedAdvertiser'), hint: t('settings.trustedAdvertiserHint') })
      }`,
  });
}
