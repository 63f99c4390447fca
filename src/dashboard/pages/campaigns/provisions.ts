import { campaigns } from '../../../catalog/management/campaigns.ts';
import { listProvisions, setProvision } from '../../../catalog/management/provisions.ts';
import type { Values, View } from '../../../catalog/management/resource.ts';
import { etagOf } from '../../../catalog/management/rows.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import type { App } from '../../../platform/ports.ts';
import { badge, card, saveForm, table } from '../../shell/components.ts';
import type { PublisherContext } from '../../shell/context.ts';
import { createForm, type Fields, type FormValue, type Problems, problemsOf } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { actorOf, keyIn, publisherOf, queryText } from '../../shell/management.ts';
import { publisherPages, type Tools } from '../../shell/pages.ts';
import { frequencyRows, readRules, rulesToForm, totalRows } from './rules-form.ts';

const path = '/campaigns/:key/publishers';

type Refused = { typed: Record<string, FormValue>; problems: Problems };

/** Whom a campaign is served to, and what is different there. Only operators serve it to others than its owner. */
export function provisionPages(app: App, { deps, ...tools }: Tools): void {
  const { store } = tools;
  const pages = publisherPages(app, { deps, ...tools });
  const nameOf = (id: unknown): string => deps.catalog.current().publishers.get(Number(id))?.name ?? `no. ${id}`;

  pages.get(path, 'analyst', (context) => show(context, queryText(context, 'to'), null));

  pages.post(path, 'admin', async (context, fields) => {
    const campaign = await store.get(context, campaigns, keyIn(context));
    const to = fields.text('publisher_id');
    try {
      const given = read(fields, context.publisher.timeZone);
      await store.write(actorOf(context), publisherOf(context), (work) =>
        setProvision(work, String(campaign.id), to, given, fields.text('_version') || null),
      );
      return {
        to: context.path(`/campaigns/${campaign.id}/publishers`),
        done: `What ${nameOf(to)} is served is saved.`,
      };
    } catch (err) {
      const problems = problemsOf(err);
      const typed = { ...typedOf(fields, context.publisher.timeZone), _version: fields.text('_version') };
      return show(context, to, { typed, problems });
    }
  });

  async function show(context: PublisherContext, to: string, refused: Refused | null): Promise<Page> {
    const campaign = await store.get(context, campaigns, keyIn(context));
    const rows = await store.read(actorOf(context), publisherOf(context), (work) =>
      listProvisions(work, String(campaign.id)),
    );
    const isOperator = context.viewer.user.role === 'operator';
    const at = context.path(`/campaigns/${campaign.id}`);
    return {
      title: 'Publishers',
      lead: 'Whom the campaign is served to. What is not set here is as the campaign says.',
      nav: 'campaigns',
      trail: [
        { text: 'Campaigns', href: context.path('/campaigns') },
        { text: String(campaign.name), href: at },
      ],
      status: refused === null ? 200 : 422,
      body: html`${provisionTable(campaign, rows, isOperator ? `${at}/publishers` : null)}
${!isOperator ? html`<p class="hint">Operators serve campaigns to other publishers.</p>` : to === '' ? chooser(`${at}/publishers`) : editor(context, campaign, rows, to, refused)}`,
    };
  }

  function provisionTable(campaign: View, rows: readonly View[], editPath: string | null): Html {
    const cells = rows.map((row) => [
      editPath === null
        ? html`<strong>${nameOf(row.publisher_id)}</strong>`
        : html`<a href="${editPath}?to=${Number(row.publisher_id)}"><strong>${nameOf(row.publisher_id)}</strong></a>`,
      row.payout_amount === null ? 'as campaign' : `${Number(row.payout_amount)} ${String(campaign.payout_currency)}`,
      row.priority === null ? 'as campaign' : Number(row.priority),
      capsOf(row),
      row.active === true ? badge('Served', 'good') : badge('Not served', 'warn'),
    ]);
    return table(
      'Publishers',
      [
        { text: 'Publisher' },
        { text: 'Pays' },
        { text: 'Priority', numeric: true },
        { text: 'Caps' },
        { text: 'State' },
      ],
      cells,
    );
  }

  /** Publishers by name. */
  const choices = () =>
    [...deps.catalog.current().publishers.values()]
      .map(({ id, name }) => ({ value: String(id), text: name }))
      .sort((a, b) => a.text.localeCompare(b.text));

  const chooser = (action: string): Html =>
    card(
      'Serve it to a publisher',
      html`<form class="filters" method="get" action="${action}">${createForm({}).select('to', { label: 'Publisher', choices: choices() })}<button class="button">Go on</button></form>`,
    );

  function editor(
    context: PublisherContext,
    campaign: View,
    rows: readonly View[],
    to: string,
    refused: Refused | null,
  ): Html {
    if (!choices().some(({ value }) => value === to)) throw new AppError('not_found');
    const stored = rows.find((row) => String(row.publisher_id) === to);
    const values = refused?.typed ?? toForm(stored, context.publisher.timeZone);
    const form = createForm(values, refused?.problems);
    const version = refused?.typed._version ?? (stored === undefined ? '' : etagOf(stored));
    const back = context.path(`/campaigns/${campaign.id}/publishers`);
    return card(
      nameOf(to),
      saveForm(
        context,
        back,
        html`<input type="hidden" name="publisher_id" value="${to}"><input type="hidden" name="_version" value="${String(version)}">${form.summary()}
${form.check('active', { label: 'Served', hint: 'Without it the campaign is not shown there; links shown before stay good.' })}
<div class="columns tight">${form.input('payout_amount', { label: 'Pays', type: 'number', min: 0, step: 'any', hint: `${String(campaign.payout_currency)}. Empty: as the campaign.` })}${form.input('priority', { label: 'Priority', type: 'number', min: 0, hint: 'Empty: as the campaign.' })}</div>
<fieldset class="group"><legend>How often one user sees it</legend><p class="hint">Instead of the campaign’s caps; none: as the campaign.</p>${frequencyRows(form)}</fieldset>
<fieldset class="group"><legend>How much in all, at this publisher</legend><p class="hint">Beside the campaign’s caps.</p>${totalRows(form)}</fieldset>
${values.rules === '' || values.rules === undefined ? nothing : form.area('rules', { label: 'Further caps, as JSON', rows: 8, code: true })}`,
        { cancel: back },
      ),
    );
  }
}

function capsOf({ frequency_caps: frequency, total_caps: totals }: View): string {
  const own = [...((frequency as unknown[] | null) ?? []), ...((totals as unknown[] | null) ?? [])].length;
  return own === 0 ? 'as campaign' : `${own} of its own`;
}

/** Caps are shown as those of a campaign's rules; a new provision serves the campaign as it is. */
const toForm = (stored: View | undefined, timeZone: string): Record<string, FormValue> => ({
  ...rulesToForm(
    Object.fromEntries(
      ['frequency_caps', 'total_caps']
        .map((name) => [name, stored?.[name]])
        .filter(([, caps]) => caps !== null && caps !== undefined),
    ),
    timeZone,
  ),
  active: stored === undefined || stored.active === true,
  payout_amount: (stored?.payout_amount as number | null) ?? '',
  priority: (stored?.priority as number | null) ?? '',
});

/** @throws AppError invalid_request where the JSON holds anything but caps */
function read(fields: Fields, timeZone: string): Values {
  const caps = readRules(fields, timeZone);
  const names = typeof caps === 'object' && caps !== null ? Object.keys(caps) : [''];
  if (names.some((name) => name !== 'frequency_caps' && name !== 'total_caps'))
    throw new AppError('invalid_request', {
      details: [{ path: '/rules', message: 'must be an object of frequency_caps and total_caps' }],
    });
  const { frequency_caps = null, total_caps = null } = caps as Values;
  return {
    active: fields.checked('active'),
    payout_amount: fields.number('payout_amount'),
    priority: fields.number('priority'),
    frequency_caps,
    total_caps,
  };
}

/** What was typed, for the form to show again. */
function typedOf(fields: Fields, timeZone: string): Record<string, FormValue> {
  const caps = readRules(fields, timeZone);
  return {
    ...rulesToForm(caps, timeZone),
    active: fields.checked('active'),
    payout_amount: fields.text('payout_amount'),
    priority: fields.text('priority'),
  };
}
