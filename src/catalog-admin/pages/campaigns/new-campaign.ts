import type { TSchema } from '@sinclair/typebox';
import type { PublisherContext } from '../../../catalog/pages.ts';
import { ApprovalRequired } from '../../../management/approval.ts';
import type { Crud } from '../../../management/crud-definition.ts';
import { readColumns } from '../../../management/read-columns.ts';
import type { Values, View } from '../../../management/resource.ts';
import { createRow } from '../../../management/rows.ts';
import { checkValue } from '../../../management/schema-errors.ts';
import { AppError } from '../../../platform/errors.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { hiddenField } from '../../../shell/components.ts';
import { type Fields, queryText } from '../../../shell/context.ts';
import { type Choice, columns, type FormBuilder, fieldGroup, moreFields } from '../../../shell/forms.ts';
import type { PageResult } from '../../../shell/pages.ts';
import { createImageStore, firstImageField, readUpload } from '../../images.ts';
import { mainTexts } from '../../offer-form.ts';
import { offerPreview } from '../../offer-preview.ts';
import { campaigns } from '../../resources/campaigns.ts';
import { offers } from '../../resources/offers.ts';
import { createOffer } from '../offers/creatives.ts';
import type { PageServices } from '../services.ts';
import { landingField } from './landing-field.ts';
import { currencyField, payoutFields, readPayout } from './sections.ts';

type NewCampaign = Pick<Crud<PublisherContext>, 'initial' | 'fields' | 'beside' | 'read' | 'create' | 'afterCreate'>;

/**
 * Returns the part of the campaign pages that creates a campaign: five fields, and optionally the first offer with a
 * preview. All other values start with their defaults.
 */
export function newCampaign(
  services: PageServices,
  advertiserChoices: (context: PublisherContext, selected: unknown) => Promise<Choice[]>,
  isFixedHere: (context: PublisherContext, view: View) => Promise<boolean>,
): NewCampaign {
  const { management, deps } = services;
  const images = createImageStore(deps.config.imageStore);
  return {
    initial: (context) => ({
      advertiser_id: queryText(context, 'advertiser_id'),
      payout_currency: currencyFor(context),
      cta_yes: t('offers.sampleYes'),
      cta_no: t('offers.sampleNo'),
    }),
    fields: async (form, context, { values }) =>
      newFields(form, context, services, await advertiserChoices(context, values.advertiser_id)),
    beside: (context) => html`
      <div class="sticky">
        ${offerPreview(services, context)}
        ${services.extensions.forecast?.panel(context, context.path(newForecastPath)) ?? nothing}
      </div>`,
    read: readNew,
    create: async (context, values, upload) => {
      const { offer, ...campaign } = values as { offer: Values };
      if (offer.title === '' && offer.description === '' && upload === null)
        return management.create(context, campaigns, campaign);
      const image = upload === null ? null : await readUpload(upload.bytes, upload.declaredType);
      try {
        return await management.write(context, async (work) => {
          const view = await createRow(campaigns, work, campaign).catch((err) => {
            throw withOfferErrors(err, offer);
          });
          await createOffer(work, images, { ...offer, campaign_id: view.id }, image);
          return { ...view, [offerField]: 'live' };
        });
      } catch (err) {
        if (!(err instanceof ApprovalRequired)) throw err;
        // The offer needs approval, and its draft must refer to a campaign that exists.
        const view = await management.create(context, campaigns, campaign);
        const changes = { ...err.proposal.changes, campaign_id: view.id };
        const draft = await management.propose(context, new ApprovalRequired({ ...err.proposal, changes }));
        return { ...view, [offerField]: `/drafts/${draft.id}` };
      }
    },
    afterCreate: async (context, view) => afterCreate(context, view, await isFixedHere(context, view)),
  };
}

/** Adds the errors in the copy of the first offer to the errors of its campaign, so that all are shown together. */
function withOfferErrors(err: unknown, offer: Values): unknown {
  if (!(err instanceof AppError) || err.code !== 'invalid_request') return err;
  const details = Object.entries(offer).flatMap(([name, value]) =>
    checkValue(offers.input.properties[name] as TSchema, value).map(({ message }) => ({ path: `/${name}`, message })),
  );
  return new AppError('invalid_request', { details: [...(err.details ?? []), ...details] });
}

const readNew = (fields: Fields): Values => ({
  ...readColumns(campaigns, fields, ['name', 'advertiser_id', 'landing_url']),
  ...readPayout(fields),
  offer: readColumns(offers, fields, ['title', 'description', 'cta_yes', 'cta_no']),
});

/** URL path to which the form posts the values to forecast. */
export const newForecastPath = '/campaigns/new/forecast';

/** Reads the values to forecast. Values that don't affect the forecast are replaced, because they may be incomplete. */
export const forecastValuesOf = (fields: Fields): Values => ({
  ...readColumns(campaigns, fields, ['advertiser_id']),
  ...readPayout(fields),
  name: 'Draft',
  landing_url: 'https://shop.example/',
  active: true,
});

/** Name of the value that tells whether the first offer of a new campaign is live, or else the path of its draft. */
const offerField = 'first_offer';

function afterCreate({ path }: PublisherContext, view: View, isFixed: boolean): PageResult {
  const name = String(view.name);
  const offer = view[offerField];
  if (typeof offer === 'string' && offer !== 'live') return { to: path(offer), done: t('drafts.proposed') };
  if (offer === 'live' || isFixed) return { to: path(`/campaigns/${view.id}`), done: t('crud.saved', { name }) };
  return { to: path(`/offers/new?campaign_id=${view.id}`), done: t('campaigns.savedNext', { name }) };
}

/**
 * Returns the default currency of a new campaign: the publisher's reporting currency, or else the currency of its
 * latest campaign.
 */
function currencyFor({ publisher }: PublisherContext): string {
  const latest = publisher.index.offers
    .map(({ campaign }) => campaign)
    .filter(({ publisherId }) => publisherId === publisher.id)
    .reduce<{ id: number; currency: string } | null>(
      (last, { id, payout }) => (last !== null && last.id > id ? last : { id, currency: payout.currency }),
      null,
    );
  return publisher.reportingCurrency ?? latest?.currency ?? 'USD';
}

const newFields = (
  form: FormBuilder,
  context: PublisherContext,
  services: PageServices,
  choices: readonly Choice[],
): Html => {
  const text = (name: string): string => String(form.values[name] ?? '');
  const currency = text('payout_currency');
  return html`
    ${columns([
      form.input('name', { label: t('common.name'), required: true }),
      form.select('advertiser_id', { label: t('campaigns.advertiser'), choices }),
    ])}
    ${landingField(form, context, services)}
    ${columns(payoutFields(form, t('campaigns.amountHint', { currency })))}
    ${moreFields(t('campaigns.otherCurrency'), currencyField(form), { isOpen: currency !== currencyFor(context) })}
    ${fieldGroup(
      t('campaigns.firstOffer'),
      mainTexts(form),
      firstImageField(form),
      html`${hiddenField('cta_yes', text('cta_yes'))}${hiddenField('cta_no', text('cta_no'))}`,
    )}
    <p class="hint">${t('campaigns.laterHint')}</p>`;
};
