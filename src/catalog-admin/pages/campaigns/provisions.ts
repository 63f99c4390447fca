import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { App } from '../../../platform/http/app.ts';
import { html } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import {
  type FieldErrors,
  type Fields,
  type FormValues,
  fieldErrorsOf,
  keyIn,
  queryText,
  rowsField,
} from '../../../shell/context.ts';
import type { Page } from '../../../shell/layout.ts';
import type { PageResult } from '../../../shell/pages.ts';
import { versionField, withRowChange } from '../../../shell/row-list.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { listProvisions, setProvision } from '../../resources/provisions.ts';
import type { PageServices } from '../services.ts';
import { ownKindsFor } from './options.ts';
import { provisionCard, provisionTable, publisherChooser, readProvision } from './provision-form.ts';

const path = '/campaigns/:key/publishers';

type Refused = { typed: FormValues; errors: FieldErrors };

/**
 * Registers the pages that show which publishers run a campaign, with their overrides. Only operators can add other
 * publishers.
 */
export function provisionPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  pages.get(path, 'analyst', (context) => show(services, context, queryText(context, 'to'), null));
  pages.post(path, 'admin', (context, fields) => save(services, context, fields));
}

const publishersOf = ({ deps }: PageServices) => deps.catalog.current().publishers;

async function save(services: PageServices, context: PublisherContext, fields: Fields): Promise<PageResult> {
  const { management } = services;
  const campaign = await management.get(context, campaigns, keyIn(context));
  const to = fields.text('publisher_id');
  if (fields.checked(rowsField))
    return show(services, context, to, { typed: withRowChange(fields.values), errors: [] });
  try {
    const provision = readProvision(fields);
    const version = fields.text(versionField) || null;
    await management.write(context, (work) => setProvision(work, String(campaign.id), to, provision, version));
    const name = publishersOf(services).get(Number(to))?.name ?? t('campaigns.publisherName', { id: to });
    return { to: context.path(`/campaigns/${campaign.id}/publishers`), done: t('crud.saved', { name }) };
  } catch (err) {
    const errors = fieldErrorsOf(err);
    return show(services, context, to, { typed: fields.values, errors });
  }
}

async function show(
  services: PageServices,
  context: PublisherContext,
  to: string,
  refused: Refused | null,
): Promise<Page> {
  const { management } = services;
  const campaign = await management.get(context, campaigns, keyIn(context));
  const rows = await management.read(context, (work) => listProvisions(work, String(campaign.id)));
  const isOperator = context.viewer.user.role === 'operator';
  const campaignPath = context.path(`/campaigns/${campaign.id}`);
  const at = `${campaignPath}/publishers`;
  const publishers = publishersOf(services);
  if (isOperator) await services.deps.catalog.ready(Number(to));
  const ownKinds = ownKindsFor(publishersOf(services).get(Number(to)) ?? context.publisher);
  const editor = () =>
    to === ''
      ? publisherChooser(at, publishers, rows, queryText(context, 'q'))
      : provisionCard(context, { campaign, rows, publishers, ownKinds, to, at, refused });
  return {
    title: t('nav.publishers'),
    lead: t('campaigns.provisionsLead'),
    nav: 'campaigns',
    trail: [
      { text: t('nav.campaigns'), href: context.path('/campaigns') },
      { text: String(campaign.name), href: campaignPath },
    ],
    status: (refused?.errors.length ?? 0) === 0 ? 200 : 422,
    body: html`
      ${provisionTable(campaign, rows, publishers, isOperator ? at : null)}
      ${isOperator ? editor() : html`<p class="hint">${t('campaigns.operatorsServe')}</p>`}`,
  };
}
